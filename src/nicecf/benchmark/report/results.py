"""The results of a run as a report takes them: frames with the right types, and which methods can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nicecf.benchmark.paper_datasets import PAPER
from nicecf.benchmark.report import findings
from nicecf.benchmark.report.findings import OBSERVATION, QUALITIES, Findings
from nicecf.benchmark.report.names import OURS, PAPER_GECO, PAPER_METHODS
from nicecf.benchmark.statistics import Missing
from nicecf.exceptions import OptionError

# A method that lacks more of the observations than this is not in the overall ranking: the others would lose too many.
_LEAST_SHARE = 0.9
# A column that an older version did not store is empty: nothing is known of it.
_NUMBERS = {
    "records": (*QUALITIES, "valid_for_other", "cut", "seconds", "seconds_alone"),
    "cells": ("fit_seconds", "seconds", "model_calls", "model_rows"),
    "models": ("auc", "fit_seconds"),
    "datasets": (
        "n_rows",
        "n_features",
        "n_categorical",
        "n_numerical",
        "share_of_class_1",
        "n_training",
        "n_test",
    ),
}


@dataclass(frozen=True, eq=False)
class RunFrames:
    """What a run left behind; the frames are those of `nicecf.benchmark.store.Store`.

    ``growth``, if it was measured: table, method, model, n_features, n_training, ms. ``autoencoders``, if they were
    measured: dataset, n_inputs, latent, r2, r2_pca.
    """

    records: pd.DataFrame
    cells: pd.DataFrame
    models: pd.DataFrame
    datasets: pd.DataFrame
    about: Mapping[str, Any]
    growth: pd.DataFrame | None = None
    autoencoders: pd.DataFrame | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods that were given the same observations, and what came out. ``extra``: the ones it was made for.

    ``by_found``: what comes out where the rank of what is not found is the number found plus one. ``by_code``: where
    the paper's GeCo, if it is among them, aims at class 1 as in the authors' code.
    """

    name: str
    findings: Findings
    by_found: Findings
    by_code: Findings | None = None
    extra: tuple[str, ...] = ()

    @property
    def methods(self) -> tuple[str, ...]:
        """All that are compared."""
        return self.findings.methods


@dataclass(frozen=True, eq=False)
class Results:
    """A run, ready to be reported: ``records`` with the columns "found" and "alone"; everything in a fixed order.

    ``splits``: the same experiment with other seeds, and so with other training and test rows; with fewer methods.
    """

    records: pd.DataFrame
    cells: pd.DataFrame
    models: pd.DataFrame
    datasets: pd.DataFrame
    about: Mapping[str, Any]
    growth: pd.DataFrame | None
    autoencoders: pd.DataFrame | None
    is_timed_alone: bool
    splits: tuple[Results, ...] = ()
    _kept: dict[tuple[tuple[str, ...], Missing], Findings] = field(default_factory=dict)

    @classmethod
    def of(cls, run: RunFrames, *, source: object = "this run", splits: Sequence[RunFrames] = ()) -> Results:
        """OptionError where nothing was done, or where two of the splits are the same."""
        if not len(run.records):
            raise OptionError(
                f"nothing to report: no cell is done in {source}. Let `nicecf benchmark run` finish at least one first."
            )
        records = _typed(run.records, "records")
        is_timed_alone = bool(records["seconds_alone"].notna().any())
        alone = records["seconds_alone"] if is_timed_alone else records["seconds"]
        return cls(
            records.assign(found=1.0, alone=alone),
            _typed(run.cells, "cells"),
            _typed(run.models, "models"),
            _typed(run.datasets, "datasets"),
            run.about,
            run.growth,
            run.autoencoders,
            is_timed_alone,
            _different([cls.of(one, source="another split") for one in splits], run.about.get("seed")),
        )

    @property
    def all_splits(self) -> tuple[Results, ...]:
        """The main split, then the others."""
        return (self, *self.splits)

    @property
    def seed(self) -> str:
        """The name of this split."""
        return f"seed {self.about.get('seed', 'unknown')}"

    @cached_property
    def method_names(self) -> tuple[str, ...]:
        """Methods with results, the paper's first, in its order."""
        return in_order(self.records["method"].unique())

    @cached_property
    def model_names(self) -> tuple[str, ...]:
        """Classifiers with results, the ANN first, as in the paper."""
        return tuple(sorted(self.records["model"].unique(), key=lambda name: (name != "ann", name != "rf", name)))

    @cached_property
    def dataset_names(self) -> tuple[str, ...]:
        """Datasets with results, in the order of the paper's table, which is that of the alphabet."""
        return tuple(sorted(self.records["dataset"].unique(), key=lambda name: (printed_name(name).casefold(), name)))

    @cached_property
    def everywhere(self) -> tuple[str, ...]:
        """The methods that were given (nearly) all observations: those that an overall ranking compares."""
        sizes = self.records.groupby("method").size()
        return tuple(method for method in self.method_names if sizes[method] >= _LEAST_SHARE * sizes.max())

    @property
    def partly(self) -> tuple[str, ...]:
        """The methods that were run, but not everywhere."""
        return tuple(method for method in self.method_names if method not in self.everywhere)

    @cached_property
    def of_paper(self) -> Comparison:
        """The paper's methods among those run everywhere: what stands beside its figures."""
        return self._comparison("paper", [method for method in self.everywhere if method in PAPER_METHODS])

    @cached_property
    def of_all(self) -> Comparison:
        """All methods that were run everywhere."""
        return self._comparison("all", self.everywhere)

    @cached_property
    def of_some(self) -> tuple[Comparison, ...]:
        """For the methods that were run on a part only: they and all others, on that part."""
        found = []
        for group in self._groups():
            name = "with_" + "_".join(method.replace("-", "_") for method in group)
            found.append(self._comparison(name, in_order([*self.everywhere, *group]), group))
        return tuple(found)

    @cached_property
    def of_more_of_paper(self) -> Comparison | None:
        """The part of the run with the most of the paper's methods, where that is more than everywhere."""
        groups = [[method for method in one.extra if method in PAPER_METHODS] for one in self.of_some]
        if not any(groups):
            return None
        most = max(groups, key=len)
        return self._comparison("more_of_paper", in_order([*self.of_paper.methods, *most]), tuple(most))

    def in_all_splits(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Those of the methods that were run everywhere in each of the splits; none where there are no other splits."""
        if not self.splits:
            return ()
        return tuple(one for one in methods if all(one in split.everywhere for split in self.splits))

    def compare(self, methods: Sequence[str], missing: Missing = "last place") -> Findings:
        """The findings for these methods, worked out once."""
        key = tuple(methods)
        if (key, missing) not in self._kept:
            self._kept[key, missing] = self._compared(self.records, key, missing)
        return self._kept[key, missing]

    def _compared(self, records: pd.DataFrame, methods: tuple[str, ...], missing: Missing = "last place") -> Findings:
        limit = self.about.get("time_limit")
        return findings.compare(records, methods, self.model_names, time_limit=limit, missing=missing)

    def _comparison(self, name: str, methods: Sequence[str], extra: tuple[str, ...] = ()) -> Comparison:
        has_geco = name == "paper" and PAPER_GECO in methods
        by_code = self._compared(_aimed_at_class_1(self.records), tuple(methods)) if has_geco else None
        return Comparison(name, self.compare(methods), self.compare(methods, "found plus one"), by_code, extra)

    def _groups(self) -> list[tuple[str, ...]]:
        """Methods that were not run everywhere; those that were given much the same share a group."""
        given = {
            method: set(map(tuple, those[OBSERVATION].to_numpy().tolist()))
            for method, those in self.records.groupby("method")
            if method in self.partly
        }
        groups: list[list[str]] = []
        for method in in_order(given):
            for group in groups:
                first, its = given[group[0]], given[method]
                if len(first & its) >= _LEAST_SHARE * len(first | its):
                    group.append(method)
                    break
            else:
                groups.append([method])
        return [tuple(group) for group in groups]


def in_order(methods: Iterable[str]) -> tuple[str, ...]:
    """The paper's methods as it orders them, then ours, then others by name."""
    known = PAPER_METHODS + OURS
    return tuple(sorted(methods, key=lambda name: (known.index(name) if name in known else len(known), name)))


def printed_name(dataset: str) -> str:
    """What the paper calls a dataset; one that it does not know, as it is.

    >>> printed_name("Hill_Valley_without_noise"), printed_name("mine")
    ('Hill_Valley', 'mine')
    """
    return PAPER[dataset].printed if dataset in PAPER else dataset


def model_name(model: str) -> str:
    """A classifier as the paper writes it.

    >>> model_name("ann"), model_name("my model")
    ('ANN', 'my model')
    """
    return {"ann": "ANN", "rf": "RF"}.get(model, model)


def _aimed_at_class_1(records: pd.DataFrame) -> pd.DataFrame:
    """The records as they would be if the paper's GeCo aimed at class 1 only: rows that have it are not found."""
    is_lost = (records["method"] == PAPER_GECO) & (records["predicted"] == 1)
    empty = {column: records[column].mask(is_lost) for column in (*QUALITIES, "valid_for_other")}
    return records.assign(status=records["status"].mask(is_lost, "not found"), **empty)


def _different(splits: Sequence[Results], seed: object) -> tuple[Results, ...]:
    """The splits, if no two of them, nor one of them and the main run, are the same."""
    seeds = [seed, *(one.about.get("seed") for one in splits)]
    if twice := [one for place, one in enumerate(seeds) if one in seeds[:place]]:
        raise OptionError(
            f"two of the runs have the seed {twice[0]}: they are of the same split, and say nothing about chance. Pass "
            "runs with different seeds."
        )
    return tuple(splits)


def _typed(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame with floats for numbers: a column that is empty throughout comes out of a store without a type."""

    def floats(column: str) -> pd.Series | float:
        return pd.to_numeric(frame[column]).astype(float) if column in frame else np.nan

    return frame.assign(**{column: floats(column) for column in _NUMBERS[name]})
