"""Arrow files in which nothing is compressed, which is found out before anything is read.

Arrow has buffers decompressed as it reads them, as large as they say that they are: a few kilobytes can become all the
memory there is. Files that nicecf wrote have none.
"""

from __future__ import annotations

import struct
from typing import Any

from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.dtypes import arrow

# An Arrow file is these bytes, and then a stream of messages.
_MAGIC = b"ARROW1\0\0"
# Where the tables of Flatbuffers have what is looked at here: see Message.fbs and Schema.fbs of Arrow's format.
_HEADER_OF_MESSAGE, _BATCH_OF_DICTIONARY, _COMPRESSION_OF_BATCH = 2, 1, 3


def uncompressed(held: bytes) -> Any:
    """Return a reader of the batches in an Arrow file; Damaged if one of them is compressed."""
    pa, ipc = arrow(), arrow(".ipc")
    if not held.startswith(_MAGIC):
        raise Damaged("its table is not an Arrow file")
    # The same bytes are checked and read: the list of messages at the end of the file may name others.
    stream = pa.py_buffer(held).slice(len(_MAGIC))
    if any(_is_compressed(message) for message in ipc.MessageReader.open_stream(pa.BufferReader(stream))):
        raise Damaged("its table is compressed")
    return ipc.open_stream(pa.BufferReader(stream))


def _is_compressed(message: Any) -> bool:
    """Return whether a message has buffers to be decompressed."""
    if message.type not in ("record batch", "dictionary"):
        return False
    text = message.metadata.to_pybytes()
    (root,) = struct.unpack_from("<I", text)
    batch = _table(text, root, _HEADER_OF_MESSAGE)
    if batch is not None and message.type == "dictionary":
        batch = _table(text, batch, _BATCH_OF_DICTIONARY)
    return batch is None or _table(text, batch, _COMPRESSION_OF_BATCH) is not None


def _table(text: bytes, table: int, number: int) -> int | None:
    """Return where a table begins that is a field of another one in Flatbuffers; None if it is not there."""
    (back,) = struct.unpack_from("<i", text, table)
    fields = table - back
    (size,) = struct.unpack_from("<H", text, fields)
    at = 4 + 2 * number
    (offset,) = struct.unpack_from("<H", text, fields + at) if at < size else (0,)
    return table + offset + int(struct.unpack_from("<I", text, table + offset)[0]) if offset else None
