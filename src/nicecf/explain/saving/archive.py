"""A saved explainer as one file: a zip whose every byte is accounted for.

The members are stored, not compressed: their sizes are bounded by that of the file, and the same explainer gives the
same bytes with any version of zlib. The comment at the end of the zip is a digest of everything before it, so that a
file that is truncated or has one flipped bit is refused before its contents are read. That detects accidents; it is not
a signature.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any

from nicecf.exceptions import FileError, listed
from nicecf.support.files import link_to_nothing, reason, writing

FORMAT = "nicecf explainer"
VERSION = 1

MANIFEST = "manifest.json"
_SEAL = b"nicecf sha256:"
_SEAL_LENGTH = len(_SEAL) + 64
# For every member: the oldest date that a zip supports, a plain file that everyone may read.
_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


class Damaged(ValueError):  # noqa: N818  # it becomes a FileError once the path is known
    """A defect of a saved explainer."""


def write(path: str | os.PathLike[str], manifest: Mapping[str, Any], members: Mapping[str, bytes], by: str) -> None:
    """Write the members and their manifest, in one step; ``by`` is the version of nicecf."""
    about = {name: {"size": len(held), "sha256": _digest(held)} for name, held in members.items()}
    whole = {"format": FORMAT, "version": VERSION, "nicecf": by, **manifest, "members": about}
    text = json.dumps(whole, allow_nan=False, indent=1).encode("ascii")
    zipped = _zipped({MANIFEST: text, **members})
    with writing(path) as file:
        file.write(zipped)
        file.write(_seal_of(zipped))


def read(path: str | os.PathLike[str], by: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and the other members; FileError unless they are, to the last bit, what was written.

    ``by`` is the version of nicecf that reads the file.
    """
    held = _held(path)
    before, seal = memoryview(held)[:-_SEAL_LENGTH], held[-_SEAL_LENGTH:]
    if not held.startswith(b"PK\x03\x04"):
        raise FileError(f"{path} is not a saved explainer: it is not a zip. Pass a file from nice.save(path).")
    if not seal.startswith(_SEAL):
        raise FileError(
            f"{path} is not a complete saved explainer: a zip from nice.save(path) ends differently. Copy the file "
            "again, or save the explainer again."
        )
    if seal != _seal_of(before):
        raise FileError(
            f"{path} is damaged: its bytes are not those that were saved. Copy the file again, or save the explainer "
            "again."
        )
    try:
        return _opened(path, held, by)
    except FileError:
        raise
    except Exception as error:  # any defect of a zip, its text or its table of contents
        raise FileError(f"{path} is not a saved explainer: {type(error).__name__}: {error}.") from error


def _opened(path: str | os.PathLike[str], held: bytes, by: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(held)) as zipped:
        entries = {entry.filename: entry for entry in zipped.infolist()}
        if len(entries) < len(zipped.infolist()):
            raise FileError(f"{path} is not a saved explainer: the zip has two members with the same name.")
        for entry in entries.values():
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size > len(held):
                raise FileError(f"{path} is not a saved explainer: {entry.filename!r} is compressed.")
        if MANIFEST not in entries:
            raise FileError(f"{path} is not a saved explainer: the zip has no {MANIFEST}.")
        manifest = json.loads(zipped.read(MANIFEST), parse_constant=_refuse)
        _check_format(path, manifest, by)
        about = manifest.pop("members")
        missing, added = sorted(set(about) - set(entries)), sorted(set(entries) - {MANIFEST, *about})
        if missing or added:
            what = f"{listed(missing)} is missing" if missing else f"{listed(added)} was added"
            raise FileError(f"{path} is damaged: in the zip, {what}. Save the explainer again.")
        members = {}
        for name, said in about.items():
            member = zipped.read(name) if entries[name].file_size == said["size"] else b""
            if _digest(member) != said["sha256"]:
                raise FileError(f"{path} is damaged: {name!r} is not what was saved. Save the explainer again.")
            members[name] = member
    return manifest, members


def _refuse(constant: str) -> None:
    raise ValueError(f"its {MANIFEST} holds {constant}, which is not JSON")


def _check_format(path: str | os.PathLike[str], manifest: Any, by: str) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise FileError(f"{path} is not a saved explainer: its {MANIFEST} has another format.")
    version = manifest["version"]
    if type(version) is not int or version < 1:
        raise FileError(f"{path} is not a saved explainer: its format has the version {version!r}.")
    if version > VERSION:
        raise FileError(
            f"{path} was written by nicecf {manifest.get('nicecf')} in format {version}; this is nicecf {by}, which "
            f"reads formats up to {VERSION}: upgrade."
        )


def _held(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except IsADirectoryError:
        raise FileError(f"{path} is a folder; pass a file from nice.save(path).") from None
    except FileNotFoundError:
        if link := link_to_nothing(os.fspath(path)):
            raise FileError(f"{path} cannot be read: {link}. Repair the link, or pass another path.") from None
        raise FileError(f"{path} does not exist. Pass a file from nice.save(path).") from None
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise FileError(f"{path} cannot be read: {why}.") from error


def _zipped(members: Mapping[str, bytes]) -> memoryview:
    """A zip without the comment at its end."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as zipped:
        for name, held in members.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system, entry.external_attr = 3, _MODE
            zipped.writestr(entry, held)
        zipped.comment = bytes(_SEAL_LENGTH)  # the length of a comment comes before it
    return buffer.getbuffer()[:-_SEAL_LENGTH]


def _seal_of(before: memoryview) -> bytes:
    return _SEAL + hashlib.sha256(before).hexdigest().encode()


def _digest(held: bytes) -> str:
    return hashlib.sha256(held).hexdigest()
