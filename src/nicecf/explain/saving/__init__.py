"""Saving and loading an explainer: a zip of JSON, an Arrow table and numpy arrays. Loading runs no code.

The file holds the donors, which are training rows, and the models' outputs for them, but no model. On load, the models
are passed in and checked on some of the rows. Why: docs/adr/0012-saving.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from nicecf.exceptions import FileError, ModelError, OptionError, listed, plain
from nicecf.explain.fitted import Fitted, Plausibility, refusal
from nicecf.explain.saving import archive
from nicecf.explain.saving.archive import Damaged, Large
from nicecf.explain.saving.arrays import (
    Reader,
    autoencoder_from_members,
    autoencoder_to_members,
    canaries_from_members,
    canaries_to_members,
    index_to_members,
    leaf_starts_from_members,
    n_rows_of,
    npy,
    positions_from_members,
    privacy_from_members,
    privacy_to_members,
)
from nicecf.explain.saving.checks import (
    check_autoencoder,
    check_canaries,
    check_cells,
    check_distance,
    check_free_text,
    check_histograms,
    check_index,
    check_kinds,
    check_ordinal,
    check_outputs,
    check_privacy,
    check_rows,
    check_said_of_models,
    check_scores,
    check_weights,
    floats,
    is_list_of,
    whole,
    wholes,
)
from nicecf.explain.saving.columns import schema_from_json, schema_to_json, table_from_arrow, table_to_arrow
from nicecf.explain.saving.large import index_from_mapped, is_large, mapped_rows, rows_to_members
from nicecf.explain.saving.models import check_measured, measured, models_of, models_to_json
from nicecf.explain.saving.moving import (
    check_functions,
    moving_from_members,
    moving_to_members,
    named_functions,
    with_functions,
)
from nicecf.explain.saving.seen import check_seen
from nicecf.explain.training import Canaries, ModelOptions, sample_of
from nicecf.results.provenance import described, versions
from nicecf.rules.constraints import Constraints
from nicecf.rules.privacy import Privacy
from nicecf.rules.reading import rules_of
from nicecf.search.autoencoder import Autoencoder
from nicecf.search.distance import Heom
from nicecf.search.donors import DonorSearch
from nicecf.search.neighbors import DonorIndex
from nicecf.search.training_values import TrainingValues
from nicecf.support.files import checked
from nicecf.support.json_values import NotHeld, from_json, to_json
from nicecf.support.types import Floats, Ints, is_number
from nicecf.tables.schema import Schema
from nicecf.tables.statistics import TableStatistics

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
        parts = _put_together(manifest, members, table, options["constraints"])
    check_functions(parts.schema, parts.rows, parts.positions)
    with _told_of(path):
        nice = make(model, **options)
        _check_described(nice, saved["constraints"], manifest)
        _check_parts(nice, parts, manifest)
        _leave_open(nice, is_named=manifest.get("search_is_named", True))
    nice._keep(_fitted(nice, parts, manifest))
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


@dataclass(frozen=True, eq=False)
class _Parts:
    """Everything that was learned, except for the models; ``rows`` are the training rows with all columns.

    ``is_mapped``: they are in the file, of which some only are looked at.
    """

    schema: Schema
    statistics: TableStatistics
    rows: Floats
    positions: Ints
    index: DonorIndex
    outputs: Floats
    canaries: Canaries
    n_decided: Ints
    privacy: Privacy
    autoencoder: Autoencoder | None
    cells: Ints | None
    label_scores: Floats | None
    is_mapped: bool = False

    def some(self, rows: Floats) -> Floats:
        """The rows that are checked: all, or of those that are mapped a sample."""
        return rows[sample_of(len(rows))] if self.is_mapped else rows


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


def _put_together(
    manifest: Mapping[str, Any],
    members: Mapping[str, Any],
    table: tuple[Schema, TableStatistics],
    constraints: Constraints | None,
) -> _Parts:
    """The contents of a file, with the columns of its ``table`` that move under the ``constraints``."""
    read = Reader(members)
    (whole_schema, statistics), (n_donors, n_others) = table, n_rows_of(manifest["index"])
    mapped = mapped_rows(members, n_donors + n_others, len(whole_schema.columns), read)
    rows = table_from_arrow(members["training.arrow"], whole_schema, n_donors + n_others) if mapped is None else mapped
    positions = positions_from_members(manifest["index"], read)
    # Files of before columns could follow from others do not say so.
    schema, values = moving_from_members(manifest.get("moving"), whole_schema, rows, positions, constraints, read)
    n_features, n_classes, width = len(schema.columns), len(manifest["models"]["classes"]), sum(_widths(manifest))
    weights = None if manifest["weights"] is None else floats(manifest["weights"], "weights", n_features)
    distance = Heom(floats(manifest["scales"], "scales", n_features), weights)
    of_network = manifest["autoencoder"]
    starts = leaf_starts_from_members(manifest["index"], positions, read)
    parts = _Parts(
        schema,
        statistics,
        rows,
        positions,
        DonorIndex.cut(values, positions, starts, distance)
        if mapped is None
        else index_from_mapped(members, values, positions, starts, distance, read),
        read("outputs", np.float64, [n_donors, width]),
        canaries_from_members(n_features, width, read),
        np.array(wholes(manifest["n_decided"], "n_decided"), dtype=np.intp),
        privacy_from_members(manifest["privacy"], n_features, read),
        None if of_network is None else autoencoder_from_members(of_network, schema.by_equality, read),
        _cells(manifest, read),
        _label_scores(manifest, read),
        is_mapped=mapped is not None,
    )
    if parts.n_decided.shape != (n_classes,) or len(parts.index.leaves) not in (n_classes, 2 * n_classes):
        raise Damaged("its donors do not match its classes")
    if read.names != set(members):
        raise Damaged(f"its manifest does not mention {listed(sorted(set(members) - read.names))}")
    return parts


def _cells(manifest: Mapping[str, Any], read: Reader) -> Ints | None:
    """Which values the model could not tell apart; files of before do not say."""
    if manifest.get("n_cells") is None:
        return None
    return read("cells", np.int64, [whole(manifest["n_cells"], "n_cells")]).astype(np.intp)


def _label_scores(manifest: Mapping[str, Any], read: Reader) -> Floats | None:
    """The labels of a regressor's training rows; files of before have none."""
    if not manifest.get("has_label_scores"):
        return None
    labels = read("label_scores", np.float64, [sum(wholes(manifest["n_decided"], "n_decided"))])
    if not (manifest["models"].get("are_scores") and np.isfinite(labels).all()):
        raise Damaged("its labels are not those of a regressor")
    return labels


def _widths(manifest: Mapping[str, Any]) -> list[int]:
    """The number of output columns of each model."""
    return [len(manifest["models"]["classes"]) + rule["by_predict"] for rule in manifest["models"]["rules"]]


def _check_parts(nice: Any, parts: _Parts, manifest: Mapping[str, Any]) -> None:
    """Damaged unless a ``fit`` with these options can have learned the parts."""
    schema, index, canaries = parts.schema, parts.index, parts.canaries
    n_classes, n_rows = len(parts.n_decided), int(parts.n_decided.sum())
    check_kinds(nice.categorical_features, schema.full.is_categorical)
    check_ordinal(nice.ordinal, schema.full)
    check_weights(index.distance.weights, nice.feature_weights, schema)
    if parts.cells is not None:
        check_cells(parts.cells, TrainingValues.of(index))
    rows = parts.some(parts.rows)
    known = np.concatenate([parts.some(index.values), parts.some(index.other_values), canaries.values])
    check_rows(rows, schema.full, "its rows")
    # Files of before: every text may change in them.
    if "is_free_text" in manifest["table"]["columns"][0] and not parts.is_mapped:
        check_free_text(schema.full, parts.rows)
    check_rows(known, schema, "its rows")
    check_index(index, parts.n_decided, n_classes)
    check_canaries(canaries, index, parts.n_decided)
    outputs = np.concatenate([parts.outputs, canaries.outputs])
    if manifest["models"].get("are_scores"):
        check_scores(outputs, "its outputs")
    else:
        check_outputs(outputs, _widths(manifest), n_classes, "its outputs")
    is_guarded = parts.privacy.common is not None
    whole_rows = np.concatenate([rows, schema.expand(canaries.values)])
    check_histograms(parts.statistics, schema, whole_rows, n_rows, is_guarded=is_guarded)
    check_seen(parts.statistics.seen, schema, whole_rows, is_guarded=is_guarded)
    check_distance(index.distance, nice.scale, schema, parts.statistics, known, n_rows, is_guarded=is_guarded)
    if (parts.privacy.min_count, parts.privacy.digests is None) != (nice.min_count, bool(nice.share_donor)):
        raise Damaged("its guard does not match its options")
    if is_guarded != (nice.min_count > 1):
        raise Damaged("its common values do not match its options")
    check_privacy(parts.privacy, schema, parts.some(index.values), n_rows)
    if manifest["plausibility"] is None and nice.plausibility is not None:
        raise Damaged("its measure of plausibility is missing")
    if parts.autoencoder is not None:
        then = manifest["plausibility"]
        check_autoencoder(parts.autoencoder, index.distance, nice.scale, schema, canaries.values, then)
    elif manifest["plausibility"] is not None:
        floats(manifest["plausibility"], "plausibility", len(canaries.values))
    if nice.constraints is not None:  # for its errors
        rules_of(nice.constraints, schema, canaries.values[:1], trained=schema)


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


def _fitted(nice: Any, parts: _Parts, manifest: Mapping[str, Any]) -> Fitted:
    donors = DonorSearch(parts.index, parts.outputs, parts.n_decided, parts.cells)
    models = models_of(
        ModelOptions(nice.model, None, nice.decision, nice.min_probability, nice.robust_to),
        manifest["models"],
        accelerate=nice.accelerate,
        may_be_read=nice._may_be_read,
        schema=parts.schema,
        donors=donors,
        canaries=parts.canaries,
    )
    n_groups = len(parts.n_decided) * (1 if models.panel.is_alone else 2)
    if len(parts.index.leaves) != n_groups:
        raise ModelError(
            "the models or min_probability differ from those that the explainer was saved with. Fit again."
        )
    plausibility = None
    if parts.autoencoder is not None:
        plausibility = Plausibility(parts.autoencoder, is_own=True)
    elif nice.plausibility is not None:
        plausibility = Plausibility(nice.plausibility, is_own=False)
    if nice._search_options.needs_plausibility and plausibility is None:
        raise OptionError(
            "optimize is a reward that reads the error of hybrids, but the explainer was saved with one that does not. "
            "Pass the same function, or fit again."
        )
    schema, distance = parts.privacy.guarded(parts.schema), parts.index.distance
    search, neighborhood = nice._search_options.searching(
        donors, distance, is_refused=refusal(parts.privacy, schema), plausibility=plausibility
    )
    fitted = Fitted(
        explainer="NICE",
        schema=schema,
        models=replace(models, confirms=nice.accelerate != "unconfirmed"),
        distance=distance,
        statistics=parts.statistics,
        fingerprints={name: str(one) for name, one in manifest["fingerprints"].items()},
        search=search,
        constraints=nice.constraints or Constraints(),
        privacy=parts.privacy,
        plausibility=plausibility,
        neighborhood=neighborhood,
        label_scores=parts.label_scores,
    )
    check_measured(fitted, manifest["plausibility"])
    return fitted


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
