"""An explainer as a file, and back: a zip of JSON, an Arrow table and numpy arrays. Nothing in it is ever run.

The file holds the donors, training rows as they are, and what the models said of them, but no model. Whoever loads it
passes the models, and they are asked about some of the rows before they are believed. Why so:
docs/adr/0012-saving.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from nicecf._typing import Floats, Ints, is_number
from nicecf.autoencoder import Autoencoder
from nicecf.constraints import Constraints
from nicecf.distance import Heom
from nicecf.exceptions import FileError, ModelError, OptionError, listed, plain
from nicecf.files import checked
from nicecf.fitted import Fitted
from nicecf.json_values import NotHeld, from_json, to_json
from nicecf.method import Witnesses
from nicecf.neighbors import DonorIndex
from nicecf.origin import described, versions
from nicecf.privacy import Privacy
from nicecf.profile import Profile
from nicecf.reading import rules_of
from nicecf.rewards import needs_plausibility
from nicecf.saving import archive
from nicecf.saving.archive import Damaged
from nicecf.saving.arrays import (
    Reader,
    autoencoder_from_members,
    autoencoder_to_members,
    index_from_members,
    index_to_members,
    npy,
    privacy_from_members,
    privacy_to_members,
    witnesses_from_members,
    witnesses_to_members,
)
from nicecf.saving.checks import (
    check_autoencoder,
    check_distance,
    check_index,
    check_kinds,
    check_outputs,
    check_privacy,
    check_rows,
    check_said_of_models,
    check_weights,
    check_witnesses,
    floats,
    is_list_of,
    whole,
    wholes,
)
from nicecf.saving.columns import schema_from_json, schema_to_json, table_from_arrow, table_to_arrow
from nicecf.saving.models import check_measured, measured, models_of, models_to_json
from nicecf.schema import Schema
from nicecf.search.donors import DonorSearch

# Options that may be functions or models: they are not saved, and asked for again.
FUNCTIONS = ("optimize", "plausibility", "decision", "robust_to")
_KINDS = "categorical_features"
_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")

Explainer = TypeVar("Explainer", bound=Any)


def save(nice: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
    """Write a fitted NICE to a file, in one step; FileError where it cannot be written.

    ``notes``: values that JSON holds and that loading does not look at, such as where the model is kept.
    """
    checked(path)
    manifest, members = taken_apart(nice)
    archive.write(path, {**manifest, "notes": dict(notes or {})}, members, by=versions()["nicecf"])


def notes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What was noted in a saved explainer; FileError for a file that is not, to the last bit, what was saved."""
    checked(path)
    noted = archive.read(path, by=versions()["nicecf"])[0].get("notes")
    return noted if isinstance(noted, dict) else {}


def load(
    make: Callable[..., Explainer], path: str | os.PathLike[str], model: Any, functions: Mapping[str, Any]
) -> Explainer:
    """The explainer that was saved, with its models; ``make`` is its class, ``functions`` those of `FUNCTIONS`.

    FileError for a file that is not, to the last bit, what was saved; ModelError for a model that does not say what
    the one said that it was saved with; OptionError for a function that is missing, or too many.
    """
    checked(path)
    manifest, members = archive.read(path, by=versions()["nicecf"])
    with _told_of(path):
        _check_manifest(manifest)
        parts, options = _put_together(manifest, members)
        nothing = [name for name in options if name not in signature(make).parameters]
        if nothing:
            raise Damaged(f"it has the option {listed(nothing)}, which this nicecf does not know")
    _check_functions(path, functions, manifest["functions"], manifest["n_robust_to"])
    options |= {name: functions[name] for name in manifest["functions"]}
    with _told_of(path):
        nice = make(model, **options)
        _check_parts(nice, parts, manifest)
    nice._keep(_fitted(nice, parts, manifest))
    named = described(nice.get_params(deep=False))
    as_given = {name: named[name] for name in ("model", *manifest["functions"])}
    nice._options = {**from_json(manifest["described"]), **as_given}
    return nice


def taken_apart(nice: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
    """A fitted NICE as a manifest and the members of an archive."""
    fitted: Fitted = nice._fitted
    options = nice.get_params(deep=False)
    nice._check_unchanged()
    functions = [name for name in FUNCTIONS if _is_function(name, options[name])]
    index, members_of_index = index_to_members(fitted.donors.index)
    privacy, members_of_privacy = privacy_to_members(fitted.privacy)
    autoencoder, members_of_autoencoder = autoencoder_to_members(
        fitted.measure_error if fitted.is_own_measure else None
    )
    weights = fitted.distance.weights
    manifest = {
        "options": _options_to_json(options, functions, fitted),
        "described": to_json(nice._options),
        "functions": functions,
        "n_robust_to": len(options["robust_to"]),
        "models": models_to_json([options["model"], *options["robust_to"]], fitted),
        "table": schema_to_json(fitted.schema, fitted.profile),
        "index": index,
        "scales": fitted.distance.scales.tolist(),
        "weights": None if weights is None else weights.tolist(),
        "n_decided": fitted.n_decided.tolist(),
        "privacy": privacy,
        "autoencoder": autoencoder,
        "plausibility": measured(fitted),
        "fingerprints": fitted.fingerprints,
    }
    members = {
        "training.arrow": table_to_arrow(fitted.donors.index.values, fitted.schema),
        "outputs.npy": npy(fitted.donors.outputs),
        **members_of_index,
        **witnesses_to_members(fitted.witnesses),
        **members_of_privacy,
        **members_of_autoencoder,
    }
    return manifest, members


@dataclass(frozen=True, eq=False)
class _Parts:
    """What was learned, but for the models."""

    schema: Schema
    profile: Profile
    index: DonorIndex
    outputs: Floats
    witnesses: Witnesses
    n_decided: Ints
    privacy: Privacy
    autoencoder: Autoencoder | None


@contextmanager
def _told_of(path: Any) -> Iterator[None]:
    """What is wrong in a file as a FileError: also in one that someone made by hand, whatever can be wrong in it."""
    try:
        yield
    except (FileError, ImportError):
        raise
    except OptionError as error:  # the functions are not looked at here, so that it is an option of the file
        raise FileError(f"{path} is damaged: it has an option that cannot be. {error}") from error
    except Damaged as error:
        raise FileError(f"{path} is damaged: {error}. Save the explainer again.") from error
    except Exception as error:
        raise FileError(
            f"{path} is damaged: its manifest and its tables do not fit ({type(error).__name__}: {error}). Save the "
            "explainer again."
        ) from error


def _check_manifest(manifest: Mapping[str, Any]) -> None:
    """Damaged unless as much is said as is read of it."""
    functions, n_others = manifest["functions"], whole(manifest["n_robust_to"], "n_robust_to")
    prints = manifest["fingerprints"]
    is_known = is_list_of(functions, str) and set(functions) <= set(FUNCTIONS) and len(set(functions)) == len(functions)
    if not is_known or not isinstance(prints, dict) or set(prints) != {"model", "training"}:
        raise Damaged("its functions or fingerprints are not known")
    if not all(isinstance(one, str) and _FINGERPRINT.fullmatch(one) for one in prints.values()):
        raise Damaged("its fingerprints are none")
    check_said_of_models(manifest["models"], 1 + n_others, functions)
    described_, options = from_json(manifest["described"]), manifest["options"]
    if not isinstance(described_, dict) or not isinstance(options, dict) or options["robust_to"] != []:
        raise Damaged("its options are not described")
    if set(functions) & set(options) - {"robust_to"} or (n_others > 0) != ("robust_to" in functions):
        raise Damaged("its functions are not those of its options")
    if len(set(from_json(manifest["models"]["classes"]))) < max(2, len(manifest["models"]["classes"])):
        raise Damaged("what its models say is not known")


def _put_together(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> tuple[_Parts, dict[str, Any]]:
    """What a file holds, and the options, but for functions."""
    read = Reader(members)
    schema, profile = schema_from_json(manifest["table"])
    n_features, n_donors = len(schema.columns), whole(manifest["index"]["n_donors"], "n_donors")
    weights = None if manifest["weights"] is None else floats(manifest["weights"], "weights", n_features)
    distance = Heom(floats(manifest["scales"], "scales", n_features), weights)
    n_classes = len(manifest["models"]["classes"])
    width = sum(_widths(manifest))
    values = table_from_arrow(members["training.arrow"], schema, n_donors)
    of_network = manifest["autoencoder"]
    parts = _Parts(
        schema,
        profile,
        index_from_members(manifest["index"], values, distance, read),
        read("outputs", np.float64, [n_donors, width]),
        witnesses_from_members(n_features, width, read),
        np.array(wholes(manifest["n_decided"], "n_decided"), dtype=np.intp),
        privacy_from_members(manifest["privacy"], n_features, read),
        None if of_network is None else autoencoder_from_members(of_network, schema.is_categorical, read),
    )
    if parts.n_decided.shape != (n_classes,) or len(parts.index.leaves) not in (n_classes, 2 * n_classes):
        raise Damaged("its donors are not those of its classes")
    if read.names != set(members):
        raise Damaged(f"nothing is said of {listed(sorted(set(members) - read.names))}")
    options = {name: from_json(value) for name, value in manifest["options"].items()}
    if options["constraints"] is not None:
        options["constraints"] = Constraints(**options["constraints"])
    return parts, options


def _widths(manifest: Mapping[str, Any]) -> list[int]:
    """How many columns of the outputs each model has."""
    return [len(manifest["models"]["classes"]) + rule["by_predict"] for rule in manifest["models"]["rules"]]


def _check_parts(nice: Any, parts: _Parts, manifest: Mapping[str, Any]) -> None:
    """Damaged unless one ``fit`` with these options can have learned the parts."""
    schema, index, witnesses = parts.schema, parts.index, parts.witnesses
    n_classes, n_rows = len(parts.n_decided), int(parts.n_decided.sum())
    _check_described(nice, manifest)
    check_kinds(nice.categorical_features, schema.is_categorical)
    check_weights(index.distance.weights, nice.feature_weights, schema)
    known = np.concatenate([index.values, witnesses.values])
    check_rows(known, schema, "its rows")
    check_index(index, parts.n_decided, n_classes)
    check_witnesses(witnesses, index, parts.n_decided)
    outputs = np.concatenate([parts.outputs, witnesses.outputs])
    check_outputs(outputs, _widths(manifest), n_classes, "its outputs")
    is_guarded = parts.privacy.common is not None
    check_distance(index.distance, nice.scale, schema, parts.profile, known, n_rows, is_guarded=is_guarded)
    if (parts.privacy.min_count, parts.privacy.digests is None) != (nice.min_count, bool(nice.share_donor)):
        raise Damaged("its guard is not the one that its options ask for")
    if is_guarded != (nice.min_count > 1):
        raise Damaged("its common values are not those that its options ask for")
    check_privacy(parts.privacy, schema, index.values, n_rows)
    if manifest["plausibility"] is None and nice.plausibility is not None:
        raise Damaged("what is plausible is not said")
    if parts.autoencoder is not None:
        then = manifest["plausibility"]
        check_autoencoder(parts.autoencoder, index.distance, nice.scale, schema, witnesses.values, then)
    elif manifest["plausibility"] is not None:
        floats(manifest["plausibility"], "plausibility", len(witnesses.values))
    if nice.constraints is not None:  # for its errors
        rules_of(nice.constraints, schema, witnesses.values[:1], trained=schema)


def _check_described(nice: Any, manifest: Mapping[str, Any]) -> None:
    """Options stand in a file twice: as they are, and in the words of records."""
    then, now = from_json(manifest["described"]), described(nice.get_params(deep=False))
    if set(then) != {"model", *manifest["options"], *manifest["functions"]}:
        raise Damaged("its options are not described")
    # What was given for these two is read, and is not what comes back.
    apart = {"model", *manifest["functions"], "classes", _KINDS}
    wrong = [name for name in then if name not in apart and then[name] != now[name]]
    if wrong:
        raise Damaged(f"its option {listed(wrong)} is not the one that it describes")
    classes = from_json(manifest["models"]["classes"])
    if nice.classes is not None and list(nice.classes) != classes:
        raise Damaged("its option classes is not what its models say")


def _fitted(nice: Any, parts: _Parts, manifest: Mapping[str, Any]) -> Fitted:
    models = models_of(
        [nice.model, *nice.robust_to],
        manifest["models"],
        decision=nice.decision,
        min_probability=nice.min_probability,
        is_accelerated=bool(nice.accelerate),
        schema=parts.schema,
        profile=parts.profile,
        index=parts.index,
        outputs=parts.outputs,
        witnesses=parts.witnesses,
        n_decided=parts.n_decided,
    )
    n_groups = len(parts.n_decided) * (1 if models.jury.is_alone else 2)
    if len(parts.index.leaves) != n_groups:
        raise ModelError("the models or the margin are not those that the explainer was saved with. Fit again.")
    fitted = Fitted(
        schema=parts.privacy.guarded(parts.schema),
        cost=models.cost,
        twin=models.twin,
        twin_cost=models.twin_cost,
        witnesses=parts.witnesses,
        distance=parts.index.distance,
        donors=DonorSearch(parts.index, parts.outputs, models.jury),
        n_decided=parts.n_decided,
        profile=parts.profile,
        fingerprints={name: str(one) for name, one in manifest["fingerprints"].items()},
        privacy=parts.privacy,
        measure_error=nice.plausibility if parts.autoencoder is None else parts.autoencoder,
        is_own_measure=parts.autoencoder is not None,
        **nice._choices(),
    )
    if (fitted.thorough or needs_plausibility(fitted.reward)) and fitted.measure_error is None:
        raise OptionError(
            "optimize is a reward that reads the error of hybrids, but the explainer was saved with one that does not. "
            "Pass the same function, or fit again."
        )
    check_measured(fitted, manifest["plausibility"])
    if fitted.thorough:
        _ = fitted.donor_values  # now, not in the first call of explain
    return fitted


def _options_to_json(options: Mapping[str, Any], functions: list[str], fitted: Fitted) -> dict[str, Any]:
    """The options but for the model and functions."""
    held = {name: value for name, value in options.items() if name not in ("model", *functions)}
    held["robust_to"] = []
    if held["constraints"] is not None:
        held["constraints"] = held["constraints"].to_dict()
    if held["classes"] is not None:
        held["classes"] = list(fitted.jury.classes)
    if not isinstance(held[_KINDS], str):
        # Names, positions or a mask, in any container, which may be used up: the mask is what they came to.
        held[_KINDS] = fitted.schema.is_categorical.tolist()
    if isinstance(held["feature_weights"], (tuple, np.ndarray)):
        held["feature_weights"] = [plain(one) for one in held["feature_weights"]]
    written = {}
    for name, value in held.items():
        try:
            written[name] = to_json(value)
        except NotHeld as error:
            raise FileError(
                f"{name} cannot be saved: a file has no place for a value of the type {error}. Use text, numbers or "
                "booleans instead, and fit again."
            ) from None
    return written


def _is_function(name: str, value: Any) -> bool:
    if name == "robust_to":
        return len(value) > 0
    return value is not None and not (isinstance(value, (str, Mapping)) or is_number(value))


def _check_functions(path: Any, given: Mapping[str, Any], wanted: list[str], n_models: int) -> None:
    """OptionError unless exactly those are given that the saved explainer had."""
    for name, value in given.items():
        if name == "robust_to" and not isinstance(value, (list, tuple)):
            raise OptionError(f"robust_to must be a list of models, got {type(value).__name__}.")
        is_given = len(value) > 0 if name == "robust_to" else value is not None
        if name in wanted and not is_given:
            what = f"{n_models} models" if name == "robust_to" else "a function"
            raise OptionError(
                f"{path} was saved with {what} as {name}, which a file cannot hold. Pass the same: "
                f"NICE.load(path, model=model, {name}=...)."
            )
        if is_given and name not in wanted:
            raise OptionError(
                f"{name} was given, but {path} was saved without such a function: its options are in the file. Leave "
                f"{name} out, or fit again."
            )
        if is_given and name != "robust_to" and not callable(value):
            raise OptionError(f"{name} must be the function that {path} was saved with, got {value!r}.")
    if "robust_to" in wanted and len(given["robust_to"]) != n_models:
        raise OptionError(f"{path} was saved with {n_models} models in robust_to; got {len(given['robust_to'])}.")
