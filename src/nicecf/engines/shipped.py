"""An explainer that was fitted to a sketch, on its way to workers: pickled with its model, opened once a process."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass

from nicecf.engines.cargo import Dump, dump_or_raise
from nicecf.engines.opened import kept_open
from nicecf.nice import NICE


@dataclass(frozen=True, repr=False)
class Shipped:
    """An explainer as bytes; ``digest`` tells them apart."""

    content: bytes
    digest: str

    @classmethod
    def of(cls, nice: NICE, dump: Dump) -> Shipped:
        """Raises OptionError if it cannot be pickled."""
        content = dump_or_raise(nice, dump, "explainer")
        return cls(content, hashlib.sha256(content).hexdigest())

    def opened(self) -> NICE:
        """The explainer, ready to use."""
        return kept_open(self.digest, lambda: pickle.loads(self.content))
