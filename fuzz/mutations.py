"""Saved explainers and records with something changed in them: refused by an error of nicecf's own, or still right."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.checks import Facts
from fuzz.relations import call_of_row, functions_of, is_saved
from fuzz.tables import Random, n_rows, take

SEAL = b"nicecf sha256:"


def call_of_first(facts: Facts) -> dict[str, Any]:
    """The options of the call for the first row alone."""
    return call_of_row(facts, 0)


# --- files ------------------------------------------------------------------------------------------------------------


def of_file(random: Random, facts: Facts, explainer: Any) -> Iterator[list[str]]:
    """What came of loading some mutants of a saved explainer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explainer.nice"
        if not is_saved(explainer, facts, path):
            return
        original = path.read_bytes()
        for _ in range(6):
            mutant, what = _mutant(random, original)
            path.write_bytes(mutant)
            yield _loaded(facts, path, what)


def _mutant(random: Random, original: bytes) -> tuple[bytes, str]:
    kind = str(random.choice(["byte", "cut", "sealed byte", "member byte", "json", "json", "json"]))
    if kind == "cut":
        return original[: int(random.integers(0, len(original)))], "cut short"
    if kind in ("byte", "sealed byte"):
        at = int(random.integers(len(original)))
        mutant = original[:at] + bytes([original[at] ^ int(random.integers(1, 256))]) + original[at + 1 :]
        return (sealed(mutant) if kind == "sealed byte" else mutant), f"{kind} {at}"
    members = unzipped(original)
    if kind == "json":
        name, what = _mutated_json_member(random, members)
        return zipped(members), f"{name}: {what}"
    names = [name for name in members if not name.endswith(".json")]
    name = names[int(random.integers(len(names)))]
    held = bytearray(members[name])
    if held:
        held[int(random.integers(len(held)))] ^= int(random.integers(1, 256))
    members[name] = bytes(held)
    return zipped(members), f"a byte of {name}"


def _mutated_json_member(random: Random, members: dict[str, bytes]) -> tuple[str, str]:
    names = [name for name in members if name.endswith(".json")]
    name = names[int(random.integers(len(names)))]
    value = json.loads(members[name])
    what = mutate_json(random, value)
    members[name] = json.dumps(value).encode()
    return name, what


def unzipped(held: bytes) -> dict[str, bytes]:
    """The members of a saved explainer."""
    with zipfile.ZipFile(io.BytesIO(held)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: dict[str, bytes]) -> bytes:
    """Members as a file that is in order by its digests: of every member in the manifest, and of the whole."""
    manifest = json.loads(members["manifest.json"])
    if isinstance(manifest, dict) and isinstance(manifest.get("members"), dict):
        for name, about in manifest["members"].items():
            if name in members and isinstance(about, dict):
                about["size"], about["sha256"] = len(members[name]), hashlib.sha256(members[name]).hexdigest()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, held in {**members, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), held)
        archive.comment = bytes(len(SEAL) + 64)
    return sealed(buffer.getvalue())


def sealed(held: bytes) -> bytes:
    """The same bytes with a seal at their end that is theirs."""
    before = held[: -(len(SEAL) + 64)]
    return before + SEAL + hashlib.sha256(before).hexdigest().encode()


def _loaded(facts: Facts, path: Path, what: str) -> list[str]:
    from nicecf import NICE, NicecfError

    try:
        loaded = NICE.load(path, model=facts.panel.models[0].given, **functions_of(facts))
        rows = take(facts.tables.rows, range(min(n_rows(facts.tables.rows), 5)))
        cfs = loaded.explain(rows)
        if not cfs.found.any():
            return []
        table = cfs[cfs.found].to_numpy() if facts.tables.container == "numpy" else cfs[cfs.found].to_frame()
    except NicecfError:
        return []
    except Exception as error:
        return [f"{what}: raised {type(error).__name__}: {str(error)[:200]}"]
    return _still_valid(facts, loaded, cfs, rows, table, what)


def _still_valid(facts: Facts, loaded: Any, cfs: Any, rows: Any, table: Any, what: str) -> list[str]:
    """By the decision that the loaded explainer has, what it hands out is not what the rows are."""
    panel = type(facts.panel)(facts.panel.models, facts.panel.classes, loaded.decision, loaded.min_probability)
    if list(cfs.classes) != facts.panel.classes or any(label not in panel.classes for label in _named(loaded.decision)):
        return []
    decided, before = panel.hear(table), panel.hear(take(rows, np.flatnonzero(cfs.found)))
    is_same = decided[0][1] == before[0][1]
    if is_same.any() and facts.panel.is_steady:
        return [f"{what}: accepted, and counterfactual {int(np.argmax(is_same))} is decided on as its row is"]
    return []


def _named(decision: Any) -> list[Any]:
    return list(decision) if isinstance(decision, dict) else []


# --- JSON -------------------------------------------------------------------------------------------------------------

_LEAVES = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**70,
    1.5,
    -0.0,
    1e308,
    "",
    "a",
    "sparsity",
    [],
    {},
    [None],
    {"type": "tuple"},
    {"type": "x", "value": 1},
]


def mutate_json(random: Random, value: Any) -> str:
    """Change something, in place: a leaf, or an entry that goes or comes."""
    places = list(_places(value))
    if not places:
        return "nothing"
    path, holder, key = places[int(random.integers(len(places)))]
    kind = str(random.choice(["leaf", "near", "gone", "added"], p=[0.5, 0.3, 0.12, 0.08]))
    if kind == "gone":
        del holder[key]
    elif kind == "added":
        extra = copy.deepcopy(_LEAVES[int(random.integers(len(_LEAVES)))])
        holder.insert(key, extra) if isinstance(holder, list) else holder.update({"added": extra})
    elif kind == "near":
        holder[key] = _near(random, holder[key])
    else:
        holder[key] = copy.deepcopy(_LEAVES[int(random.integers(len(_LEAVES)))])
    return f"{kind} at {path}"


def _near(random: Random, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + int(random.integers(-2, 3))
    if isinstance(value, str):
        return value[:-1] if random.random() < 0.5 else value + "x"
    if isinstance(value, list):
        return value[::-1]
    return value


def _places(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield f"{path}/{key}", value, key
        yield from _places(value[key], f"{path}/{key}")


# --- records ----------------------------------------------------------------------------------------------------------


def of_record(random: Random, record: dict[str, Any], explainer: Any) -> Iterator[list[str]]:
    """What came of replaying some mutants of a record, with a digest that is theirs."""
    for _ in range(8):
        mutant = json.loads(json.dumps(record))  # a copy would change a value wherever the record has the same object
        what = mutate_json(random, mutant)
        if random.random() < 0.8 and isinstance(mutant, dict):
            mutant["digest"] = digest_of(mutant)
        yield _replayed(record, mutant, explainer, what)


def _replayed(record: dict[str, Any], mutant: Any, explainer: Any, what: str) -> list[str]:
    from nicecf import NicecfError, replay

    try:
        told = replay(mutant, explainer)
        str(told)
    except NicecfError:
        return []
    except Exception as error:
        return [f"{what}: replay raised {type(error).__name__}: {str(error)[:200]}"]
    # Without a counterfactual, a row is told from others by the model's answer alone: a record of another row with the
    # same answer is as right.
    parts = ("found", "decision", "counterfactual", "changes", *(["row"] if record.get("found") else []))
    if told.is_same and any(_unlike(record.get(part), mutant.get(part)) for part in parts):
        return [f"{what}: the replay says that nothing is different"]
    return []


def _unlike(a: Any, b: Any) -> bool:
    """Whether two parts say different things: 1 and 1.0 are the same number, probabilities may differ by rounding."""
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) != set(b) or any(_unlike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) != len(b) or any(_unlike(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, bool) or isinstance(b, bool):
        return a is not b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) > 1e-6
    return a != b


def digest_of(record: dict[str, Any]) -> str:
    """The digest of a record, by the words of its documentation: of its content, 40.0 written as 40."""
    content = {key: _canonical(value) for key, value in record.items() if key != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
