"""A saved explainer as one file: a zip whose every byte is accounted for.

The members are stored, not compressed: their sizes are bounded by that of the file, and the same explainer gives the
same bytes with any version of zlib. The comment at the end of the zip is a digest of everything before it, so that a
file that is truncated or has one flipped bit is refused before its contents are read. That detects accidents; it is not
a signature.

Of a large explainer (format 2), some members are mapped from the file when it is opened, and not read: the digest at
the end is that of the manifest, which has those of the members, and what is mapped is checked by `verify` alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import mmap
import os
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from nicecf.exceptions import FileError, listed
from nicecf.support.files import link_to_nothing, reason, writing

FORMAT = "nicecf explainer"
VERSION = 2

MANIFEST = "manifest.json"
_SEAL = b"nicecf sha256:"
_SEAL_LENGTH = len(_SEAL) + 64
_SEAL_OF_MANIFEST = b"nicecf manifest sha256:"
_SEAL_OF_MANIFEST_LENGTH = len(_SEAL_OF_MANIFEST) + 64
# Of an array that is mapped: where it may begin, and what it may hold.
_ALIGNMENT = 64
_MAPPED_DTYPES = ("<f8", "|u1")
_DIGESTED_AT_ONCE = 2**24
# For every member: the oldest date that a zip supports, a plain file that everyone may read.
_DATE = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


class Damaged(ValueError):  # noqa: N818  # it becomes a FileError once the path is known
    """A defect of a saved explainer."""


@dataclass(frozen=True, eq=False)
class Large:
    """An array that is written in parts, and mapped when the file is opened; ``parts`` are its bytes in order."""

    dtype: str
    shape: tuple[int, ...]
    parts: Callable[[], Iterable[Any]]


def write(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], members: Mapping[str, bytes | Large], by: str
) -> None:
    """Write the members and their manifest, in one step; ``by`` is the version of nicecf."""
    small = {name: held for name, held in members.items() if isinstance(held, bytes)}
    if len(small) == len(members):
        _write_whole(path, manifest, small, by)
    else:
        _write_in_parts(path, manifest, members, by)


def _write_whole(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], members: Mapping[str, bytes], by: str
) -> None:
    about = {name: {"size": len(held), "sha256": _digest(held)} for name, held in members.items()}
    text = _manifest(manifest, about, by, version=1)
    zipped = _zipped({MANIFEST: text, **members})
    with writing(path) as file:
        file.write(zipped)
        file.write(_seal_of(zipped))


def _write_in_parts(
    path: str | os.PathLike[str], manifest: Mapping[str, Any], members: Mapping[str, bytes | Large], by: str
) -> None:
    about: dict[str, dict[str, Any]] = {}
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as zipped:
        for name, held in members.items():
            entry = _entry(name)
            entry.extra = _padding(zipped.start_dir, name)
            digest, size = hashlib.sha256(), 0
            with zipped.open(entry, "w", force_zip64=True) as member:
                for part in [held] if isinstance(held, bytes) else held.parts():
                    member.write(part)
                    digest.update(part)
                    size += memoryview(part).nbytes
            about[name] = {"size": size, "sha256": digest.hexdigest()}
            if isinstance(held, Large):
                about[name] |= {"dtype": held.dtype, "shape": list(held.shape)}
        text = _manifest(manifest, about, by, version=2)
        zipped.writestr(_entry(MANIFEST), text)
        zipped.comment = _SEAL_OF_MANIFEST + _digest(text).encode()


def _manifest(manifest: Mapping[str, Any], about: Mapping[str, Any], by: str, *, version: int) -> bytes:
    whole = {"format": FORMAT, "version": version, "nicecf": by, **manifest, "members": about}
    return json.dumps(whole, allow_nan=False, indent=1).encode("ascii")


def read(path: str | os.PathLike[str], by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The manifest and the other members, bytes or mapped arrays; FileError unless they are what was written.

    To the last bit, but for what is mapped: of that, the size is checked. ``by`` is the version of nicecf that reads.
    """
    manifest, members = _read(path, by)
    del manifest["members"]
    return manifest, members


def _read(path: str | os.PathLike[str], by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with _file(path) as file:
        if file.seekable():
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _SEAL_OF_MANIFEST_LENGTH))
            if file.read().startswith(_SEAL_OF_MANIFEST):
                return _understood(path, lambda: _mapped(path, file, by))
            file.seek(0)
        held = file.read()
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
    return _understood(path, lambda: _opened(path, held, by))


def verify(path: str | os.PathLike[str], by: str) -> None:
    """Read the whole file; FileError unless it is, to the last bit, what was written."""
    manifest, members = _read(path, by)
    for name, said in manifest["members"].items():
        if isinstance(members[name], np.ndarray):
            _check_digest(path, name, _in_parts(members[name]), said)


def _in_parts(array: Any) -> Iterator[Any]:
    flat = array.reshape(-1).view(np.uint8)
    return (flat[at : at + _DIGESTED_AT_ONCE].data for at in range(0, len(flat), _DIGESTED_AT_ONCE))


def _understood(path: str | os.PathLike[str], reading: Callable[[], tuple[dict[str, Any], dict[str, Any]]]) -> Any:
    try:
        return reading()
    except FileError:
        raise
    except Exception as error:  # any defect of a zip, its text or its table of contents
        raise FileError(f"{path} is not a saved explainer: {type(error).__name__}: {error}.") from error


def _mapped(path: str | os.PathLike[str], file: BinaryIO, by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same of a file of which some members are mapped."""
    with zipfile.ZipFile(file) as zipped:
        entries = _entries(path, zipped, file.seek(0, os.SEEK_END))
        if zipped.comment != _SEAL_OF_MANIFEST + _digest(zipped.read(MANIFEST)).encode():
            raise FileError(
                f"{path} is damaged: its bytes are not those that were saved. Copy the file again, or save the "
                "explainer again."
            )
        # Bytes may be written to, in a copy that nobody else sees: the compiled search takes no other arrays.
        whole, may_be_written = (
            mmap.mmap(file.fileno(), 0, access=access) for access in (mmap.ACCESS_READ, mmap.ACCESS_COPY)
        )
        manifest = _listed(path, zipped, entries, by)
        members: dict[str, Any] = {}
        for name, said in manifest["members"].items():
            entry = entries[name]
            if entry.file_size != said["size"]:
                raise FileError(f"{path} is damaged: {name!r} is not what was saved. Save the explainer again.")
            if "dtype" in said:
                held = may_be_written if said["dtype"] == "|u1" else whole
                members[name] = _array(held, _begin(whole, entry.header_offset), said)
            else:
                members[name] = zipped.read(name)
                _check_digest(path, name, [members[name]], said)
    return manifest, members


def _begin(whole: Any, header: int) -> int:
    """Where the contents of a member begin, by its own header."""
    n_name, n_extra = struct.unpack_from("<HH", whole, header + 26)
    return int(header + 30 + n_name + n_extra)


def _array(whole: Any, begin: int, said: Mapping[str, Any]) -> Any:
    dtype, shape = said["dtype"], tuple(said["shape"])
    n_cells = int(np.prod(shape, dtype=object))
    if dtype not in _MAPPED_DTYPES or n_cells * np.dtype(dtype).itemsize != said["size"] or min(shape, default=0) < 0:
        raise Damaged(f"an array of {dtype!r} and the shape {shape} is not as long as it should be")
    if dtype == "<f8" and hasattr(mmap, "MADV_RANDOM"):
        # Rows are looked at one here, one there: without this, the system reads much more around each of them.
        page = begin - begin % mmap.PAGESIZE
        whole.madvise(mmap.MADV_RANDOM, page, begin + said["size"] - page)
    return np.ndarray(shape, dtype, whole, begin)


def _check_digest(path: Any, name: str, parts: Iterable[Any], said: Mapping[str, Any]) -> None:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    if digest.hexdigest() != said["sha256"]:
        raise FileError(f"{path} is damaged: {name!r} is not what was saved. Save the explainer again.")


def _entries(path: str | os.PathLike[str], zipped: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the entries of a zip by their names; FileError if to read them could take more than ``size`` bytes.

    That is the size of the file. Nothing is read before: a few bytes can be compressed zeros without end. What a member
    says of itself in its own header is not believed, neither here nor by `zipfile`.
    """
    entries = {entry.filename: entry for entry in zipped.infolist()}
    if len(entries) < len(zipped.infolist()):
        raise FileError(f"{path} is not a saved explainer: the zip has two members with the same name.")
    for entry in entries.values():
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
            raise FileError(f"{path} is not a saved explainer: {entry.filename!r} is compressed.")
    if sum(entry.file_size for entry in entries.values()) > size:
        raise FileError(f"{path} is not a saved explainer: its members are larger than the file.")
    if MANIFEST not in entries:
        raise FileError(f"{path} is not a saved explainer: the zip has no {MANIFEST}.")
    return entries


def _listed(
    path: str | os.PathLike[str], zipped: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo], by: str
) -> dict[str, Any]:
    """Return the manifest of a zip, of which each entry is one that the manifest names."""
    manifest: dict[str, Any] = json.loads(zipped.read(MANIFEST), parse_constant=_refuse)
    _check_format(path, manifest, by)
    about = manifest["members"]
    missing, added = sorted(set(about) - set(entries)), sorted(set(entries) - {MANIFEST, *about})
    if missing or added:
        what = f"{listed(missing)} is missing" if missing else f"{listed(added)} was added"
        raise FileError(f"{path} is damaged: in the zip, {what}. Save the explainer again.")
    return manifest


def _opened(path: str | os.PathLike[str], held: bytes, by: str) -> tuple[dict[str, Any], dict[str, Any]]:
    with zipfile.ZipFile(io.BytesIO(held)) as zipped:
        entries = _entries(path, zipped, len(held))
        manifest = _listed(path, zipped, entries, by)
        members = {}
        for name, said in manifest["members"].items():
            members[name] = zipped.read(name) if entries[name].file_size == said["size"] else b""
            _check_digest(path, name, [members[name]], said)
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


@contextmanager
def _file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    try:
        with open(path, "rb") as file:
            yield file
    except FileError:
        raise
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
            zipped.writestr(_entry(name), held)
        zipped.comment = bytes(_SEAL_LENGTH)  # the length of a comment comes before it
    return buffer.getbuffer()[:-_SEAL_LENGTH]


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.create_system, entry.external_attr = 3, _MODE
    return entry


def _padding(at: int, name: str) -> bytes:
    """A field of a header that begins ``at`` a place, after which the contents begin where an array may be mapped.

    The header has 30 bytes, the name, and 20 bytes for sizes beyond 4 GB, which zipfile adds.
    """
    begin = at + 30 + len(name.encode("ascii")) + 20 + 4
    n_zeros = -begin % _ALIGNMENT
    return struct.pack("<HH", 0xD935, n_zeros) + bytes(n_zeros)


def _seal_of(before: memoryview) -> bytes:
    return _SEAL + hashlib.sha256(before).hexdigest().encode()


def _digest(held: bytes) -> str:
    return hashlib.sha256(held).hexdigest()
