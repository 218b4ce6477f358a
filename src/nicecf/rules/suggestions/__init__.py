"""Rules that a training table suggests, for a person to read and edit: one file for each kind of finding."""

from __future__ import annotations

from nicecf.rules.suggestions.auto_groups import AutoGroup, auto_groups, certain_findings
from nicecf.rules.suggestions.findings import suggestions_of
from nicecf.rules.suggestions.one_hot import one_hot_groups
from nicecf.rules.suggestions.suggested_rules import SuggestedRules, suggest_rules
from nicecf.rules.suggestions.suggestion import Suggestion
from nicecf.rules.suggestions.table_facts import TableFacts
from nicecf.rules.suggestions.toml_writer import to_toml

__all__ = [
    "AutoGroup",
    "SuggestedRules",
    "Suggestion",
    "TableFacts",
    "auto_groups",
    "certain_findings",
    "one_hot_groups",
    "suggest_rules",
    "suggestions_of",
    "to_toml",
]
