"""Who asked what, when, and with which outcome: lines of JSON without the values of any row."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from logging.handlers import WatchedFileHandler

import msgspec

from nicecf.exceptions import FileError
from nicecf.support.types import Json

log = logging.getLogger("nicecf.service")


class AuditLog:
    """A file that gets a line for each request; it may be moved away at any time, as logrotate does."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600))
            self._file = WatchedFileHandler(path, encoding="utf-8")
        except OSError as error:
            raise FileError(
                f"{path} cannot be written: {error.strerror}. Choose another file for the audit log."
            ) from None

    def write(self, entry: Mapping[str, Json]) -> None:
        """Append a line."""
        try:
            self._file.emit(logging.makeLogRecord({"msg": msgspec.json.encode(entry).decode()}))
        except OSError as error:  # such as a folder that is gone
            log.error("the audit log cannot be written: %s", error)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
