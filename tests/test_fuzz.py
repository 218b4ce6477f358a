"""The random campaign can fail: every check reports a result that is wrong in its way, and a run goes on where it was."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from fuzz import mutations, relations, resumed
from fuzz.__main__ import main
from fuzz.cases import Outcome, _order, made, run_case
from fuzz.checks import OF_ANSWERS, Answer, Facts, nothing_is_written_to, snapshot
from fuzz.misuse import _refused
from fuzz.models import CellEstimator, CellModel, Changing, LinearCells, Model
from fuzz.options import Settings
from fuzz.oracle import Panel, Rules, by_cutoffs, wanted_classes
from fuzz.relations import RELATIONS, Explained
from fuzz.report import Progress, reproducer, table
from fuzz.tables import PANDAS, Column, Reader, Tables
from fuzz.workers import Worker, finished
from sklearn.ensemble import GradientBoostingClassifier

from nicecf import NICE, Constraints, NicecfError, replay
from nicecf.search.proofs import Proof

NAMES = ("age", "income", "home")
FAMILIES = [PANDAS["int64"], PANDAS["float64"], PANDAS["object text"]]


def solved(rules=None, **options):
    """A small case that the library solves: what is known of it, the explainer, its result and the answer."""
    random = np.random.default_rng(0)
    train, rows = (
        pd.DataFrame(
            {
                "age": random.integers(20, 60, count),
                "income": random.normal(size=count),
                "home": pd.Series(random.choice(["own", "rent", "other"], count).tolist(), dtype=object),
            }
        )
        for count in (40, 12)
    )
    reader = Reader(NAMES, (False, False, True))
    columns = [
        Column(name, family, family, train[name].tolist(), [], 0.0)
        for name, family in zip(NAMES, FAMILIES, strict=True)
    ]
    tables = Tables("pandas", columns, train, rows, reader, "auto")
    of_cells = Changing(LinearCells(2, 3, reader.is_category, np.array([40.0, 0, 0]), np.array([12.0, 1, 1])))
    function = CellModel(reader, of_cells)
    model = Model("linear", CellEstimator(function, ["no", "yes"]), function, ["no", "yes"], True, True, of_cells)
    options = {"optimize": "sparsity", "search": "greedy"} | options
    settings = Settings("NICE", options, {}, Panel([model], model.classes), rules)
    labels = [model.classes[at] for at in function(train).argmax(axis=1)]
    facts = Facts.of(tables, model, settings, labels)
    explainer = made(settings).fit(train, labels)
    cfs = explainer.explain(rows)
    assert cfs.found.all()
    return facts, explainer, cfs, Answer.of(cfs, "pandas")


def first_cell(answer, name, value):
    """The answer with another value in the first row of its tables."""
    table = answer.table.copy()
    table[name] = table[name].astype(object)
    table.iloc[0, list(table.columns).index(name)] = value
    table = table.infer_objects()
    return replace(answer, table=table, whole=table)


def with_options(facts, **options):
    settings = replace(facts.settings, options=facts.settings.options | options)
    return Facts.of(facts.tables, facts.model, settings, facts.labels)


def none_found(answer):
    nobody = np.zeros(len(answer.found), dtype=bool)
    return replace(answer, found=nobody, table=answer.table[:0], reasons=["nothing helps"] * len(nobody))


# For each check, an answer (or a case) that is wrong in its way.
WRONG = {
    "every_row_has_its_place": lambda facts, answer: (
        facts,
        replace(answer, whole=answer.whole.set_axis(range(5, 17))),
    ),
    "the_model_decides_for_the_target": lambda facts, answer: (
        facts,
        replace(answer, table=facts.tables.rows.copy()),
    ),
    "a_row_alone_is_decided_alike": lambda facts, answer: (facts, replace(answer, table=facts.tables.rows.copy())),
    "found_rows_are_the_same_in_the_whole_table": lambda facts, answer: (
        facts,
        replace(answer, whole=answer.whole.assign(age=1)),
    ),
    "cells_are_the_rows_own_or_the_donors": lambda facts, answer: (facts, first_cell(answer, "income", 123.25)),
    "told_donors_hold_the_new_values": lambda facts, answer: (
        facts,
        replace(answer, changes=answer.changes.assign(donor=(answer.changes["donor"] + 1) % 40)),
    ),
    "unchanged_objects_are_the_rows_own": lambda facts, answer: (
        replace(facts, tables=replace(facts.tables, rows=facts.tables.rows.astype({"income": object}))),
        replace(
            answer,
            table=answer.table.assign(income=pd.Series(list(map(np.float64, answer.table["income"])), dtype=object)),
        ),
    ),
    "dtypes_are_the_rows_own": lambda facts, answer: (
        facts,
        replace(answer, table=answer.table.astype({"age": float})),
    ),
    "changes_say_what_differs": lambda facts, answer: (facts, replace(answer, changes=answer.changes.iloc[:-1])),
    "rules_are_kept": lambda facts, answer: (
        replace(facts, settings=replace(facts.settings, own_rules=Rules(immutable=[0, 1, 2]))),
        answer,
    ),
    "guards_are_kept": lambda facts, answer: (with_options(facts, min_count=41), answer),
    "reasons_are_given": lambda facts, answer: (facts, replace(none_found(answer), reasons=[None] * 12)),
    "whoever_can_be_helped_is_helped": lambda facts, answer: (facts, none_found(answer)),
    "contradicting_rules_are_noted": lambda facts, answer: (
        facts,
        replace(answer, note_kinds=[("contradiction",)] * 12),
    ),
    "unseen_values_are_noted": lambda facts, answer: (facts, replace(answer, note_kinds=[("unseen",)] * 12)),
    "what_predict_denies_is_noted": lambda facts, answer: (facts, replace(answer, note_kinds=[("own_predict",)] * 12)),
}


@pytest.fixture(scope="module")
def right():
    return solved()


@pytest.mark.parametrize("name", OF_ANSWERS)
def test_a_right_answer_passes_and_a_wrong_one_is_reported(name, right):
    facts, _, _, answer = right
    assert OF_ANSWERS[name](facts, answer) == []
    assert OF_ANSWERS[name](*WRONG[name](facts, answer))


def test_an_answer_that_predict_denies_without_a_note_is_reported(right):
    facts, _, _, answer = right
    check = OF_ANSWERS["what_predict_denies_is_noted"]
    as_it_is = replace(facts, model=replace(facts.model, predict=facts.model.given.predict))
    assert check(as_it_is, answer) == []
    assert check(as_it_is, replace(answer, note_kinds=[("own_predict",)] * 12))
    denied = replace(facts, model=replace(facts.model, predict=lambda X: ["no"] * len(X)))
    assert "predict says 'no', noted: False" in check(denied, answer)[0]
    assert check(denied, replace(answer, note_kinds=[("own_predict",)] * 12)) == []


def test_columns_in_another_order_that_are_accepted_are_reported(monkeypatch):
    def violations():
        outcome = Outcome(26)
        _order(np.random.default_rng([1, 26]), outcome)
        return [problem for _, problem in outcome.violations]

    assert violations() == []
    with monkeypatch.context() as patched:
        patched.setattr("nicecf.explain.training.check_agreement", lambda *_: None)
        assert violations() == ["model: the wrong order was accepted", "robust_to: the wrong order was accepted"]


def test_a_training_row_handed_out_under_the_guard_is_reported(right):
    facts, _, _, answer = right
    facts = with_options(facts, share_donor=False)
    donor = facts.tables.train.iloc[[0] * len(answer.rows)].set_axis(answer.table.index)
    assert "training row" in OF_ANSWERS["guards_are_kept"](facts, replace(answer, table=donor))[0]


@pytest.mark.parametrize(
    "rules",
    [
        Rules(immutable=[0, 1, 2]),
        Rules(protected=[0, 1, 2]),
        Rules(increasing={0: None, 1: None}, max_changes=1, allowed={2: ["no such home"]}),
        Rules(ranges={0: (100, None), 1: (100.0, None)}, allowed={2: ["no such home"]}),
        Rules(step={0: 1000.0, 1: 1000.0}, allowed={2: ["no such home"]}),
        Rules(
            forbid={2: [(a, b) for a in ("own", "rent", "other") for b in ("own", "rent", "other")]}, immutable=[0, 1]
        ),
        Rules(increasing={2: ["own"]}, immutable=[0, 1]),
    ],
    ids=lambda rules: "-".join(rules.kinds),
)
def test_every_kind_of_rule_can_be_broken(rules, right):
    facts, _, _, answer = right
    facts = replace(facts, settings=replace(facts.settings, own_rules=rules))
    assert OF_ANSWERS["rules_are_kept"](facts, answer)


def test_a_group_of_no_training_row_is_reported(right):
    facts, _, _, answer = right
    facts = replace(facts, settings=replace(facts.settings, own_rules=Rules(groups=[[0, 1, 2]])))
    assert "group" in OF_ANSWERS["rules_are_kept"](facts, first_cell(answer, "income", 0.125))[0]


class Another:
    """An explainer that gives other answers when it is asked again."""

    def __init__(self, facts, **options):
        settings = replace(facts.settings, options=facts.settings.options | options)
        self.real = made(settings).fit(facts.tables.train, facts.labels)
        self.save = self.real.save

    def explain(self, X, **call):
        return self.real.explain(X, **call)


class Lying:
    """A result that says something else about itself."""

    def __init__(self, cfs, **lies):
        self.cfs, self.lies = cfs, lies

    def __getattr__(self, name):
        return (lambda *_: self.lies[name]) if name in self.lies else getattr(self.cfs, name)

    def __getitem__(self, rows):
        return Lying(self.cfs[rows], **self.lies)

    def __len__(self):
        return len(self.cfs)


def explained(facts, explainer, cfs, answer):
    return Explained(explainer, cfs, facts, answer, np.random.default_rng(0))


WRONG_AGAIN = {
    "the_walk_is_the_papers": lambda facts, nice, cfs, answer: (
        nice,
        cfs,
        Answer.of(Another(facts, optimize="none").explain(facts.tables.rows), "pandas"),
    ),
    "distances_are_measured_right": lambda facts, nice, cfs, answer: (
        nice,
        Lying(cfs, metrics=cfs.metrics().assign(proximity=7.0)),
        answer,
    ),
    "a_batch_gives_what_its_rows_give": lambda facts, nice, cfs, answer: (Another(facts, optimize="none"), cfs, answer),
    "a_second_call_gives_the_same": lambda facts, nice, cfs, answer: (Another(facts, optimize="none"), cfs, answer),
    "the_order_of_columns_makes_no_difference": lambda facts, nice, cfs, answer: (
        Another(facts, optimize="none"),
        cfs,
        answer,
    ),
    "a_saved_explainer_gives_the_same": lambda facts, nice, cfs, answer: (Another(facts, optimize="none"), cfs, answer),
    "records_are_made_again": lambda facts, nice, cfs, answer: (Another(facts, optimize="none").real, cfs, answer),
    "words_and_tables_are_made": lambda facts, nice, cfs, answer: (nice, Lying(cfs, texts=[]), answer),
}


@pytest.mark.parametrize("name", WRONG_AGAIN)
def test_an_explainer_that_answers_otherwise_when_asked_again_is_reported(name, right):
    relation, _ = RELATIONS[name]
    assert relation(explained(*right)) == []
    assert relation(explained(right[0], *WRONG_AGAIN[name](*right)))


def test_a_proof_that_does_not_hold_is_reported():
    pytest.importorskip("ortools", reason="proofs need the extra 'exact'")
    facts, *_ = solved(search="thorough", optimize="proximity")
    train, rows = facts.tables.train[["age", "income"]], facts.tables.rows[["age", "income"]]
    facts = replace(facts, tables=replace(facts.tables, rows=rows))
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(train, train["age"] > 40)
    nice = NICE(model, optimize="proximity").fit(train, train["age"] > 40)
    check, cfs = RELATIONS["what_is_proven_holds"][0], nice.explain(rows)
    assert check(explained(facts, nice, cfs, Answer.of(cfs, "pandas"))) == []
    worse = nice.with_search(search="greedy", optimize="none").explain(rows)
    sure = np.full(len(rows), Proof("optimal", "distance", 1.0, 1.0, "leaves"), dtype=object)
    worse = replace(worse, batch=replace(worse.batch, proofs=sure))
    assert "row 0: optimal with a gap of 0" in check(explained(facts, nice, worse, Answer.of(worse, "pandas")))[0]
    exact = nice.with_search(search="exact").explain(rows)
    none = np.full(len(rows), Proof("infeasible", "distance"), dtype=object)
    lying = replace(exact, batch=replace(exact.batch, proofs=none))
    other = SimpleNamespace(with_search=lambda **_: SimpleNamespace(explain=lambda X, **_: lying))
    assert "proven to have none" in check(explained(facts, other, cfs, Answer.of(cfs, "pandas")))[0]


def test_a_thorough_search_that_is_worse_than_the_greedy_one_is_reported():
    facts, nice, cfs, answer = solved(search="thorough")
    check, _ = RELATIONS["thorough_is_no_worse_than_greedy"]
    others = {check.__name__, "what_is_proven_holds", "nothing_protected_is_named"}
    assert {*WRONG_AGAIN, *others} == set(RELATIONS)
    assert check(explained(facts, nice, cfs, answer)) == []
    worse = Another(facts, search="greedy", optimize="none").explain(facts.tables.rows)
    assert check(explained(facts, nice, worse, Answer.of(worse, "pandas")))
    nothing = replace(cfs, batch=replace(cfs.batch, found=np.zeros(len(cfs), dtype=bool)))
    assert "thorough does not" in check(explained(facts, nice, nothing, answer))[0]


def test_a_protected_feature_that_is_named_or_relaxed_is_reported(right):
    facts, nice, cfs, answer = right
    check = RELATIONS["nothing_protected_is_named"][0]
    assert check(explained(facts, nice, cfs, answer)) == []
    own = replace(facts, settings=replace(facts.settings, own_rules=Rules(protected=[0, 1, 2])))
    named = check(explained(own, nice, cfs, answer))
    assert any("is protected: If QQ" in said for said in named)
    none = nice.explain(facts.tables.rows, constraints=Constraints(immutable=list(NAMES)))
    relaxed = check(explained(own, nice, none, Answer.of(none, "pandas")))
    assert any(said.startswith("relaxed: (), though") for said in relaxed)


def test_what_is_written_to_is_reported():
    X = pd.DataFrame({"a": [1, True, None]}, dtype=object)
    before = snapshot(X, [1], {"a": np.zeros(2)})
    assert nothing_is_written_to(before, snapshot(X, [1], {"a": np.zeros(2)})) == []
    X.iloc[1, 0] = 1  # equal to True, and yet another value
    assert nothing_is_written_to(before, snapshot(X, [1], {"a": np.zeros(2)}))


def raises(error):
    raise error


def test_misuse_must_be_refused_by_an_error_of_nicecf():
    assert _refused(lambda: raises(NicecfError("what is wrong"))) == []
    assert _refused(lambda: raises(KeyError("a"))) == ["raised KeyError: 'a'"]
    assert _refused(lambda: None) == ["was accepted"]


def test_the_seals_of_mutants_are_those_of_the_library(right, tmp_path):
    facts, nice, cfs, _ = right
    path = tmp_path / "one.nice"
    nice.save(path)
    assert mutations.sealed(path.read_bytes()) == path.read_bytes()
    path.write_bytes(mutations.zipped(mutations.unzipped(path.read_bytes())))
    assert NICE.load(path, model=facts.model.given).explain(facts.tables.rows).found.all()
    record = cfs[0].to_record()
    assert mutations.digest_of(record) == record["digest"]
    assert replay(record, nice).is_same


def test_a_mutant_that_raises_or_is_taken_for_the_record_is_reported(right, monkeypatch):
    _, nice, cfs, _ = right
    record = cfs[0].to_record()
    random = np.random.default_rng(0)
    assert not any(mutations.of_record(random, record, nice))
    same = replay(record, nice)
    monkeypatch.setattr("nicecf.replay", lambda mutant, nice: same)
    assert mutations._replayed(record, {**record, "found": False}, nice, "found")
    monkeypatch.setattr("nicecf.replay", lambda mutant, nice: raises(RecursionError()))
    assert "RecursionError" in mutations._replayed(record, record, nice, "nothing")[0]


def test_a_mutated_file_that_gives_wrong_answers_is_reported(right, tmp_path, monkeypatch):
    facts, nice, _, _ = right
    path = tmp_path / "one.nice"
    nice.save(path)
    assert mutations._loaded(facts, path, "nothing") == []

    class Unmoved(Lying):
        decision = min_probability = None

        def explain(self, rows):
            cfs = self.cfs.explain(rows)
            return Lying(cfs, to_frame=rows)

    monkeypatch.setattr(NICE, "load", lambda path, **functions: Unmoved(nice))
    assert "decided on as its row is" in mutations._loaded(facts, path, "nothing")[0]
    monkeypatch.setattr(NICE, "load", lambda path, **functions: raises(IndexError("x")))
    assert "IndexError" in mutations._loaded(facts, path, "nothing")[0]


def test_decisions_are_worked_out_as_the_documentation_says():
    assert by_cutoffs(np.array([0.3, 0.3, 0.4]), {0: 0.2, 1: 0.25}) == 0  # furthest past its cut-off
    assert by_cutoffs(np.array([0.1, 0.2, 0.7]), {0: 0.2, 1: 0.25}) == 2
    assert wanted_classes("other", np.array([1]), ["a", "b", "c"]).tolist() == [[True, False, True]]
    assert wanted_classes(["c", "a"], np.array([1]), ["a", "b", "c"]).tolist() == [[True, False, True]]
    assert wanted_classes(np.array(["c"]), np.array([1]), ["a", "b", "c"]).tolist() == [[False, False, True]]


def test_a_case_is_determined_by_its_seed_and_number():
    for number in range(3):
        one, again = run_case(7, number), run_case(7, number)
        assert one.checked
        assert (one.words, one.violations, one.n_found) == (again.words, again.violations, again.n_found)
        assert "the campaign itself" not in one.checked


def test_a_violation_is_told_with_a_reproducer():
    outcome = run_case(7, 0)
    outcome.note("rules_are_kept", ["row 3: feature 1 may not change"])
    progress = Progress(seed=7)
    told = reproducer(7, progress.add(outcome)[-1])
    assert "python -m fuzz --seed 7 --case 0" in told
    assert "rules are kept" in told
    assert "row 3" in told
    assert "rules are kept" in table(progress)


def test_a_worker_that_dies_is_told_by_its_case():
    worker = Worker(0)
    try:
        worker.begin(11)
        worker._process.kill()
        [outcome] = finished([worker], 30)
        assert outcome.number == 11
        assert "the worker died" in outcome.violations[0][1]
    finally:
        worker.end()


@pytest.mark.deep
def test_a_run_goes_on_where_it_was(tmp_path, capsys):
    state = tmp_path / "state.json"
    Progress(seed=2, next_case=5, pending=[3], n_cases=4, n_explained=10).write(state)
    code = main(["--seed", "2", "--state", str(state), "--rows", "11", "--jobs", "1"])
    held = json.loads(state.read_text())
    assert code == bool(held["wrong"])
    assert held["n_cases"] > 4
    assert held["next_case"] == 5 + held["n_cases"] - 5  # the one that was begun comes first
    assert held["pending"] == []
    assert f"cases {held['n_cases']:,}" in capsys.readouterr().out
    with pytest.raises(ValueError, match="of the seed 2"):
        main(["--seed", "3", "--state", str(state)])
    assert relations.MEASURED < 1e-6


def test_a_note_that_is_missing_or_names_another_feature_is_reported(right):
    facts, explainer, _, _ = right
    rows = facts.tables.rows.assign(age=[99, *facts.tables.rows["age"][1:]])
    facts = Facts.of(replace(facts.tables, rows=rows), facts.model, facts.settings, facts.labels)
    answer = Answer.of(explainer.explain(rows), "pandas")
    check = OF_ANSWERS["unseen_values_are_noted"]
    assert check(facts, answer) == []
    assert "does not name ['age']" in check(facts, replace(answer, notes=["'income' is 99", *answer.notes[1:]]))[0]
    assert "are new, but the note" in check(facts, replace(answer, note_kinds=[None] * 12))[0]
    assert "the summary counts {}" in check(facts, replace(answer, unseen={}))[0]


def test_stale_answers_in_a_folder_are_told(monkeypatch):
    seeds = ([7, 2], [7, 3])
    assert [resumed.problems_of(np.random.default_rng(seed)) for seed in seeds] == [[], []]
    monkeypatch.setattr(
        "nicecf.engines.folders._stamp", lambda of_job, path: path.read_bytes()[-65_536:].hex().encode()
    )
    said = [resumed.problems_of(np.random.default_rng(seed))[0] for seed in seeds]
    assert [one.partition(":")[0] for one in said] == ["one other value", "exchanged values"]
    assert all("are not those of a fresh call" in one for one in said)
