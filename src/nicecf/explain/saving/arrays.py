"""What was learned, except for the table and the models: numpy arrays, and their descriptions in JSON."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.checks import floats, keys, sequence, switch, whole, wholes
from nicecf.explain.training import Canaries
from nicecf.rules.privacy import Privacy
from nicecf.search.autoencoder import Autoencoder, Inputs
from nicecf.search.neighbors import DonorIndex
from nicecf.support.types import Ints

Members = dict[str, bytes]


class Reader:
    """Reads arrays with an expected dtype and shape, whatever the file says."""

    def __init__(self, members: Mapping[str, bytes]) -> None:
        self._members = members
        self.names = {"training.arrow"}  # of all members that were read

    def __call__(self, name: str, dtype: Any, shape: Sequence[int | None]) -> Any:
        """The array; None in the shape means any length. Damaged if dtype or shape differ."""
        name = f"{name}.npy"
        self.names.add(name)
        held = self._members[name]
        file = io.BytesIO(held)
        if np.lib.format.read_magic(file) != (1, 0):
            raise Damaged(f"{name!r} has an unexpected version")
        found, is_fortran, of = np.lib.format.read_array_header_1_0(file)
        if of != np.dtype(dtype) or len(found) != len(shape) or is_fortran:
            raise Damaged(f"{name!r} has the dtype {of} and the shape {found}")
        if any(n is not None and n != m for n, m in zip(shape, found, strict=True)):
            raise Damaged(f"{name!r} has the shape {found}")
        n_cells = int(np.prod(found, dtype=object))
        if len(held) - file.tell() != n_cells * np.dtype(dtype).itemsize:
            raise Damaged(f"{name!r} is not as long as its shape")
        return np.frombuffer(held, dtype, n_cells, file.tell()).reshape(found).copy()


def npy(array: Any) -> bytes:
    """An array as an .npy file, in row order and little-endian."""
    buffer = io.BytesIO()
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    np.lib.format.write_array(buffer, plain, (1, 0), allow_pickle=False)
    return buffer.getvalue()


def index_to_members(index: DonorIndex) -> tuple[dict[str, Any], Members]:
    """The positions of the rows, donors first, and how those are split into leaves; the values are in the table."""
    starts = np.concatenate([leaves.starts for leaves in index.leaves])
    said = {
        "n_donors": len(index.positions),
        "n_others": len(index.other_positions),
        "n_starts": [len(leaves.starts) for leaves in index.leaves],
    }
    positions = np.concatenate([index.positions, index.other_positions])
    return said, {"positions.npy": npy(positions), "leaf_starts.npy": npy(starts)}


def n_rows_of(said: Mapping[str, Any]) -> tuple[int, int]:
    """How many donors a file has, and how many other rows: none in files of before they were kept."""
    return whole(said["n_donors"], "n_donors"), whole(said.get("n_others", 0), "n_others")


def positions_from_members(said: Mapping[str, Any], read: Reader) -> Ints:
    """The positions of the rows in the training table, those of donors first."""
    positions: Ints = read("positions", np.int64, [sum(n_rows_of(said))])
    return positions


def leaf_starts_from_members(said: Mapping[str, Any], positions: Ints, read: Reader) -> list[Ints]:
    """Where the leaves of each group begin; Damaged unless they follow each other, and have all donors."""
    keys({"n_others": 0, **said}, ("n_donors", "n_others", "n_starts"), "its index")
    n_starts, (n_donors, _) = wholes(said["n_starts"], "n_starts", least=1), n_rows_of(said)
    starts: Ints = read("leaf_starts", np.int64, [sum(n_starts)])
    of_groups = np.split(starts, np.cumsum(n_starts)[:-1])
    at = 0
    for bounds in of_groups:
        if not len(bounds) or bounds[0] != at or (np.diff(bounds) <= 0).any():
            raise Damaged("its leaves are not consecutive")
        at = bounds[-1]
    if at != n_donors or (positions < 0).any():
        raise Damaged("its donors do not match its leaves")
    return of_groups


def canaries_to_members(canaries: Canaries) -> Members:
    """The training rows that show whether the model is still the same."""
    return {f"witness_{name}.npy": npy(getattr(canaries, name)) for name in ("values", "outputs", "positions")}


def canaries_from_members(n_features: int, width: int, read: Reader) -> Canaries:
    """They again."""
    values = read("witness_values", np.float64, [None, n_features])
    if not len(values):
        raise Damaged("it has no canaries")
    outputs = read("witness_outputs", np.float64, [len(values), width])
    return Canaries(values, outputs, read("witness_positions", np.int64, [len(values)]))


def privacy_to_members(privacy: Privacy) -> tuple[dict[str, Any], Members]:
    """What must not be disclosed."""
    members = {} if privacy.digests is None else {"row_digests.npy": npy(privacy.digests)}
    if privacy.common is not None:
        members["common_values.npy"] = npy(np.concatenate(privacy.common))
    n_common = None if privacy.common is None else [len(values) for values in privacy.common]
    said = {"min_count": int(privacy.min_count), "n_common": n_common, "has_digests": privacy.digests is not None}
    return said, members


def privacy_from_members(said: Mapping[str, Any], n_features: int, read: Reader) -> Privacy:
    """The guard from its members."""
    keys(said, ("min_count", "n_common", "has_digests"), "its guard")
    common, digests = None, None
    if said["n_common"] is not None:
        n_common = wholes(said["n_common"], "n_common")
        values = read("common_values", np.float64, [sum(n_common)])
        common = tuple(np.split(values, np.cumsum(n_common)[:-1]))
        if len(common) != n_features:
            raise Damaged("its common values do not match its columns")
    if switch(said["has_digests"], "has_digests"):
        digests = read("row_digests", np.uint64, [None])
    return Privacy(whole(said["min_count"], "min_count", least=1), common, digests)


def autoencoder_to_members(autoencoder: Any) -> tuple[dict[str, Any] | None, Members]:
    """The network and its inputs; nothing for other measures."""
    if not isinstance(autoencoder, Autoencoder):
        return None, {}
    inputs = autoencoder.inputs
    said = {
        "n_layers": len(autoencoder.weights),
        "levels": [levels.tolist() for levels in inputs.levels],
        "low": inputs.low.tolist(),
        "high": inputs.high.tolist(),
        "has_missing": inputs.has_missing.tolist(),
    }
    members: Members = {}
    for layer, (weights, biases) in enumerate(zip(autoencoder.weights, autoencoder.biases, strict=True)):
        members[f"autoencoder_weights_{layer}.npy"] = npy(weights)
        members[f"autoencoder_biases_{layer}.npy"] = npy(biases)
    return said, members


def autoencoder_from_members(said: Mapping[str, Any], is_categorical: Any, read: Reader) -> Autoencoder:
    """The network as it was trained."""
    keys(said, ("n_layers", "levels", "low", "high", "has_missing"), "its autoencoder")
    n_features = len(is_categorical)
    has_missing = [switch(one, "has_missing") for one in sequence(said["has_missing"], "has_missing", n_features)]
    inputs = Inputs(
        is_categorical,
        tuple(floats(levels, "levels") for levels in sequence(said["levels"], "levels", n_features)),
        floats(said["low"], "low", n_features),
        floats(said["high"], "high", n_features),
        np.array(has_missing, dtype=bool),
    )
    width = sum(len(levels) if of else 1 for levels, of in zip(inputs.levels, is_categorical, strict=True))
    weights, biases, n_inputs = [], [], width + sum(has_missing)
    width = n_inputs
    for layer in range(whole(said["n_layers"], "n_layers", least=1)):
        weights.append(read(f"autoencoder_weights_{layer}", np.float64, [n_inputs, None]))
        n_inputs = weights[-1].shape[1]
        biases.append(read(f"autoencoder_biases_{layer}", np.float64, [n_inputs]))
    if n_inputs != width or not weights:
        raise Damaged("its autoencoder does not have as many outputs as inputs")
    return Autoencoder(inputs, tuple(weights), tuple(biases))
