"""The explainers of a service by their names: loaded from files, and again when these change."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic

from nicecf.exceptions import OptionError, listed
from nicecf.nice import NICE
from nicecf.service import page
from nicecf.service.audit import AuditLog
from nicecf.service.keys import Keys
from nicecf.service.limits import Limits
from nicecf.service.measures import Measures
from nicecf.service.merging import Merger, Waiting
from nicecf.service.refusals import Refused
from nicecf.service.version import Version, version_of
from nicecf.support.types import Table
from nicecf.views.words.wording import Wording

log = logging.getLogger("nicecf.service")

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
# Files that are read at once: each takes memory many times its size, and a thread of those that check requests.
_UPLOADS = 4
# After as many failures in a row, it is asked whether the model works at all.
_SUSPICIOUS = 3
# Seconds between two such questions, and until an answer is there.
_PROBE_EVERY, _PROBE_SECONDS = 2.0, 2.0


@dataclass(frozen=True, eq=False)
class Source:
    """Where an explainer comes from: a function that loads it, and the files that it is made of.

    ``wordings``: TOML files that say how things are called, one for each language. ``target``: the decision that
    people want, as text. ``examples``: rows to try it with, in place of drawn ones.
    """

    load: Callable[[], NICE]
    files: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    target: str | None = None
    examples: Table | None = None

    @property
    def state(self) -> tuple[object, ...]:
        """Changes when a file does; a file that is being replaced may be away for a moment."""
        return tuple(_state(path) for path in (*self.files, *self.wordings))


class Service:
    """The explainers and their queues. Made before the event loop runs, so that whatever is wrong is said at once."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        *,
        limits: Limits | None = None,
        keys: Keys | None = None,
        keys_file: str | None = None,
        audit_log: str | None = None,
        look_every: float = 1.0,
    ) -> None:
        for name in sources:
            if not _NAME.fullmatch(name):
                raise OptionError(
                    f"{name!r} cannot be the name of an explainer: use letters, digits, '.', '_' and '-'."
                )
        self.limits = limits or Limits()
        self.measures = Measures()
        self.keys = Keys.of_file(keys_file) if keys_file is not None else keys
        self.audit = None if audit_log is None else AuditLog(audit_log)
        self._keys_file = keys_file
        self._look_every = look_every
        self._sources = dict(sources)
        self._states = {name: source.state for name, source in sources.items()}
        self._keys_state = None if keys_file is None else _state(keys_file)
        self.versions = {name: _version_from(source) for name, source in sources.items()}
        self.mergers: dict[str, Merger] = {}
        self._failures = Counter[str]()  # of each model, since its last answer
        self._probes: dict[str, tuple[float, asyncio.Task[bool]]] = {}  # when each model was last asked

    async def start(self) -> None:
        """Open the queues, and look after the files from now on."""
        self.uploads = asyncio.Semaphore(_UPLOADS)
        # One thread: the more of them want to run Python, the longer the event loop waits for its turn.
        self.checker = ThreadPoolExecutor(1, "nicecf-check")
        for name in self._sources:
            self.mergers[name] = merger = Merger(self.limits)
            merger.on_call = self.measures.batch_rows.labels(name).observe
            merger.on_refusal = partial(self._count_refusal, name)
            self.measures.waiting.labels(name).set_function(merger.__len__)
        self._looking = [asyncio.create_task(one()) for one in (self._look, self._look_at_keys)]

    async def stop(self) -> None:
        """Close the queues; whatever was asked has been answered by now."""
        for task in self._looking:
            task.cancel()
        for merger in self.mergers.values():
            await merger.close()
        self.checker.shutdown(wait=False)
        if self.audit is not None:
            self.audit.close()

    def _count_refusal(self, name: str, reason: str) -> None:
        self.measures.refused.labels(name, reason).inc()

    def note_answer(self, name: str, *, has_failed: bool) -> None:
        """Remember whether the model of an explainer answered a request or failed on it."""
        self._failures[name] = self._failures[name] + 1 if has_failed else 0

    async def not_ready(self) -> list[str]:
        """Return the explainers that cannot answer now.

        Where the last requests have all failed, the rows may be at fault, or the model: it is asked about rows that it
        knows.
        """
        return [name for name in self.versions if await self._is_down(name)]

    async def _is_down(self, name: str) -> bool:
        if name not in self.mergers or self.mergers[name].is_hanging:
            return True
        if self._failures[name] < _SUSPICIOUS:
            return False
        time, probe = self._probes.get(name, (-_PROBE_EVERY, None))
        if probe is None or (probe.done() and monotonic() - time >= _PROBE_EVERY):
            probe = asyncio.create_task(self._probe(name))
            self._probes[name] = monotonic(), probe
        return await asyncio.shield(probe)  # whoever asks meanwhile gets the same answer

    async def _probe(self, name: str) -> bool:
        """Ask a model about rows that it knows; return whether it fails."""
        version, merger = self.versions[name], self.mergers[name]
        query = Waiting(object(), [None], lambda rows, seconds: version.check_model(), self.limits.seconds)
        try:
            merger.put(query)
            await asyncio.wait_for(asyncio.shield(query.answer), _PROBE_SECONDS)
        except Refused:  # there is too much to do, which says nothing about the model
            return False
        except TimeoutError:
            return not merger.leave(query)  # the same, if it was not its turn yet
        except Exception:
            return True
        self.note_answer(name, has_failed=False)
        return False

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._look_every)
            await self.look()

    async def _look_at_keys(self) -> None:
        """Look after the keys in a task of its own: loading an explainer must not keep a revoked key valid."""
        while True:
            await asyncio.sleep(self._look_every)
            self._check_keys()

    async def look(self) -> None:
        """Load whatever has changed; requests go on with what was there until that is done, or if it fails."""
        self._check_keys()
        for name, source in self._sources.items():
            state = source.state
            if state != self._states[name] and None not in state:
                self._states[name] = state
                await self._load(name, source)

    def _check_keys(self) -> None:
        if self._keys_file is not None and self._keys_state != (now := _state(self._keys_file)):
            self._keys_state = now
            self._read_keys(self._keys_file)

    def _read_keys(self, path: str) -> None:
        """Accept the keys that a changed file has, and no others: a line that is gone, or is wrong, revokes its key."""
        try:
            self.keys, mistakes = Keys.parse(path)
        except OSError as error:
            self.keys, mistakes = Keys(), [str(error)]
        for mistake in mistakes:
            log.error("the file of keys: %s", mistake)
        log.warning("the file of keys has changed: %s keys are accepted", len(self.keys.entries))

    async def _load(self, name: str, source: Source) -> None:
        try:
            self.versions[name] = await asyncio.to_thread(_version_from, source)
        except Exception as error:
            log.error("%s: its changed file was not taken up: %s", name, error)
            self.measures.reloads.labels(name, "failed").inc()
        else:
            log.info("%s: its changed file was taken up", name)
            self.measures.reloads.labels(name, "done").inc()


def _version_from(source: Source) -> Version:
    wordings = _worded(source.wordings)  # before the work: what is wrong is said at once
    nice = source.load()
    for path, wording in wordings.values():
        try:
            wording.check(nice._fitted.schema.full.names, nice.classes_)
        except OptionError as error:
            raise OptionError(f"{path}: {error}") from None
    by_language = {language: wording for language, (_, wording) in wordings.items()}
    return version_of(nice, by_language, target=source.target, examples=source.examples)


def _worded(paths: Iterable[str]) -> dict[str, tuple[str, Wording]]:
    """The wordings in files, by their languages, the one in English first; OptionError if they cannot be told apart."""
    found: dict[str, tuple[str, Wording]] = {}
    for path in paths:
        wording = Wording.from_toml(path)
        language = str(wording.language)
        if language not in page.LANGUAGES:
            raise OptionError(
                f"{path} is for the language {language!r}, which the service does not speak; choose one of "
                f"{listed(page.LANGUAGES)}."
            )
        if language in found:
            raise OptionError(f"{found[language][0]} and {path} are for the same language, {language!r}; use one.")
        found[language] = path, wording
    return {one: found[one] for one in page.LANGUAGES if one in found}


def _state(path: str) -> tuple[int, ...] | None:
    with suppress(OSError):
        found = os.stat(Path(path))
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino
    return None
