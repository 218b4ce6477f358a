"""The page as a widget of a notebook: ``nice.widget(X_new)``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy as np

from nicecf.exceptions import ModelError, NicecfError
from nicecf.nice import NICE
from nicecf.service import description, messages, page
from nicecf.service.limits import Limits
from nicecf.service.refusals import Refused
from nicecf.service.version import Version, version_of
from nicecf.support.types import Json, Table
from nicecf.views.documents.inline import paragraph, text
from nicecf.views.notebook import many_as_html
from nicecf.views.words.wording import Wording

log = logging.getLogger("nicecf.service")

# What is explained for where no kernel answers: the cell that shows a widget waits for it.
_ROWS_SHOWN = 20
_SECONDS = 1.0


def widget_of(nice: NICE, X: Table | None, wording: Wording | None) -> Any:
    """A widget that shows the plans of some rows, of those of ``X`` or of examples."""
    import anywidget
    import traitlets

    desk, spoken = Desk.of(nice, X, wording), wording or Wording()
    sentence = spoken.say("page.without_kernel")

    class Widget(anywidget.AnyWidget):
        """The page; ``kept``: the plans that were kept in it, each as ``{feature: new value}``.

        ``without_kernel``: HTML for where no kernel answers, such as an exported page; with results once it is shown.
        """

        _esm = page.as_one_module("widget.js")
        _css = (page.file("page.css") or b"").decode()
        kept: Any = traitlets.List([]).tag(sync=True)
        without_kernel: Any = traitlets.Unicode(paragraph(text(sentence))).tag(sync=True)

        def __init__(self) -> None:
            super().__init__()
            self._has_results = False
            self.on_msg(lambda _, message, buffers: self.send(desk.answer(message)))

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """Return the widget, and the first results for where it cannot be shown, such as an exported page."""
            if not self._has_results:
                self.without_kernel += first_results(nice, desk.rows, spoken)
                self._has_results = True
            bundle = super()._repr_mimebundle_(**kwargs)
            shown = bundle[0] if isinstance(bundle, tuple) else bundle
            if shown is not None:
                shown |= {"text/plain": sentence, "text/html": self.without_kernel}
            return bundle

    return Widget()


def first_results(nice: NICE, X: Table, wording: Wording) -> str:
    """Explain the first rows and return what is found as a table of HTML; nothing if that fails or there are none."""
    container = nice._fitted.schema.full.container
    try:
        n_rows = len(container.labels(X))
        first = container.take(X, np.arange(min(n_rows, _ROWS_SHOWN)))
        cfs = nice.explain(first, time_budget=_SECONDS, progress=False)
        html = many_as_html(cfs.batch, wording) if len(cfs) else ""
    except Exception as error:  # the widget works all the same, and says itself what is wrong
        log.debug("no results to show without a kernel: %s", error)
        return ""
    if n_rows <= _ROWS_SHOWN:
        return html
    return paragraph(text(wording.say("page.without_kernel_first", count=_ROWS_SHOWN, rows=n_rows))) + html


class Desk:
    """Answers what the page asks, in this process: as the service does, without its queue and its limits."""

    def __init__(self, version: Version, examples: list[dict[str, Json]], rows: Table) -> None:
        self.rows = rows
        self._version = version
        self._examples = examples
        self._verbs: dict[str, Callable[[Any], Any]] = {
            "about": lambda body: description.about(version),
            "schema": lambda body: description.schema(version, body["language"]),
            "examples": lambda body: examples,
            "words": lambda body: page.words(body["language"]),
            "explain": self._explain,
            "what-if": self._what_if,
        }

    @classmethod
    def of(cls, nice: NICE, X: Table | None, wording: Wording | None) -> Desk:
        """For a fitted explainer and rows; SchemaError if they are not like those of ``fit``."""
        wordings = {} if wording is None else {str(wording.language): wording}
        version = version_of(nice, wordings, with_examples=X is None)
        if X is None:
            X = version.reader.table(version.reader.read(version.examples))
            return cls(version, [{"label": str(at + 1), "row": row} for at, row in enumerate(version.examples)], X)
        schema = nice._fitted.schema.full
        values, known = schema.encode(X)
        labels = schema.container.labels(X)
        rows = version.reader.shown(known.decode(values), len(values))
        return cls(version, [{"label": str(label), "row": row} for label, row in zip(labels, rows, strict=True)], X)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Json]:
        """What a message asks for, or what is wrong with it, under its number."""
        number = message["number"]
        try:
            return {"number": number, "answer": self._verbs[message["verb"]](message["body"])}
        except Refused as refusal:
            return {"number": number, "kind": "refused", "error": str(refusal)}
        except ModelError as error:
            log.warning("the model failed: %s", error)
            return {"number": number, "kind": "failed", "error": str(error)}
        except NicecfError as error:
            return {"number": number, "kind": "refused", "error": str(error)}
        except Exception as error:  # the page waits for an answer, whatever it is
            log.exception("a question failed")
            return {"number": number, "kind": "failed", "error": f"{type(error).__name__}: {error}"}

    def _explain(self, body: Any) -> Json:
        asked = messages.read(msgspec.json.encode(body))
        version, limits = self._version, Limits()
        rows, arguments = version.reader.read(asked.instances), version.arguments(asked.parameters)
        return {"explanations": version.explain(rows, arguments, asked.parameters, limits.seconds).explanations}

    def _what_if(self, body: Any) -> Json:
        asked = messages.read(msgspec.json.encode(body))
        reader = self._version.reader
        rows = reader.read(asked.instances)
        others = reader.changed(rows, asked.changes or [{} for _ in rows])
        return {"explanations": self._version.what_if(rows, others, asked.parameters).explanations}
