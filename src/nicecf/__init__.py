"""Counterfactual explanations for any classifier on tabular data."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nicecf import baselines as baselines
    from nicecf import metrics as metrics
    from nicecf import plots as plots
    from nicecf.exceptions import (
        DecisionWarning,
        ExperimentError,
        FileError,
        LongRunWarning,
        ModelError,
        NicecfError,
        NotFittedError,
        OptionError,
        RulesWarning,
        SampleWarning,
        SchemaError,
    )
    from nicecf.explain.replay import Replay, replay
    from nicecf.models.classifier import from_score
    from nicecf.nice import NICE
    from nicecf.results.counterfactual import Change, Counterfactual
    from nicecf.results.counterfactuals import Counterfactuals
    from nicecf.rules.constraints import Constraints
    from nicecf.rules.relaxations import Relaxation
    from nicecf.rules.suggestions.suggested_rules import SuggestedRules, suggest_rules
    from nicecf.views.summary import Summary
    from nicecf.views.words.check import TextCheck
    from nicecf.views.words.codes import ReasonCodes
    from nicecf.views.words.wording import Wording

__all__ = [
    "NICE",
    "Change",
    "Constraints",
    "Counterfactual",
    "Counterfactuals",
    "DecisionWarning",
    "ExperimentError",
    "FileError",
    "LongRunWarning",
    "ModelError",
    "NicecfError",
    "NotFittedError",
    "OptionError",
    "ReasonCodes",
    "Relaxation",
    "Replay",
    "RulesWarning",
    "SampleWarning",
    "SchemaError",
    "SuggestedRules",
    "Summary",
    "TextCheck",
    "Wording",
    "from_score",
    "replay",
    "suggest_rules",
]

# Imported when first asked for: `nicecf --help` need not wait for scikit-learn.
_HOMES = {
    "explain.replay": ["Replay", "replay"],
    "models.classifier": ["from_score"],
    "rules.constraints": ["Constraints"],
    "rules.relaxations": ["Relaxation"],
    "rules.suggestions.suggested_rules": ["SuggestedRules", "suggest_rules"],
    "results.counterfactual": ["Change", "Counterfactual"],
    "exceptions": [name for name in __all__ if name.endswith(("Error", "Warning"))],
    "nice": ["NICE"],
    "results.counterfactuals": ["Counterfactuals"],
    "views.summary": ["Summary"],
    "views.words.check": ["TextCheck"],
    "views.words.codes": ["ReasonCodes"],
    "views.words.wording": ["Wording"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("baselines", "metrics", "plots")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"nicecf.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'nicecf' has no attribute {name!r}")
    value = getattr(import_module(f"nicecf.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_MODULES])
