"""The columns that move, where others follow from them: what a file says of these, and what its rows must show.

The file has whole rows, for other tools too. What follows from what is stored besides: which columns move together, in
which combinations, and which number goes with which other. How a derived column is computed is among the options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nicecf.exceptions import OptionError
from nicecf.explain.saving.archive import Damaged
from nicecf.explain.saving.arrays import Members, Reader, npy
from nicecf.explain.saving.checks import check_rows, keys, sequence, whole, wholes
from nicecf.rules.computed import ByFunction, Partner
from nicecf.rules.constraints import Constraints
from nicecf.rules.kinds.derived import FunctionName, function_name
from nicecf.rules.kinds.groups import AUTO
from nicecf.rules.moving import computed_of, contradictions
from nicecf.support.types import Bools, Floats, Ints
from nicecf.tables.reduced import Combination, Computed, ReducedSchema
from nicecf.tables.schema import Schema, differs


def moving_to_members(schema: Schema) -> tuple[dict[str, Any] | None, Members]:
    """What moves together, and which number goes with which other; None if nothing follows from anything."""
    if not isinstance(schema, ReducedSchema):
        return None, {}
    said = {
        "groups": [one.members.tolist() for one in schema.combinations],
        "partners": [[*one.inputs, one.position] for one in schema.computed if isinstance(one, Partner)],
    }
    return said, {_name(at) + ".npy": npy(one.patterns) for at, one in enumerate(schema.combinations)}


def moving_from_members(
    said: Any, schema: Schema, rows: Floats, positions: Ints, constraints: Constraints | None, read: Reader
) -> tuple[Schema, Floats]:
    """The columns that move, and whole rows in them; ``positions`` are those of the rows in the training table.

    Damaged unless the rows show what the file says, but for functions: see `check_functions`.
    """
    rules = Constraints() if constraints is None else constraints
    if said is None:
        if rules.derived:
            raise Damaged("it has derived columns, but does not say which others move")
        return schema, rows
    keys(said, ("groups", "partners"), "the description of its columns that move")
    if not np.array_equal(np.sort(positions), np.arange(len(rows))):
        raise Damaged("it does not have all training rows, each of them once")
    check_rows(rows, schema, "its rows")
    order = np.argsort(positions)
    training = rows[order]
    groups, pairs = _groups(said, schema), _pairs(said, schema)
    if (groups or pairs) and AUTO not in rules.groups:
        raise Damaged("columns move together in it, but its option groups does not say so")
    derived = computed_of(rules.derived, schema, training)
    computed = (*(Partner.of(key, position, training) for key, position in pairs), *derived)
    _check_taken_once(groups, pairs, derived)
    reduced, in_order = ReducedSchema.without(schema, training, groups, computed)
    _check_combinations(reduced.combinations, read)
    _check_computed(reduced, training)
    moving = np.empty_like(in_order)
    moving[order] = in_order
    return reduced, moving


def named_functions(constraints: Constraints | None, schema: Schema) -> dict[int, Any]:
    """The derived columns of saved rules whose functions must be given again, by their positions."""
    derived = {} if constraints is None else constraints.derived
    return {schema.position(one, "derived"): one for one, how in derived.items() if isinstance(how, FunctionName)}


def with_functions(
    path: Any, constraints: Constraints | None, given: Mapping[Any, Callable[[Any], Any]] | None, schema: Schema
) -> Constraints | None:
    """Saved rules with the functions of derived columns, which are given again; OptionError unless it is just those."""
    if given is not None and not isinstance(given, Mapping):
        raise OptionError(f"derived must be a dict of functions, {{column: function}}, got {type(given).__name__}.")
    wanted, functions = named_functions(constraints, schema), {}
    for feature, function in (given or {}).items():
        j = schema.position(feature, "derived")
        if j not in wanted:
            raise OptionError(
                f"derived was passed for {feature!r}, but {path} was saved without a function for it: expressions are "
                "in the file. Leave it out, or fit again."
            )
        if not callable(function):
            raise OptionError(f"derived must have the function that {path} was saved with, got {function!r}.")
        functions[wanted.pop(j)] = function
    if constraints is None or not (wanted or functions):
        return constraints
    if wanted:
        feature = next(iter(wanted.values()))
        raise OptionError(
            f"{path} was saved with the function {function_name(constraints.derived[feature])!r} for the derived "
            f"column {feature!r}, which a file cannot hold. Pass it again: NICE.load(path, model=model, "
            f"derived={{{feature!r}: ...}})."
        )
    return replace(constraints, derived={**constraints.derived, **functions})


def check_functions(schema: Schema, rows: Floats, positions: Ints) -> None:
    """OptionError unless the functions that were given again compute what whole rows have."""
    for j, is_other in _contradicted(schema, rows, by_function=True):
        if is_other.any():
            raise OptionError(
                f"the function that derives {schema.full.names[j]!r} is not the one that the explainer was saved with: "
                f"it differs for {np.count_nonzero(is_other):,} of {len(rows):,} training rows, such as row "
                f"{positions[is_other].min()}. Pass the same function, or fit again."
            )


def _groups(said: Mapping[str, Any], schema: Schema) -> list[list[int]]:
    groups = [_places(one, schema, "a group of columns") for one in sequence(said["groups"], "groups")]
    if any(len(group) < 2 or group != sorted(group) for group in groups):
        raise Damaged("a group of its columns has fewer than two, or not in their order")
    return groups


def _pairs(said: Mapping[str, Any], schema: Schema) -> list[tuple[int, int]]:
    pairs = []
    for one in sequence(said["partners"], "partners"):
        key, position = _places(sequence(one, "a pair of columns", 2), schema, "a pair of columns")
        if schema.is_categorical[[key, position]].any():
            raise Damaged("a pair of its columns are not numbers")
        pairs.append((key, position))
    return pairs


def _places(given: Any, schema: Schema, what: str) -> list[int]:
    return [whole(one, what, most=len(schema.columns) - 1) for one in wholes(given, what)]


def _check_taken_once(groups: list[list[int]], pairs: list[tuple[int, int]], derived: Sequence[Computed]) -> None:
    """Damaged if a column is in two groups, or computed in two ways, or from one that is computed itself."""
    taken = [*(j for group in groups for j in group), *(j for _, j in pairs), *(one.position for one in derived)]
    if len(set(taken)) < len(taken) or {key for key, _ in pairs} & set(taken):
        raise Damaged("a column of it moves with others in two ways")


def _check_combinations(combinations: tuple[Combination, ...], read: Reader) -> None:
    """Damaged unless the combinations are, in their order, those that training rows hold."""
    for at, one in enumerate(combinations):
        patterns = read(_name(at), np.float64, [None, len(one.members)])
        if patterns.shape != one.patterns.shape or differs(patterns, one.patterns).any():
            raise Damaged("the combinations of columns that move together are not those of its rows")


def _check_computed(schema: Schema, training: Floats) -> None:
    """Damaged unless what is computed, but for functions, is what training rows have."""
    for j, is_other in _contradicted(schema, training, by_function=False):
        if is_other.any():
            n_other = np.count_nonzero(is_other)
            raise Damaged(f"column {schema.full.names[j]!r} does not follow from others in {n_other:,} of its rows")


def _contradicted(schema: Schema, rows: Floats, *, by_function: bool) -> Iterator[tuple[int, Bools]]:
    """Of columns that are computed by a function, or by anything else, where whole rows have another value."""
    if isinstance(schema, ReducedSchema):
        some = tuple(one for one in schema.computed if isinstance(one, ByFunction) == by_function)
        for j, is_other, _ in contradictions(replace(schema, computed=some), rows):
            yield j, is_other


def _name(at: int) -> str:
    return f"combinations_{at}"
