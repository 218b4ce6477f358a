"""What every algorithm promises: variants of NICE, and all baselines."""

import functools
from dataclasses import dataclass

import pytest

from markers import deep
from nicecf import NICE, Constraints, baselines, testing

RULES = Constraints(immutable=["city"], groups=[["home", "children"]], ranges={"age": (None, 75)}, max_changes=4)
POSSIBLE = Constraints(derived={"points": "round(age / 20 + income, 2)"}, relations=["age >= 18"], groups="auto")
METHODS = {
    "nice-none": functools.partial(NICE, optimize="none"),
    "nice-sparsity": functools.partial(NICE, optimize="sparsity", search="greedy"),
    "nice-proximity": functools.partial(NICE, optimize="proximity", search="greedy"),
    "nice-plausibility": functools.partial(NICE, optimize="plausibility", search="greedy"),
    "nice-std-unjustified": functools.partial(NICE, scale="std", justified=False),
    "nice-thorough": functools.partial(NICE, search="thorough", neighbors=10),
    "nice-thorough-plausibility": functools.partial(NICE, search="thorough", neighbors=10, optimize="plausibility"),
    "nice-thorough-balanced": functools.partial(NICE, search="thorough", optimize="balanced"),
    "nice-under-rules": functools.partial(NICE, search="greedy", constraints=RULES),
    "nice-thorough-under-rules": functools.partial(NICE, search="thorough", optimize="proximity", constraints=RULES),
    "nice-robust": functools.partial(NICE, robust_to=[testing.Scorecard()]),
    "nice-derived": functools.partial(NICE, constraints=POSSIBLE),
    "nice-greedy-derived": functools.partial(NICE, search="greedy", constraints=POSSIBLE),
    "nice-ordinal": functools.partial(NICE),
    "nice-greedy-ordinal": functools.partial(NICE, optimize="proximity", search="greedy"),
    "nice-predict-weights": functools.partial(NICE, decision="predict", feature_weights={"age": 3}),
}
# Every baseline is in the contract: as it is, or with options that take less time. DiCE has tests of its own.
QUICK = {
    baselines.CFproto: {"c_steps": 2, "max_iterations": 6},
    baselines.GeCo: {"population": 20, "samples": 2, "max_generations": 8},
    baselines.GrowingSpheres: {"n_samples": 80, "max_shells": 60},
}
METHODS |= {
    one.__name__: functools.partial(one, **QUICK.get(one, {})) for one in baselines.ALL if one is not baselines.DiCE
}
# With dates and durations among the columns: one of each kind of search, and all baselines.
LATER = Constraints(increasing=["customer_since"], step={"waited": "1 day"}, ranges={"waited": (None, "20 days")})
METHODS |= {
    "nice-dates": functools.partial(NICE, search="greedy", optimize="plausibility"),
    "nice-thorough-dates": functools.partial(NICE, optimize="balanced"),
    "nice-rules-dates": functools.partial(NICE, constraints=LATER),
    **{f"{one.__name__}-dates": METHODS[one.__name__] for one in baselines.ALL if one is not baselines.DiCE},
}
NUMBERS_ONLY = {one.__name__ for one in baselines.ALL if not one.takes_categories}


# Checks of what fit does, or that fit to another table; all others share an explainer, which explaining does not change.
OF_FIT = {
    testing.check_inputs_are_untouched,
    testing.check_rows_without_a_counterfactual_say_why,
    testing.check_the_same_input_gives_the_same_answer,
}
# Many calls: for one of each kind of search at once, for their variants in depth.
THREADS = testing.check_threads_may_share_one_explainer
OF_DATES = {
    testing.check_found_rows_are_in_the_target,
    testing.check_types_order_and_index_are_kept,
    testing.check_changes_are_the_differences,
    testing.check_inputs_are_untouched,
    testing.check_it_pickles,
}
VARIANTS = {"nice-none", "nice-proximity", "nice-std-unjustified", "nice-predict-weights", "nice-thorough",
            "nice-thorough-plausibility", "nice-thorough-under-rules"}  # fmt: skip


def with_points():
    X, y = testing.applicants()
    return X.assign(points=(X["age"] / 20 + X["income"]).round(2)), y


def with_order():
    """With an ordered category that has missing cells and a level that no row holds."""
    X, y = testing.applicants()
    return X.assign(home=X["home"].cat.set_categories(["rent", "never", "own"], ordered=True)), y


def data_of(method):
    if method.endswith("ordinal"):
        return with_order
    if method.endswith("derived"):
        return with_points
    if method.endswith("dates"):
        return testing.applicants_with_dates
    return testing.applicants_in_numbers if method in NUMBERS_ONLY else testing.applicants


@functools.cache
def fitted(method):
    return METHODS[method](testing.Scorecard()).fit(*data_of(method)())


@dataclass
class Once:
    """A method that was fitted before."""

    method: str

    def fit(self, X, y):
        assert X.equals(data_of(self.method)()[0])
        return fitted(self.method)


def maker(method, check):
    return METHODS[method] if check in OF_FIT else lambda model: Once(method)


CASES = [
    (method, check)
    for method in METHODS
    for check in testing.all_checks
    if check in OF_DATES or not method.endswith("dates")
]


def is_slow(method, check):
    """Checks of threads, and those of the baselines on tables of other kinds, which their common border tests too."""
    return (method in VARIANTS and check is THREADS) or (
        not method.startswith("nice") and method.endswith(("dates", "ordinal", "derived"))
    )


@pytest.mark.parametrize(
    ("method", "check"),
    [
        *(case for case in CASES if not is_slow(*case)),
        *deep(*(case for case in CASES if is_slow(*case))),
    ],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_contract(method, check):
    check(maker(method, check), data=data_of(method))


@pytest.mark.parametrize("check", testing.rule_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "method",
    [name for name in METHODS if name.startswith("nice") and not name.endswith(("derived", "dates", "ordinal"))],
)
def test_contract_of_rules(method, check):
    check(maker(method, check))


def test_every_check_is_in_a_list():
    checks = {check.__name__ for check in [*testing.all_checks, *testing.rule_checks]}
    assert {name for name in vars(testing) if name.startswith("check_")} == checks
