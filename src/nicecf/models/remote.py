"""A model behind HTTP: the predict endpoint of a model server, by the V1 or the V2 protocol of KServe.

Rows of a frame are sent as objects (V1) or as one input for each column (V2), rows of an array as lists or as one
tensor. Needed are probabilities: one number per class for each row, or that of the second of two classes.
"""

from __future__ import annotations

import base64
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from nicecf.exceptions import ModelError, OptionError
from nicecf.support.types import Floats, Table
from nicecf.tables import container_of
from nicecf.tables.files.json_lines import json_cell

_V1, _V2 = re.compile(r"/v1/models/[^/]+:predict"), re.compile(r"/v2/models/[^/]+(/versions/[^/]+)?/infer")
_ROWS_PER_REQUEST = 1_000
_MOST_BYTES = 64_000_000
# All that may hold a user and a password, also where somebody mistyped the rest; and what is behind a question mark.
_SECRETS = ((re.compile(r"^(\w+://)?.*@", re.DOTALL), r"\1***@"), (re.compile(r"\?.*", re.DOTALL), "?***"))
# Worth another try: too many requests, or a server that is down for a moment.
_TRY_AGAIN = (408, 429, 500, 502, 503, 504)


@dataclass(frozen=True, eq=False)
class RemoteModel:
    """Probabilities from a model server; OptionError if the URL is not one of a predict endpoint.

    ``url``: a user and a password in it (``https://user:password@host/...``) are sent as basic authentication, and
    never shown. ``timeout``: seconds for each try; ``tries``: how often a request that fails is sent, with a pause in
    between.
    """

    url: str
    timeout: float = 10.0
    tries: int = 3
    pause: float = 0.1
    _is_known: list[bool] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_known = parts.port is None or parts.port > 0  # reading it raises, if it is no number
        except ValueError:
            is_known = False
        is_known = is_known and any(form.search(parts.path) for form in (_V1, _V2))
        if not is_known or parts.scheme not in ("http", "https") or not parts.hostname:
            raise OptionError(
                f"{self.shown_url!r} is not the address of a predict endpoint: use "
                "http(s)://HOST/v1/models/NAME:predict, or /v2/models/NAME/infer."
            )

    def __repr__(self) -> str:
        """Return the address, without what is secret in it."""
        return f"RemoteModel({self.shown_url!r})"

    @property
    def shown_url(self) -> str:
        """The address as it may be printed: without user, password and what is behind a question mark."""
        shown = self.url
        for secret, instead in _SECRETS:
            shown = secret.sub(instead, shown)
        return shown

    def predict_proba(self, X: Table) -> Floats:
        """One line per row; ModelError if the server fails, or returns no probabilities."""
        columns, names, is_array = _columns(X)
        n_rows, found = len(columns[0]), []
        for at in range(0, n_rows, _ROWS_PER_REQUEST):
            some = [column[at : at + _ROWS_PER_REQUEST] for column in columns]
            found.append(self._asked(some, names, is_array=is_array))
        return np.concatenate(found)

    def _asked(self, columns: list[list[Any]], names: Sequence[str], *, is_array: bool) -> Floats:
        by_v2 = _V2.search(urlsplit(self.url).path) is not None
        request = _v2_request(columns, names, is_array) if by_v2 else _v1_request(columns, names, is_array)
        answer = self._posted(json.dumps(request, allow_nan=False).encode())
        try:
            read = _v2_answer(answer, len(columns[0])) if by_v2 else answer["predictions"]
            return self._probabilities(read, len(columns[0]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(
                f"{self.shown_url} answered in another form than its protocol has: {type(error).__name__}: {error}"
            ) from error

    def _probabilities(self, read: Any, n_rows: int) -> Floats:
        cells = (
            read
            if not isinstance(read, list)
            else [one for row in read for one in (row if isinstance(row, list) else [row])]
        )
        is_text = any(isinstance(one, (str, bool)) for one in cells)
        table = np.empty(0) if is_text else np.asarray(read, dtype=np.float64)
        if table.ndim == 2 and table.shape[1] == 1:
            table = table[:, 0]
        # The first answer has many rows: that all of them are sure to the last bit is not what a model says.
        if is_text or (table.ndim == 1 and not self._is_known and len(table) > 1 and (table == np.rint(table)).all()):
            raise ModelError(
                f"{self.shown_url} returns labels instead of probabilities. Let the server return predict_proba "
                "(of KServe's sklearn server: PREDICT_PROBA), one number per class for each row."
            )
        if len(table) != n_rows:
            raise ModelError(f"{self.shown_url} returned {len(table)} rows, expected {n_rows}.")
        self._is_known[:] = [True]
        return np.column_stack([1 - table, table]) if table.ndim == 1 else table

    def _posted(self, body: bytes) -> Any:
        parts = urlsplit(self.url)
        credentials, _, host = parts.netloc.rpartition("@")
        address = parts._replace(netloc=host).geturl()
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
        if credentials:
            encoded = base64.b64encode(unquote(credentials).encode()).decode("ascii")
            # Not for where the server sends us next.
            request.add_unredirected_header("Authorization", f"Basic {encoded}")
        reason = ""
        for attempt in range(self.tries):
            if attempt:
                time.sleep(self.pause * 4 ** (attempt - 1))
            try:
                with urllib.request.urlopen(request, timeout=self.timeout) as response:
                    return json.loads(response.read(_MOST_BYTES))
            except urllib.error.HTTPError as error:
                error.close()
                reason = f"status {error.code}"
                if error.code not in _TRY_AGAIN:
                    break
            except ValueError as error:
                raise ModelError(f"{self.shown_url} did not answer with JSON: {error}") from error
            except (OSError, HTTPException) as error:  # also a time-out
                reason = f"{type(error).__name__}: {getattr(error, 'reason', error)}"
        raise ModelError(f"{self.shown_url} did not answer after {attempt + 1} tries: {reason}.")


def _columns(X: Table) -> tuple[list[list[Any]], list[str], bool]:
    """The cells of a table column by column, as JSON has them; the names; and whether it is an array."""
    container = container_of(X)
    names, by_columns = container.names(X), container.by_columns(X)
    everyone = np.arange(container.n_rows(X))
    columns = [
        [json_cell(cell) for cell in container.objects(container.column(by_columns, at), everyone)]
        for at in range(len(names))
    ]
    return columns, [str(name) for name in names], "frame" not in container.label.lower()


def _v1_request(columns: list[list[Any]], names: Sequence[str], is_array: bool) -> dict[str, Any]:
    rows = zip(*columns, strict=True)
    return {"instances": [list(row) if is_array else dict(zip(names, row, strict=True)) for row in rows]}


def _v2_request(columns: list[list[Any]], names: Sequence[str], is_array: bool) -> dict[str, Any]:
    n_rows = len(columns[0])
    if is_array:
        flat = [cell for row in zip(*columns, strict=True) for cell in row]
        return {"inputs": [{"name": "input-0", "shape": [n_rows, len(columns)], "datatype": "FP64", "data": flat}]}
    inputs = [
        {"name": name, "shape": [n_rows, 1], "datatype": _datatype(cells), "data": cells}
        for name, cells in zip(names, columns, strict=True)
    ]
    return {"parameters": {"content_type": "pd"}, "inputs": inputs}


def _datatype(cells: Sequence[Any]) -> str:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {bool}:
        return "BOOL"
    if kinds == {int} and None not in cells:
        return "INT64"
    return "FP64" if kinds <= {int, float} else "BYTES"


def _v2_answer(answer: Any, n_rows: int) -> Any:
    """The output with one number per class, or else the first one."""
    outputs = answer["outputs"]
    tables = [one for one in outputs if len(one["shape"]) == 2 and one["shape"][1] > 1]
    chosen = (tables or outputs)[0]
    if chosen["datatype"] == "BYTES":
        return [str(one) for one in chosen["data"]]
    flat = np.asarray(chosen["data"], dtype=np.float64).ravel()
    return flat.reshape(n_rows, -1).tolist() if tables else flat.tolist()
