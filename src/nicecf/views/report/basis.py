"""What the answers rest on: what was asked, under which rules, and of which model and data; rules in words."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from nicecf.results.batch import Batch
from nicecf.rules.columns import positions_of
from nicecf.rules.constraints import Constraints
from nicecf.rules.expressions import Relation
from nicecf.rules.kinds import KINDS
from nicecf.rules.kinds.derived import Derived
from nicecf.rules.kinds.one_way import of_dates
from nicecf.rules.relaxations import nameable
from nicecf.support.phrases import Features, Probability, Statement, plain_classes
from nicecf.support.types import Json
from nicecf.views.documents.html import text
from nicecf.views.report.formatting import HtmlFormatter, facts, folded, section

# So many rows show whether all are under the same rules.
_ROWS_OF_RULES = 100
_SIGNS = {">=": "≥", "<=": "≤", "!=": "≠", "==": "="}
# What a package is called where it is installed, if not as where it is imported.
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}


def asked(batch: Batch, formatter: HtmlFormatter) -> str:
    """Return what was wanted, what decides, and the rules in words."""
    known, teller = batch.provenance.about(), formatter.teller
    rules = _rules(batch)
    statements = _statements(batch, rules[0] if rules else {}, known["options"], formatter)
    words = [formatter.formatter.clauses(one) for one in statements]
    lines = {teller.say("report.wanted"): _target(batch, known["call"].get("target_class"), formatter)}
    if known["options"].get("decision"):
        lines[teller.say("report.decision_rule")] = _cutoffs(batch, formatter) or known["options"]["decision"]
    title = "rules" if _are_alike(rules) else "rules_differ"
    items = "".join(f"<li>{text(one)}</li>" for one in words or [teller.say("report.no_rules")])
    return section(formatter.say("asked"), facts(lines), f"<h3>{formatter.say(title)}</h3>", f"<ul>{items}</ul>")


def _rules(batch: Batch) -> list[dict[str, Json]]:
    """Return the rules of the first rows."""
    return [batch.provenance.rules(int(row)) for row in batch.rows[:_ROWS_OF_RULES]]


def _are_alike(rules: list[dict[str, Json]]) -> bool:
    return all(one == rules[0] for one in rules)


def _statements(
    batch: Batch, rules: dict[str, Json], options: Mapping[str, Json], formatter: HtmlFormatter
) -> Iterator[Statement]:
    """Return the rules of a row as statements, without those that name what is protected."""
    constraints, schema = Constraints(**rules), batch.schema

    def is_date(feature: Hashable) -> bool:
        temporal = schema.columns[schema.position(feature, "constraints")].temporal
        return temporal is not None and temporal.kind != "duration"

    def names_protected(features: Iterable[Hashable], name: str) -> bool:
        return not formatter.protected.isdisjoint(positions_of(features, schema, name))

    immutable = [one for one in constraints.immutable if not names_protected([one], "immutable")]
    if immutable:
        yield Statement("report.rule_immutable", {"features": Features(tuple(immutable))})
    for kind in KINDS:
        if kind.name == "immutable":
            continue
        for about in kind.abouts(getattr(constraints, kind.name)):
            if names_protected(kind.features_of(about), kind.name):
                continue
            if isinstance(about, Relation):
                yield _relation(about, formatter)
            else:
                yield of_dates(kind.words(constraints, about), is_date)
    for feature, how in constraints.derived.items():
        if not names_protected([feature, *getattr(how, "columns", ())], "derived"):
            yield Derived().words(constraints, feature)
    if formatter.protected:
        yield Statement("rule.protected")
    if options.get("min_probability"):
        yield Statement("rule.min_probability", {"probability": Probability(options["min_probability"], is_exact=True)})
    if options.get("min_count", 1) > 1:
        yield Statement("rule.min_count", {"count": options["min_count"]})


def _relation(relation: Relation, formatter: HtmlFormatter) -> Statement:
    """Return a relation with the names and signs that people read."""
    columns = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(relation.columns, key=len, reverse=True))

    def readable(expression: object) -> str:
        # What is in quotes is a category, which may be called like a column.
        parts = re.split(r"('[^']*')", str(expression))
        parts[::2] = (re.sub(columns, lambda name: formatter.formatter.name(name[0]), part) for part in parts[::2])
        parts[::2] = (re.sub(">=|<=|!=|==", lambda sign: _SIGNS[sign[0]], part) for part in parts[::2])
        return "".join(parts)

    if relation.antecedent is None:
        return Statement("rule.relations", {"relation": readable(relation)})
    sides = {"if": readable(relation.antecedent), "then": readable(relation.consequent)}
    return Statement("report.rule_implies", sides)


def _target(batch: Batch, target: Json, formatter: HtmlFormatter) -> str:
    if batch.target is not None:
        return formatter.formatter.label(batch.classes[1])
    if isinstance(target, str) and target in ("other", "one for each row"):
        return formatter.teller.say("report.wanted_other" if target == "other" else "report.wanted_each")
    if isinstance(target, list):
        return formatter.wording.phrases["statement.or"].join(formatter.formatter.label(one) for one in target)
    return formatter.formatter.label(target)


def _cutoffs(batch: Batch, formatter: HtmlFormatter) -> str:
    """From which probabilities on classes are decided, in words; nothing where that is not how."""
    return formatter.formatter.clauses(
        *(
            Statement("line.cutoff", {"label": plain_classes([label]), "limit": Probability(cutoff, is_exact=True)})
            for label, cutoff in zip(batch.classes, batch.criterion.cutoffs, strict=True)
            if cutoff == cutoff  # NaN where a class has none
        )
    )


def about(batch: Batch, more: Mapping[str, str], formatter: HtmlFormatter) -> str:
    """Files, model, training data, versions and fingerprints; folded, all options and the rules as they are read."""
    known, teller = batch.provenance.about(), formatter.teller
    model = str(known["options"].get("model", ""))
    lines = {str(name): str(value) for name, value in more.items()}
    if model:
        lines[teller.say("report.about_model")] = model
    lines[teller.say("report.about_training")] = teller.say(
        "report.about_training_is",
        rows=teller.counted("summary.rows", batch.provenance.statistics.n_rows),
        features=teller.counted("report.about_features", len(batch.schema.columns)),
    )
    made_with = {**known["versions"], **_library_of(model, known["versions"])}
    lines[teller.say("report.about_versions")] = ", ".join(f"{name} {one}" for name, one in made_with.items())
    for name, value in known["fingerprints"].items():
        phrase = f"report.fingerprint_{name}"
        called = teller.say(phrase) if phrase in formatter.wording.phrases else name
        lines[teller.say("report.fingerprint", name=called)] = value
    call = {teller.say("report.call", name=name): value for name, value in known["call"].items()}
    options = {name: value for name, value in known["options"].items() if name != "constraints"}
    of_rows = _rules(batch)
    rules = next((nameable(Constraints(**one), batch.schema).to_dict() for one in of_rows), {})
    title = "rules_as_data" if _are_alike(of_rows) else "rules_differ"
    return section(
        formatter.say("about"),
        facts(lines),
        folded(
            formatter.say("options"), facts(formatter.disclosed({"explainer": known["explainer"], **options, **call}))
        ),
        folded(formatter.say(title), facts(formatter.disclosed(rules))) if rules else "",
    )


def _library_of(model: str, known: Mapping[str, str]) -> dict[str, str]:
    """Return the version of the library that a model is from, where that is known and not told already."""
    package = model.partition(".")[0]
    package = _DISTRIBUTIONS.get(package, package)
    try:
        return {} if not package or package in known else {package: version(package)}
    except PackageNotFoundError:
        return {}
