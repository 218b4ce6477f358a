"""The kinds of rules, one file for each.

A new kind is a file here with its class, its line in ``KINDS``, its parameter of Constraints, and its phrases in every
language: ``rule.<name>``, and ``relaxation.<name>`` if what can be allowed instead is said in words of its own.
"""

from __future__ import annotations

from typing import Any

from nicecf.rules.kinds.allowed import Allowed
from nicecf.rules.kinds.derived import Derived
from nicecf.rules.kinds.forbid import Forbid
from nicecf.rules.kinds.groups import Groups
from nicecf.rules.kinds.immutable import Immutable, Protected
from nicecf.rules.kinds.kind import Kind
from nicecf.rules.kinds.max_changes import MaxChanges
from nicecf.rules.kinds.may_become_missing import MayBecomeMissing
from nicecf.rules.kinds.may_change import MayChange
from nicecf.rules.kinds.one_way import OneWay
from nicecf.rules.kinds.ranges import Ranges
from nicecf.rules.kinds.relations import Relations
from nicecf.rules.kinds.step import Step
from nicecf.rules.kinds.within import Within

# In the order in which they are read, named and relaxed.
KINDS: tuple[Kind[Any], ...] = (
    Immutable(),
    Protected(),
    OneWay("increasing"),
    OneWay("decreasing"),
    Ranges(),
    Allowed(),
    Forbid(),
    Step(),
    Within(),
    Groups(),
    Relations(),
    Derived(),
    MayChange(),
    MayBecomeMissing(),
    MaxChanges(),
)
