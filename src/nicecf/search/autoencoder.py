"""How far a row is from the training data: the reconstruction error of a small autoencoder.

As in the paper's experiments: one-hot categories, numbers scaled to [-1, 1], hidden layers d/2, d/4, 2 or 4, d/4,
d/2 with tanh, squared error summed over the inputs; Adam at the better of several learning rates, stopped early by a
fifth of the rows.

Ours: two learning rates by those rows (the authors: eight, by cross-validation), mini-batches of 32 rows where there
are few, a limit by updates instead of 100 epochs, and more patience: on most small tables the authors' settings end
before a PCA of the same size is reached. A missing number is the middle of the range and switches on an input of its
own; a missing category is one more category; a category unseen in training switches none on. Of a column with very many
categories the rarer ones share no input: they, too, switch none on.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

from nicecf.exceptions import ModelError, OptionError
from nicecf.models.scorer import RememberedRows
from nicecf.support.clock import Moment
from nicecf.support.progress import Choice, is_off, warn_ahead
from nicecf.support.types import Bools, Floats
from nicecf.tables.schema import Schema

# Of so many, the weights and what training needs besides take some gigabytes.
_MOST_INPUTS = 10_000
# Training looks at no more rows than this: the error hardly changes past it, the time does.
_MOST_ROWS = 50_000
# A column gets no more inputs than this: post codes would make a network that never finishes.
_MOST_LEVELS = 100
_ROWS_AT_ONCE = 1024
_LEARNING_RATES = (0.01, 0.003)
# Rows of a mini-batch, where there are fewer or more than so many to train on.
_SMALL_BATCH, _LARGE_BATCH, _FEW_ROWS = 32, 200, 10_000
_MOST_UPDATES, _MOST_EPOCHS, _TOLERANCE = 10_000, 500, 1e-5
# How long it goes on without getting better. A few epochs of a small table are too few steps to leave a plateau.
_PATIENT_EPOCHS, _PATIENT_UPDATES = 10, 500
# Fewer rows than this are all needed for training.
_LEAST_TO_VALIDATE, _VALIDATION_SHARE = 100, 0.2
# Products of a few rows with a layer of up to so many weights: so small that the library of linear algebra starts no
# second thread. Waiting for one takes several times as long as the product itself.
_ROWS_IN_BLOCK, _CELLS_IN_BLOCK = 32, 2**18
# Networks with fewer inputs are trained in seconds.
_WIDE = 200
_IF_LONG = "optimize='sparsity' and 'proximity' need none, and plausibility= takes a function of your own in its place."


@dataclass(frozen=True, eq=False)
class Inputs:
    """Float rows of the package -> inputs of the network."""

    is_categorical: Bools
    levels: tuple[Floats, ...]
    low: Floats
    high: Floats
    has_missing: Bools

    @classmethod
    def of(cls, training: Floats, is_categorical: Bools) -> Inputs:
        """Learn ranges, numbers of categories and which columns have missing values."""
        n_features = training.shape[1]
        low, high = np.zeros(n_features), np.ones(n_features)
        levels = [np.empty(0)] * n_features
        has_missing = np.zeros(n_features, dtype=bool)
        for j in range(n_features):
            column = training[:, j]
            if is_categorical[j]:
                counts = np.bincount(column[column >= 0].astype(np.intp))
                levels[j] = np.sort(np.argsort(-counts, kind="stable")[:_MOST_LEVELS]).astype(np.float64)
                has_missing[j] = bool((column < 0).any())
                continue
            present = column[~np.isnan(column)]
            has_missing[j] = len(present) < len(column)
            if len(present) and np.ptp(present) > 0:
                low[j], high[j] = present.min(), present.max()
            elif len(present):
                low[j], high[j] = present[0] - 1.0, present[0] + 1.0
        return cls(is_categorical, tuple(levels), low, high, has_missing)

    @property
    def width(self) -> int:
        """How many inputs there are."""
        return sum(len(one) if of else 1 for one, of in zip(self.levels, self.is_categorical, strict=True)) + int(
            self.has_missing.sum()
        )

    def __call__(self, rows: Floats) -> Floats:
        """The inputs, one line per row."""
        blocks = []
        for j, levels in enumerate(self.levels):
            column = rows[:, j]
            if self.is_categorical[j]:
                blocks.append((column[:, None] == levels[None, :]).astype(np.float64))
                missing = column < 0
            else:
                missing = np.isnan(column)
                scaled = 2.0 * (column - self.low[j]) / (self.high[j] - self.low[j]) - 1.0
                blocks.append(np.where(missing, 0.0, scaled)[:, None])
            if self.has_missing[j]:
                blocks.append(missing.astype(np.float64)[:, None])
        return np.concatenate(blocks, axis=1)


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """A trained network; calling it gives the reconstruction error of float rows."""

    inputs: Inputs
    weights: tuple[Floats, ...]
    biases: tuple[Floats, ...]

    @classmethod
    def train(
        cls,
        training: Floats,
        is_categorical: Bools,
        *,
        seed: int,
        inputs: Inputs | None = None,
        progress: Choice = False,
    ) -> Autoencoder:
        """Train on the rows (on a sample of them where there are very many).

        ``inputs``: those of another autoencoder, so that what the two make of a row can be compared. ``progress``: who
        wants to be warned if it may take more than a minute.
        """
        inputs = inputs or Inputs.of(training, is_categorical)
        if len(training) > _MOST_ROWS:
            sample = np.random.default_rng(seed).choice(len(training), size=_MOST_ROWS, replace=False)
            training = training[np.sort(sample)]
        if inputs.width > _MOST_INPUTS:
            raise OptionError(
                f"the autoencoder that optimize='plausibility' and 'balanced' need would have {inputs.width:,} inputs "
                f"here, and at most {_MOST_INPUTS:,} fit into memory: its weights grow with their square. Pass "
                "plausibility=, a function of your own, optimize='sparsity' or 'proximity', or fewer features."
            )
        table = inputs(training)
        # One thread: the matrices of a mini-batch are so small that waiting for a second one costs more than it
        # saves, and many times the whole training where another process keeps a core busy.
        with _interruptible(), threadpool_limits(1, user_api="blas"):
            warnings.simplefilter("ignore", ConvergenceWarning)  # a bounded effort is what is wanted
            if not is_off(progress) and len(table) > _SMALL_BATCH:
                seconds = _seconds_at_most(table, seed)
                warn_ahead(
                    progress, seconds, f"training the autoencoder, of {inputs.width:,} inputs,", if_long=_IF_LONG
                )
            networks = [_network(table, rate, seed) for rate in _LEARNING_RATES]
        best = max(networks, key=_quality)
        return cls(inputs, tuple(best.coefs_), tuple(best.intercepts_))

    def __call__(self, rows: Floats) -> Floats:
        """Squared reconstruction error of each row, summed over the inputs."""
        # A few rows at a time: what is in between stays in the processor's cache, which is three times as fast.
        parts = [self._errors(rows[at : at + _ROWS_AT_ONCE]) for at in range(0, len(rows), _ROWS_AT_ONCE)]
        return rounded_errors(np.concatenate([np.empty(0), *parts]))

    def _errors(self, rows: Floats) -> Floats:
        table = self.inputs(rows)
        return np.asarray(((self.reconstructed(table) - table) ** 2).sum(axis=1))

    def reconstructed(self, table: Floats) -> Floats:
        """What the network makes of its inputs."""
        n_rows, block = len(table), min(_ROWS_IN_BLOCK, _CELLS_IN_BLOCK // max(one.size for one in self.weights))
        if block < 8:  # of a large layer, one product is worth its threads
            block = max(1, n_rows)
        n_blocks = -(-n_rows // block)
        filled_up = np.zeros((n_blocks * block, table.shape[1]))
        filled_up[:n_rows] = table
        # Stacked: a product for each block, all in one call.
        signal: Floats = filled_up.reshape(n_blocks, block, table.shape[1])
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signal = np.tanh(signal @ weights + bias)
        return (signal @ self.weights[-1] + self.biases[-1]).reshape(n_blocks * block, table.shape[1])[:n_rows]


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise the KeyboardInterrupt that scikit-learn's networks turn into a warning, and restore the warning filters.

    Otherwise they end training early, and return a network with other weights as if nothing had happened.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message="Training interrupted by user")
            yield
    except UserWarning as warning:
        if isinstance(warning.__context__, KeyboardInterrupt):
            raise warning.__context__ from None  # the original one: the command line reads the signal from it
        raise


def _seconds_at_most(table: Floats, seed: int) -> float:
    """What training takes if nothing ends it early, by one update; 0 if the network is small."""
    if table.shape[1] < _WIDE:
        return 0.0
    network = _untrained(table, _LEARNING_RATES[0], seed).set_params(early_stopping=False)
    some = table[: network.batch_size]
    network.partial_fit(some, some)  # the first one also makes the weights
    start = Moment.now()
    network.partial_fit(some, some)
    return start.work_since() * len(_LEARNING_RATES) * network.max_iter * _updates(table, network.batch_size)


def _updates(table: Floats, batch: int) -> int:
    """How many updates there are in an epoch."""
    validates = len(table) >= _LEAST_TO_VALIDATE
    return math.ceil(len(table) * (1 - validates * _VALIDATION_SHARE) / batch)


def _network(table: Floats, learning_rate: float, seed: int) -> MLPRegressor:
    return _untrained(table, learning_rate, seed).fit(table, table[:, 0] if table.shape[1] == 1 else table)


def _untrained(table: Floats, learning_rate: float, seed: int) -> MLPRegressor:
    validates = len(table) >= _LEAST_TO_VALIDATE
    batch = min(_SMALL_BATCH if len(table) < _FEW_ROWS else _LARGE_BATCH, len(table))
    n_updates = _updates(table, batch)
    return MLPRegressor(
        hidden_layer_sizes=layers(table.shape[1]),
        activation="tanh",
        learning_rate_init=learning_rate,
        batch_size=batch,
        early_stopping=validates,
        validation_fraction=_VALIDATION_SHARE,
        tol=_TOLERANCE,
        n_iter_no_change=max(_PATIENT_EPOCHS, _PATIENT_UPDATES // n_updates),
        max_iter=max(1, min(_MOST_EPOCHS, _MOST_UPDATES // n_updates)),
        random_state=seed,
    )


def _quality(network: MLPRegressor) -> float:
    """By the rows kept for validation, or by the training rows where none were."""
    return float(network.best_validation_score_ if network.early_stopping else -network.loss_)


def rounded_errors(errors: Floats) -> Floats:
    """To some ten digits: the last ones depend on which rows are asked for together, and would break ties at random."""
    mantissa, exponent = np.frexp(errors)
    return np.ldexp(np.round(mantissa * 2.0**33) / 2.0**33, exponent)


def error_by(measure: Callable[[Any], Any], schema: Schema) -> Callable[[Floats], Floats]:
    """A function of the user's tables -> error, as a function of float rows, for one ``explain`` call.

    Each distinct row is asked for once; ModelError where the answer is not one finite number per row.
    """

    def measured(rows: Floats) -> Floats:
        try:
            errors = np.asarray(measure(schema.decode(rows)), dtype=np.float64)
        except Exception as error:
            raise ModelError(
                f"plausibility raised {type(error).__name__} when asked for {len(rows):,} rows: {error}"
            ) from error
        if errors.shape != (len(rows),) or not np.isfinite(errors).all():
            what = "NaN or infinity" if errors.shape == (len(rows),) else f"shape {errors.shape}"
            raise ModelError(f"plausibility returned {what}; expected one finite error per row, shape ({len(rows)},).")
        return errors[:, None]

    remembered = RememberedRows(width=1)
    return lambda rows: remembered(measured, rows)[:, 0]


def layers(width: int) -> tuple[int, ...]:
    """The hidden layers for a number of inputs.

    >>> layers(40)
    (20, 10, 4, 10, 20)
    >>> layers(13)
    (7, 4, 4, 4, 7)
    >>> layers(6)
    (3, 2, 2, 2, 3)
    """
    half, quarter = -(-width // 2), -(-width // 4)
    return (half, quarter, 2 if quarter < 4 else 4, quarter, half)
