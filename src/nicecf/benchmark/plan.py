"""What to run: datasets, models and methods, as a frozen value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from nicecf.benchmark import datasets
from nicecf.benchmark.methods import METHODS, check_installed
from nicecf.benchmark.models import MODELS, PROFILES
from nicecf.exceptions import OptionError, did_you_mean, listed
from nicecf.support.options import check_count, check_seconds, check_seed, choose

DEFAULT_METHODS = (
    "nice-none",
    "nice-spars",
    "nice-prox",
    "nice-plaus",
    "nice-thorough",
    "nice-thorough-spars",
    "nice-thorough-prox",
    "wit",
    "cbr",
    "sedc",
    "dice",
    "cfproto",
    "paper-geco",
    "geco",
)


@dataclass(frozen=True)
class Plan:
    """An experiment. What differs in `settings` is another one; datasets and methods may be added to one.

    ``rows``: test rows explained for each dataset and model. ``alone``: how many of them are explained once more, one
    by one, to measure what a single explanation takes. ``time_limit``: seconds for an explanation (a batch of n rows
    has n times as much); what is not found by then counts as not found. ``data``: the folder with the datasets;
    ``label``: the label column of datasets that are files. ``tuned``: the folder of another run whose parameters of
    the classifiers are taken, where it has them, in place of a search.
    """

    datasets: tuple[str, ...]
    models: tuple[str, ...] = tuple(MODELS)
    methods: tuple[str, ...] = DEFAULT_METHODS
    profile: str = "quick"
    rows: int = 200
    alone: int = 5
    seed: int = 0
    time_limit: float | None = None
    data: str | None = None
    label: str | None = None
    tuned: str | None = None

    def __post_init__(self) -> None:
        choose("profile", self.profile, tuple(PROFILES))
        _check_names("models", self.models, MODELS)
        _check_names("methods", self.methods, METHODS)
        if not self.datasets:
            raise OptionError("datasets names nothing to run on; leave it out for the 40 of the paper.")
        if len(set(self.names)) < len(self.names):
            raise OptionError(f"datasets names one twice, or two of one name: {listed(self.names, limit=40)}.")
        own = [one for one, name in zip(self.datasets, self.names, strict=True) if name in datasets.PAPER]
        if clash := [one for one in own if datasets.is_path(one)]:
            raise OptionError(
                f"{clash[0]!r} has the name of a dataset of the paper and would be taken for it. Rename the file."
            )
        if self.label is not None and not any(map(datasets.is_path, self.datasets)):
            raise OptionError(f"label={self.label!r} is for datasets that are files, and there is none.")
        check_count("rows", self.rows)
        check_count("alone", self.alone, least=0)
        check_seed(self.seed)
        check_seconds("time_limit", self.time_limit)
        check_installed(self.methods)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the datasets are called in the results."""
        return tuple(datasets.name_of(one, folder=self.data) for one in self.datasets)

    @property
    def settings(self) -> dict[str, Any]:
        """What all results of one store have in common."""
        shared = {key: asdict(self)[key] for key in ("profile", "rows", "alone", "seed", "time_limit")}
        return shared | {"models": sorted(self.models)}


def all_datasets() -> tuple[str, ...]:
    """The 40 of the paper."""
    return tuple(datasets.PAPER)


def _check_names(option: str, names: Sequence[str], known: Iterable[str]) -> None:
    known = tuple(known)
    for name in names:
        if name not in known:
            raise OptionError(
                f"{option} names {name!r}, which is not known; choose from {listed(known, limit=20)}."
                f"{did_you_mean(name, known)}"
            )
    if not names:
        raise OptionError(f"{option} names nothing; choose from {listed(known, limit=20)}.")
    if len(set(names)) < len(names):
        raise OptionError(f"{option} names one twice: {listed(names)}.")
