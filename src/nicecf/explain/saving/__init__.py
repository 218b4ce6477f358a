"""Saving and loading an explainer: a zip of JSON, an Arrow table and numpy arrays. Loading runs no code.

The file holds the donors, which are training rows, and the models' outputs for them, but no model. On load, the models
are passed in and checked on some of the rows. Why: docs/adr/0012-saving.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from nicecf.exceptions import FileError, OptionError, listed, plain
from nicecf.explain.fitted import Fitted
from nicecf.explain.saving import archive
from nicecf.explain.saving.archive import Damaged, Large
from nicecf.explain.saving.arrays import (
    autoencoder_to_members,
    canaries_to_members,
    index_to_members,
    npy,
    privacy_to_members,
)
from nicecf.explain.saving.checks import check_said_of_models, is_list_of, whole
from nicecf.explain.saving.columns import schema_from_json, schema_to_json, table_to_arrow
from nicecf.explain.saving.contents import check_contents, fitted_from, put_together
from nicecf.explain.saving.large import is_large, rows_to_members
from nicecf.explain.saving.models import measured, models_to_json
from nicecf.explain.saving.moving import check_functions, moving_to_members, named_functions, with_functions
from nicecf.results.provenance import described, versions
from nicecf.rules.constraints import Constraints
from nicecf.search.neighbors import DonorIndex
from nicecf.support.files import checked
from nicecf.support.json_values import NotHeld, from_json, to_json
from nicecf.support.types import is_number

# Options that may be functions or models: they are not saved, and must be passed again.
FUNCTIONS = ("optimize", "plausibility", "decision", "robust_to")
_KINDS = "categorical_features"
_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")

Explainer = TypeVar("Explainer", bound=Any)


def save(nice: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
    """Write a fitted NICE to a file, in one step; raises FileError if the file cannot be written.

    ``notes``: JSON values that loading ignores, such as where the model is.
    """
    checked(path)
    manifest, members = taken_apart(nice)
    archive.write(path, {**manifest, "notes": dict(notes or {})}, members, by=versions()["nicecf"])


def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The notes in a saved explainer; FileError if the file is not, to the last bit, what was saved."""
    checked(path)
    noted = archive.read(path, by=versions()["nicecf"])[0].get("notes")
    return noted if isinstance(noted, dict) else {}


def load(
    make: Callable[..., Explainer],
    path: str | os.PathLike[str],
    model: Any,
    functions: Mapping[str, Any],
    derived: Mapping[Any, Callable[[Any], Any]] | None,
) -> Explainer:
    """The saved explainer, with its models; ``make`` is its class, ``functions`` those of `FUNCTIONS`.

    ``derived``: the functions by which its columns follow from others. Raises FileError if the file is not, to the last
    bit, what was saved; ModelError if a model answers differently from the one that the explainer was saved with;
    OptionError if a function is missing, there is one too many, or one computes other columns than those in the file.
    """
    checked(path)
    manifest, members = archive.read(path, by=versions()["nicecf"])
    with _told_of(path):
        _check_manifest(manifest)
        saved = _options_of(manifest)
        nothing = [name for name in saved if name not in signature(make).parameters]
        if nothing:
            raise Damaged(f"it has the option {listed(nothing)}, which this nicecf does not know")
        table = schema_from_json(manifest["table"])
        named_functions(saved["constraints"], table[0])  # for its errors
    _check_functions(path, functions, manifest["functions"], manifest["n_robust_to"])
    options = saved | {name: functions[name] for name in manifest["functions"]}
    options["constraints"] = with_functions(path, saved["constraints"], derived, table[0])
    with _told_of(path):
        parts = put_together(manifest, members, table, options["constraints"])
    check_functions(parts.schema, parts.rows, parts.positions)
    with _told_of(path):
        nice = make(model, **options)
        _check_described(nice, saved["constraints"], manifest)
        check_contents(nice, parts, manifest)
        _leave_open(nice, is_named=manifest.get("search_is_named", True))
    nice._keep(fitted_from(nice, parts, manifest))
    named = described(nice.get_params(deep=False))
    as_given = {name: named[name] for name in ("model", *manifest["functions"], *(["constraints"] if derived else []))}
    nice._options = {**named, **from_json(manifest["described"]), **as_given}
    return nice


def verify(path: str | os.PathLike[str]) -> None:
    """Read all of a saved explainer; FileError if it is not, to the last bit, what was saved.

    Of a large explainer, `NICE.load` does not read the training rows, and would not notice.
    """
    archive.verify(checked(path), by=versions()["nicecf"])


def taken_apart(nice: Any) -> tuple[dict[str, Any], dict[str, bytes | Large]]:
    """A fitted NICE as a manifest and the members of an archive."""
    fitted: Fitted = nice._fitted
    assert fitted.neighborhood is not None
    donors, own = fitted.neighborhood.donors, fitted.plausibility
    options = nice.get_params(deep=False)
    nice._check_unchanged()
    functions = [name for name in FUNCTIONS if _is_function(name, options[name])]
    index, members_of_index = index_to_members(donors.index)
    privacy, members_of_privacy = privacy_to_members(fitted.privacy)
    autoencoder, members_of_autoencoder = autoencoder_to_members(own.measure if own and own.is_own else None)
    moving, members_of_moving = moving_to_members(fitted.schema)
    weights = fitted.distance.weights
    manifest = {
        # The search that runs, not None: what a file means does not depend on a later default.
        "options": _options_to_json(options | {"search": nice.search_}, functions, fitted),
        "search_is_named": options["search"] is not None,
        "described": to_json(nice._options),
        "functions": functions,
        "n_robust_to": len(options["robust_to"]),
        "models": models_to_json([options["model"], *options["robust_to"]], fitted),
        "table": schema_to_json(fitted.schema.full, fitted.statistics),
        "moving": moving,
        "index": index,
        "scales": fitted.distance.scales.tolist(),
        "weights": None if weights is None else weights.tolist(),
        "n_decided": donors.n_decided.tolist(),
        "has_label_scores": fitted.label_scores is not None,
        "n_cells": None if donors.cells is None else len(donors.cells),
        "privacy": privacy,
        "autoencoder": autoencoder,
        "plausibility": measured(fitted),
        "fingerprints": fitted.fingerprints,
    }
    members: dict[str, bytes | Large] = {
        **(rows_to_members(donors.index) if is_large(fitted) else {"training.arrow": _table(donors.index, fitted)}),
        "outputs.npy": npy(donors.outputs),
        **({} if donors.cells is None else {"cells.npy": npy(donors.cells.astype(np.int64))}),
        **members_of_moving,
        **members_of_index,
        **({} if fitted.label_scores is None else {"label_scores.npy": npy(fitted.label_scores)}),
        **canaries_to_members(fitted.models.canaries),
        **members_of_privacy,
        **members_of_autoencoder,
    }
    return manifest, members


def _table(index: DonorIndex, fitted: Fitted) -> bytes:
    rows = np.concatenate([index.values, index.other_values])
    return table_to_arrow(fitted.schema.expand(rows), fitted.schema.full)


@contextmanager
def _told_of(path: Any) -> Iterator[None]:
    """Turn any problem of a file into a FileError, also in one that someone made by hand."""
    try:
        yield
    except (FileError, ImportError):
        raise
    except OptionError as error:  # functions are not checked here, so this is an option in the file
        raise FileError(f"{path} is damaged: it contains an invalid option. {error}") from error
    except Damaged as error:
        raise FileError(f"{path} is damaged: {error}. Save the explainer again.") from error
    except Exception as error:
        raise FileError(
            f"{path} is damaged: its manifest and its tables do not match ({type(error).__name__}: {error}). Save the "
            "explainer again."
        ) from error


def _check_manifest(manifest: Mapping[str, Any]) -> None:
    """Damaged unless the manifest has everything that is read from it."""
    functions, n_others = manifest["functions"], whole(manifest["n_robust_to"], "n_robust_to")
    prints = manifest["fingerprints"]
    is_known = is_list_of(functions, str) and set(functions) <= set(FUNCTIONS) and len(set(functions)) == len(functions)
    if not is_known or not isinstance(prints, dict) or set(prints) != {"model", "training"}:
        raise Damaged("its functions or fingerprints are invalid")
    if not all(isinstance(one, str) and _FINGERPRINT.fullmatch(one) for one in prints.values()):
        raise Damaged("its fingerprints are not digests")
    check_said_of_models(manifest["models"], 1 + n_others, functions)
    described_, options = from_json(manifest["described"]), manifest["options"]
    if not isinstance(described_, dict) or not isinstance(options, dict) or options["robust_to"] != []:
        raise Damaged("its options are not described")
    if set(functions) & set(options) - {"robust_to"} or (n_others > 0) != ("robust_to" in functions):
        raise Damaged("its functions do not match its options")
    if len(set(from_json(manifest["models"]["classes"]))) < max(2, len(manifest["models"]["classes"])):
        raise Damaged("its models have fewer than two classes, or the same class twice")


def _options_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The options except for functions."""
    # Files of before values of several donors could be mixed, and before ordered categories were ranks.
    options = {"mix_donors": False, "ordinal": "overlap"} | {
        name: from_json(value) for name, value in manifest["options"].items()
    }
    if options["constraints"] is not None:
        options["constraints"] = Constraints(**options["constraints"])
    return options


def _leave_open(nice: Any, *, is_named: object) -> None:
    """If nobody chose the search by its name, it may follow the objective again, as long as that means the same."""
    if not isinstance(is_named, bool):
        raise Damaged("it does not say whether its search was chosen")
    if not is_named and replace(nice._search_options, search=None).chosen == nice.search:
        nice.search = None


def _check_described(nice: Any, constraints: Constraints | None, manifest: Mapping[str, Any]) -> None:
    """A file has the options twice: as values, and as described in records. ``constraints``: as they were saved."""
    then = from_json(manifest["described"])
    now = described(nice.get_params(deep=False) | {"constraints": constraints})
    if set(then) != {"model", *manifest["options"], *manifest["functions"]}:
        raise Damaged("its options are not described")
    # These two are converted on input, so they do not come back as given.
    apart = {"model", *manifest["functions"], "classes", _KINDS}
    wrong = [name for name in then if name not in apart and then[name] != now[name]]
    if wrong:
        raise Damaged(f"its option {listed(wrong)} does not match its description")
    classes = from_json(manifest["models"]["classes"])
    if nice.classes is not None and list(nice.classes) != classes:
        raise Damaged("its option classes does not match its models")


def _options_to_json(options: Mapping[str, Any], functions: list[str], fitted: Fitted) -> dict[str, Any]:
    """The options except for the model and functions."""
    held = {name: value for name, value in options.items() if name not in ("model", *functions)}
    held["robust_to"] = []
    if held["constraints"] is not None:
        held["constraints"] = held["constraints"].to_dict()
    if held["classes"] is not None:
        held["classes"] = list(fitted.panel.classes)
    if not isinstance(held[_KINDS], str):
        # Names, positions or a mask, perhaps from an iterator that is exhausted now: save the resulting mask.
        held[_KINDS] = fitted.schema.full.is_categorical.tolist()
    if isinstance(held["feature_weights"], (tuple, np.ndarray)):
        held["feature_weights"] = [plain(one) for one in held["feature_weights"]]
    written = {}
    for name, value in held.items():
        try:
            written[name] = to_json(value)
        except NotHeld as error:
            raise FileError(
                f"{name} cannot be saved: values of type {error} are not supported. Use text, numbers or "
                "booleans instead, and fit again."
            ) from None
    return written


def _is_function(name: str, value: Any) -> bool:
    if name == "robust_to":
        return len(value) > 0
    return value is not None and not (isinstance(value, (str, Mapping)) or is_number(value))


def _check_functions(path: Any, given: Mapping[str, Any], wanted: list[str], n_models: int) -> None:
    """OptionError unless exactly the functions of the saved explainer are given."""
    for name, value in given.items():
        if name == "robust_to" and not isinstance(value, (list, tuple)):
            raise OptionError(f"robust_to must be a list of models, got {type(value).__name__}.")
        is_given = len(value) > 0 if name == "robust_to" else value is not None
        if name in wanted and not is_given:
            what = f"{n_models} models" if name == "robust_to" else "a function"
            raise OptionError(
                f"{path} was saved with {what} as {name}, which a file cannot hold. Pass it again: "
                f"NICE.load(path, model=model, {name}=...)."
            )
        if is_given and name not in wanted:
            raise OptionError(
                f"{name} was passed, but {path} was saved without such a function: its options are in the file. Leave "
                f"out {name}, or fit again."
            )
        if is_given and name != "robust_to" and not callable(value):
            raise OptionError(f"{name} must be the function that {path} was saved with, got {value!r}.")
    if "robust_to" in wanted and len(given["robust_to"]) != n_models:
        raise OptionError(f"{path} was saved with {n_models} models in robust_to; got {len(given['robust_to'])}.")
