"""The page as a widget of a notebook: ``nice.widget(X_new)``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from nicecf.exceptions import ModelError, NicecfError
from nicecf.nice import NICE
from nicecf.service import description, messages, page
from nicecf.service.limits import Limits
from nicecf.service.refusals import Refused
from nicecf.service.version import Version, version_of
from nicecf.support.types import Json, Table
from nicecf.views.documents.inline import paragraph, text
from nicecf.views.words.wording import Wording

log = logging.getLogger("nicecf.service")


def widget_of(nice: NICE, X: Table | None, wording: Wording | None) -> Any:
    """A widget that shows the plans of some rows, of those of ``X`` or of examples."""
    import anywidget
    import traitlets

    desk, static = Desk.of(nice, X, wording), (wording or Wording()).say("page.without_kernel")

    class Widget(anywidget.AnyWidget):
        """The page; ``kept``: the plans that were kept in it, each as ``{feature: new value}``."""

        _esm = page.as_one_module("widget.js")
        _css = (page.file("page.css") or b"").decode()
        kept: Any = traitlets.List([]).tag(sync=True)
        without_kernel: Any = traitlets.Unicode(static).tag(sync=True)

        def __init__(self) -> None:
            super().__init__()
            self.on_msg(lambda _, message, buffers: self.send(desk.answer(message)))

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            """Return the widget, and a sentence for where it cannot be shown, such as an exported page."""
            bundle = super()._repr_mimebundle_(**kwargs)
            shown = bundle[0] if isinstance(bundle, tuple) else bundle
            if shown is not None:
                shown |= {"text/plain": static, "text/html": paragraph(text(static))}
            return bundle

    return Widget()


class Desk:
    """Answers what the page asks, in this process: as the service does, without its queue and its limits."""

    def __init__(self, version: Version, examples: list[dict[str, Json]]) -> None:
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
            return cls(version, [{"label": str(at + 1), "row": row} for at, row in enumerate(version.examples)])
        schema = nice._fitted.schema.full
        values, known = schema.encode(X)
        labels = schema.container.labels(X)
        rows = version.reader.shown(known.decode(values), len(values))
        return cls(version, [{"label": str(label), "row": row} for label, row in zip(labels, rows, strict=True)])

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
