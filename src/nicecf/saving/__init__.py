"""An explainer as a file, and back: a zip of JSON, an Arrow table and numpy arrays. Nothing in it is ever run.

The file holds the donors, training rows as they are, and what the models said of them, but no model. Whoever loads it
passes the models, and they are asked about some of the rows before they are believed. Why so:
docs/adr/0012-saving.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

import numpy as np

from nicecf._typing import Floats, Ints, is_number
from nicecf.autoencoder import Autoencoder
from nicecf.constraints import Constraints
from nicecf.distance import Heom
from nicecf.exceptions import FileError, OptionError, listed, plain
from nicecf.files import checked
from nicecf.fitted import Fitted
from nicecf.json_values import NotHeld, from_json, to_json
from nicecf.method import Witnesses
from nicecf.neighbors import DonorIndex
from nicecf.origin import described, versions
from nicecf.privacy import Privacy
from nicecf.profile import Profile
from nicecf.rewards import needs_plausibility
from nicecf.saving import archive
from nicecf.saving.archive import Damaged
from nicecf.saving.arrays import (
    Reader,
    autoencoder_from_members,
    autoencoder_to_members,
    floats,
    index_from_members,
    index_to_members,
    npy,
    privacy_from_members,
    privacy_to_members,
    witnesses_from_members,
    witnesses_to_members,
)
from nicecf.saving.columns import schema_from_json, schema_to_json, table_from_arrow, table_to_arrow
from nicecf.saving.models import check_measured, measured, models_of, models_to_json
from nicecf.schema import Schema
from nicecf.search.donors import DonorSearch

# Options that may be functions or models: they are not saved, and asked for again.
FUNCTIONS = ("optimize", "plausibility", "decision", "robust_to")
_KINDS = "categorical_features"

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
    try:
        parts, options = _put_together(manifest, members)
        _check_models(manifest)
        nothing = [name for name in options if name not in signature(make).parameters]
        if nothing:
            raise Damaged(f"it has the option {listed(nothing)}, which this nicecf does not know")
    except (FileError, ImportError):
        raise
    except Damaged as error:
        raise FileError(f"{path} is damaged: {error}. Save the explainer again.") from error
    except Exception as error:  # of a file that someone made by hand: whatever can be wrong in it
        raise FileError(
            f"{path} is damaged: its manifest and its tables do not fit ({type(error).__name__}: {error}). Save the "
            "explainer again."
        ) from error
    _check_functions(path, functions, manifest["functions"], manifest["n_robust_to"])
    options |= {name: functions[name] for name in manifest["functions"]}
    try:
        nice = make(model, **options)
    except OptionError as error:  # the functions are, so that it is an option of the file
        raise FileError(f"{path} is damaged: it has an option that cannot be. {error}") from error
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


def _put_together(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> tuple[_Parts, dict[str, Any]]:
    """What a file holds, and the options, but for functions."""
    read = Reader(members)
    schema, profile = schema_from_json(manifest["table"])
    n_features, n_donors = len(schema.columns), manifest["index"]["n_donors"]
    weights = None if manifest["weights"] is None else floats(manifest["weights"], n_features)
    distance = Heom(floats(manifest["scales"], n_features), weights)
    rules = manifest["models"]["rules"]
    n_classes = len(manifest["models"]["classes"])
    width = sum(n_classes + rule["by_predict"] for rule in rules)
    values = table_from_arrow(members["training.arrow"], schema, n_donors)
    of_network = manifest["autoencoder"]
    parts = _Parts(
        schema,
        profile,
        index_from_members(manifest["index"], values, distance, read),
        read("outputs", np.float64, [n_donors, width]),
        witnesses_from_members(n_features, width, read),
        np.array(manifest["n_decided"], dtype=np.intp),
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


def _check_models(manifest: Mapping[str, Any]) -> None:
    """Damaged unless as much is said of the models as is read of it."""
    said, n_models = manifest["models"], 1 + manifest["n_robust_to"]
    for name, keys in (("rules", {"cutoffs", "by_function", "by_predict"}), ("features", {"names", "n"})):
        if [set(one) for one in said[name]] != [keys] * n_models:
            raise Damaged(f"the {name} of its models are not known")
    if not set(manifest["functions"]) <= set(FUNCTIONS) or set(manifest["fingerprints"]) != {"model", "training"}:
        raise Damaged("its functions or fingerprints are not known")
    if not isinstance(from_json(manifest["described"]), dict) or manifest["options"]["robust_to"]:
        raise Damaged("its options are not described")
    if len(set(from_json(said["classes"]))) < 2 or not isinstance(manifest["plausibility"], (list, type(None))):
        raise Damaged("what its models say is not known")


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
    )
    fitted = Fitted(
        schema=parts.schema,
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
    if needs_plausibility(fitted.reward) and fitted.measure_error is None:
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
