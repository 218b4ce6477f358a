"""The training data as dice-ml sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from nicecf.support.extras import require
from nicecf.support.types import Floats, Ints, Objects
from nicecf.tables.schema import Schema

_OUTCOME = "y"
# What a float holds for certain; of smaller parts than 1e-300 it holds none.
_DIGITS, _MOST_DECIMALS = 15, 300
# dice-ml draws whole numbers by numpy's randint, which may have 32 bits.
_LARGEST_DRAWN = 2**31 - 2


def dice_ml(submodule: str = "") -> Any:
    """The package, or a part of it; ImportError with what to install."""
    return require("dice_ml" + submodule, extra="dice", needed_by="nicecf.baselines.DiCE", package="dice-ml")


@dataclass(frozen=True, eq=False)
class Table:
    """The training rows as a frame of dice-ml's liking: numbers as floats, and codes of categories as text.

    Without ``as_text`` the codes are floats too, which is much faster; only methods that encode labels need text.
    """

    values: Floats
    # Numbers first: dice-ml looks up their decimals by position among all columns.
    numbers: Ints
    categories: Ints
    decimals: dict[str, int]
    as_text: bool

    @classmethod
    def of(cls, schema: Schema, values: Floats, *, as_text: bool) -> Table:
        """Encoded rows without missing numbers."""
        numbers, categories = np.flatnonzero(~schema.is_categorical), np.flatnonzero(schema.is_categorical)
        holds_halves = schema.rounded(np.full((1, values.shape[1]), 0.5))[0] == 0.5
        decimals = {_name(j): _decimals(values[:, j], holds_halves[j]) for j in numbers.tolist()}
        return cls(values, numbers, categories, decimals, as_text)

    def __getstate__(self) -> dict[str, Any]:
        # dice-ml's view is made again where it is needed: its class is made here, and cannot be pickled.
        return {name: value for name, value in self.__dict__.items() if name != "interface"}

    def frame(self, values: Floats) -> pd.DataFrame:
        """Float rows as dice-ml is shown them."""
        order = np.concatenate([self.numbers, self.categories])
        frame = pd.DataFrame(values[:, order], columns=[_name(j) for j in order])
        if not self.as_text:
            return frame
        return frame.assign(**{_name(j): _as_text(values[:, j]) for j in self.categories})

    def rows(self, frame: Any) -> Floats:
        """What dice-ml shows as float rows."""
        names = [_name(j) for j in range(self.values.shape[1])]
        if not self.as_text:
            return np.array(frame[names], dtype=np.float64)
        columns = [np.asarray(frame[name], dtype=object).astype(np.float64) for name in names]
        return np.column_stack(columns)

    def decoded(self, explainer: Any, codes: Any) -> pd.DataFrame:
        """Rows with categories as positions in dice-ml's encoders, as it is shown them: its ``label_decode``.

        The same frame, but dice-ml asks an encoder about every cell, which takes most of the time of its genetic
        method.
        """
        codes = np.atleast_2d(codes)
        columns = {}
        for at, name in enumerate(explainer.data_interface.feature_names):
            column = codes[:, at]
            encoder = explainer.labelencoder.get(name)
            columns[name] = column if encoder is None else encoder.classes_[column.astype(np.int32)]
        return pd.DataFrame(columns)

    @cached_property
    def interface(self) -> Any:
        """dice-ml's view of the training data."""
        public = dice_ml(".data_interfaces.public_data_interface")
        frame = self.frame(self.values)
        levels = {name: pd.CategoricalDtype(sorted(frame[name].unique())) for name in map(_name, self.categories)}
        dtypes = dict.fromkeys(self.decimals, np.float64) | levels
        lowest, highest = frame[list(self.decimals)].min().to_numpy(), frame[list(self.decimals)].max().to_numpy()
        is_constant, n_numbers = lowest == highest, len(self.numbers)

        class AllDigits(public.PublicData):  # type: ignore[misc, name-defined]  # dice-ml has no types
            def _set_feature_dtypes(self, data_df: Any, *_: Any) -> Any:
                # dice-ml's own makes numbers float32, and the category of a row the only one of its column.
                return data_df.astype(dtypes)

            @cached_property
            def _dummy_names(self) -> Any:
                return super().get_all_dummy_colnames()

            def get_all_dummy_colnames(self) -> Any:
                # dice-ml's own encodes the whole table for every row.
                return self._dummy_names

            def normalize_data(self, df: Any) -> Any:
                # The same sums; dice-ml's own looks through the whole table for the ends of every column.
                if isinstance(df, (pd.DataFrame, dict)):
                    return super().normalize_data(df)
                result = df.astype(np.float64)
                numbers = result[..., :n_numbers] - lowest
                result[..., :n_numbers] = np.where(
                    is_constant, 0.0, numbers / np.where(is_constant, 1.0, highest - lowest)
                )
                return result

        params = {
            # The outcomes are never read: the methods go by what the model says.
            "dataframe": frame.assign(**{_OUTCOME: 0}),
            "continuous_features": list(self.decimals),
            "outcome_name": _OUTCOME,
            "continuous_features_precision": self.decimals,
        }
        return AllDigits(params)

    def weights(self) -> dict[str, float]:
        """dice-ml's weights of the numbers: one over the deviation."""
        return dict(zip(self.decimals, (1 / self.deviations()).tolist(), strict=True))

    def deviations(self) -> Floats:
        """The median absolute deviation of each of the numbers, or 1 where that is 0."""
        columns = self.values[:, self.numbers]
        deviations = np.median(np.abs(columns - np.median(columns, axis=0)), axis=0)
        return np.where(deviations > 0, deviations, 1.0)


def _as_text(codes: Floats) -> Objects:
    return codes.astype(np.intp).astype(str).astype(object)


def _name(j: int) -> str:
    return f"f{j}"


def _decimals(column: Floats, holds_halves: bool) -> int:
    """How many decimals new values get: as many as the column has; none in a column of whole numbers."""
    largest = np.abs(column).max(initial=0.0)
    if not holds_halves and largest < _LARGEST_DRAWN:
        return 0
    before_the_point = int(np.floor(np.log10(largest))) + 1 if largest > 0 else 0
    most = min(max(_DIGITS - before_the_point, 1), _MOST_DECIMALS)
    enough = (n for n in range(1, most) if (np.round(column, n) == column).all())
    return next(enough, most)
