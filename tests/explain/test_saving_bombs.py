"""Files that would become much more memory than they have bytes: refused before anything of it is read."""

import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pytest

from nicecf import NICE, FileError
from nicecf.explain import saving
from nicecf.explain.saving import archive, batches
from nicecf.testing import Scorecard, applicants

X, Y = applicants()
# So many bytes, compressed to some thousands; and what reading a small file may take.
_LARGE, _LITTLE = 50_000_000, 2_000_000


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "some.nice"
    NICE(Scorecard(), search="greedy").fit(X, Y).save(path)
    return path


def parts_of(path):
    """The manifest and the members of an explainer."""
    with zipfile.ZipFile(path) as zipped:
        members = {name: zipped.read(name) for name in zipped.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    return {
        key: value for key, value in manifest.items() if key not in ("format", "version", "nicecf", "members")
    }, members


def refusal(read, path):
    """What is said of a file, and how much memory it took at most."""
    tracemalloc.start()
    try:
        with pytest.raises(FileError) as raised:
            read(path)
        return str(raised.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


READERS = {
    "load": lambda path: NICE.load(path, model=Scorecard()),
    "verify": saving.verify,
    "notes": saving.notes,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_manifest_is_not_read(read, method, tmp_path):
    path = tmp_path / "bomb.nice"
    with zipfile.ZipFile(path, "w", method) as zipped:
        zipped.writestr("manifest.json", b" " * _LARGE)
        zipped.comment = archive._SEAL_OF_MANIFEST + b"0" * 64
    assert path.stat().st_size < 200_000
    said, peak = refusal(read, path)
    assert said == f"{path} is not a saved explainer: 'manifest.json' is compressed."
    assert peak < _LITTLE


def with_entry(path, name, **changed):
    """Say something else of a member in the table of contents of a zip: fields by their place in its entry."""
    held = bytearray(path.read_bytes())
    at = held.rindex(b"PK\1\2")
    while held[at + 46 : at + 46 + struct.unpack_from("<H", held, at + 28)[0]] != name.encode():
        at = held.rindex(b"PK\1\2", 0, at)
    for field, value in changed.items():
        place, form = {"method": (10, "<H"), "packed": (20, "<I"), "size": (24, "<I")}[field]
        struct.pack_into(form, held, at + place, value)
    path.write_bytes(held)
    return path


def of_format_2(path, members):
    """A zip that is stored, sealed as large explainers are."""
    with zipfile.ZipFile(path, "w") as zipped:
        for name, held in members.items():
            zipped.writestr(name, held)
        zipped.comment = archive._SEAL_OF_MANIFEST + archive._digest(members["manifest.json"]).encode()
    return path


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"size": 2_000_000_000}, "'more' is compressed"),
        ({"size": 2_000_000_000, "packed": 2_000_000_000}, "its members are larger than the file"),
        ({"method": 8}, "'more' is compressed"),
    ],
    ids=str,
)
def test_sizes_that_lie_are_refused(changed, said, tmp_path):
    path = of_format_2(tmp_path / "lies.nice", {"manifest.json": b"{}", "more": b"0" * 100})
    told, peak = refusal(READERS["load"], with_entry(path, "more", **changed))
    assert told == f"{path} is not a saved explainer: {said}."
    assert peak < _LITTLE


def test_members_in_the_same_bytes_are_refused(tmp_path):
    """Each is no larger than the file, all together are."""
    names = [f"member {number}" for number in range(60)]
    path = of_format_2(tmp_path / "same.nice", {"manifest.json": b"0" * 50_000, **dict.fromkeys(names, b"")})
    for name in names:
        with_entry(path, name, size=50_000, packed=50_000)
    told, peak = refusal(READERS["load"], path)
    assert told == f"{path} is not a saved explainer: its members are larger than the file."
    assert peak < _LITTLE


def test_a_header_of_a_member_is_not_believed(tmp_path, monkeypatch):
    """It says compressed, the table of contents says stored: the bytes are read as they are."""
    path = of_format_2(tmp_path / "header.nice", {"manifest.json": b"{}"})
    held = bytearray(path.read_bytes())
    struct.pack_into("<H", held, 8, zipfile.ZIP_DEFLATED)
    struct.pack_into("<I", held, 22, 2_000_000_000)
    path.write_bytes(held)
    monkeypatch.setattr("zlib.decompressobj", lambda *_: pytest.fail("something is decompressed"))
    told, peak = refusal(READERS["load"], path)
    assert "its manifest.json has another format" in told
    assert peak < _LITTLE


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
@pytest.mark.parametrize("n_rows", [120, 3_000_000])
def test_a_compressed_table_is_not_read(compression, n_rows, saved, tmp_path, monkeypatch):
    manifest, members = parts_of(saved)
    table = pa.ipc.open_file(members["training.arrow"]).read_all()
    columns = [column.chunk(0).take(pa.array(np.zeros(n_rows, dtype=np.int32))) for column in table.columns]
    batch = pa.RecordBatch.from_arrays(columns, schema=table.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    members["training.arrow"] = sink.getvalue().to_pybytes()
    path = tmp_path / "bomb.nice"
    archive.write(path, manifest, members, by="1")
    assert path.stat().st_size < 2_000_000
    monkeypatch.setattr(pa.ipc, "open_stream", lambda *_: pytest.fail("the table is read"))
    with pytest.raises(FileError, match=r"bomb\.nice is damaged: its table is compressed"):
        NICE.load(path, model=Scorecard())


@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_each_batch_of_a_file_says_whether_it_is_compressed(compression):
    columns = {"a": pa.array(range(1_000)), "b": pa.array(["x", "y"] * 500).dictionary_encode()}
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_batch(batch)
    messages = list(pa.ipc.MessageReader.open_stream(sink.getvalue()))
    assert [message.type for message in messages] == ["schema", "dictionary", "record batch"]
    is_compressed = compression is not None
    assert [batches._is_compressed(message) for message in messages] == [False, is_compressed, is_compressed]
