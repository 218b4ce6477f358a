"""Proofs in listings, pages, tables and their files: what was proven is said, in words that are true, and only then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from nicecf import NICE, Constraints, FileError, Wording
from nicecf.results.counterfactuals import Counterfactuals
from nicecf.search.proofs import NO_PROOF, Proof
from nicecf.support.phrases import Statement
from nicecf.views import exported_table
from nicecf.views.exported_table import COLUMNS, read_outcomes
from nicecf.views.words.proven import percent_at_most

pytest.importorskip("ortools", reason="proofs need the extra 'exact'")

GERMAN = Wording(language="de")
FEWER = "Proven: no other counterfactual with values of training rows has fewer changes."
NEARER = "Proven: no other counterfactual with values of training rows is nearer."
BETTER = "Proven: no other counterfactual with values of training rows is better."
UNPROVEN = "Nothing is proven: another counterfactual could be better."


def table(**names):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.integers(0, 6, (120, 3)) * 1.0, columns=["income", "debt", "years"])
    y = np.where(X.income - X.debt + random.normal(0, 1, 120) > 0, "yes", "no")
    return X.rename(columns=names), y


def explained(search="exact", optimize="proximity", n_rows=6, names=None, **asked):
    X, y = table(**(names or {}))
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y)
    nice = NICE(model, optimize=optimize, search=search).fit(X, y)
    return nice.explain(X[:n_rows], progress=False, **asked)


@pytest.fixture(scope="module")
def nearest():
    return explained()


def with_proofs(cfs, *proofs, **options):
    """The result as it would be with other proofs, and other options of its explainer."""
    each = np.empty(len(proofs), dtype=object)
    each[:] = proofs
    batch = cfs[: len(proofs)].batch
    provenance = replace(batch.provenance, options=batch.provenance.options | options)
    return Counterfactuals(replace(batch, proofs=each, provenance=provenance))


def out_of_time():
    """A row without a counterfactual, as it would be if that were for want of time."""
    cfs = explained(constraints=Constraints(immutable=["income", "debt", "years"]), target_class="yes")
    late = cfs[~cfs.found][:1]
    reason = np.array([Statement("reason.out_of_time", {"target": "yes"})], dtype=object)
    return Counterfactuals(replace(late.batch, reasons=reason))


@pytest.mark.parametrize(
    ("optimize", "line", "sentence", "german"),
    [
        ("proximity", "proven: 6 are the nearest possible", NEARER, "bewiesen: 6 liegen so nah wie möglich"),
        ("sparsity", "proven: 6 have the fewest changes possible", FEWER, "bewiesen: 6 haben die wenigsten möglichen Änderungen"),
    ],
)  # fmt: skip
def test_an_exact_search_says_what_it_has_proven(optimize, line, sentence, german):
    cfs = explained(optimize=optimize)
    assert cfs.proof.tolist() == ["optimal"] * 6
    assert f"\n  {line}" in str(cfs)
    assert f"\n  {german}" in str(cfs.worded(GERMAN))
    assert str(cfs[0]).endswith(f"\n\n{sentence}")
    assert line in cfs._repr_html_()
    assert sentence in cfs[0]._repr_html_()
    assert cfs.to_html().count(sentence) == 6


def test_other_searches_do_not_say_what_they_prove_by_the_way():
    cfs = explained(search=None)
    assert "optimal" in cfs.proof.tolist()
    for shown in (str(cfs), str(cfs[0]), cfs._repr_html_(), cfs[0]._repr_html_(), cfs.to_html()):
        assert "roven" not in shown


MIXED = (
    Proof("optimal", "distance", 0.5, 0.5),
    Proof("bound", "distance", 1.0, 0.8799),
    Proof("bound", "distance", 1.0, 0.997),
    Proof("infeasible", "distance"),
    NO_PROOF,
    Proof("bound", "distance", 1.0, 0.0),  # that an answer costs at least nothing says nothing
)


@pytest.mark.parametrize(
    ("wording", "optimize", "line"),
    [
        (None, "proximity", "proven: 1 is the nearest possible, 2 could be at most 13 % nearer, 1 has no counterfactual, nothing about 2"),
        (None, "sparsity", "proven: 1 has the fewest changes possible, 2 could have at most 13 % fewer, 1 has no counterfactual, nothing about 2"),
        (GERMAN, "proximity", "bewiesen: 1 liegt so nah wie möglich, 2 könnten um höchstens 13 % näher liegen, für 1 gibt es keine, nichts über 2"),
        (GERMAN, "sparsity", "bewiesen: 1 hat die wenigsten möglichen Änderungen, 2 könnten um höchstens 13 % weniger haben, für 1 gibt es keine, nichts über 2"),
    ],
)  # fmt: skip
def test_the_listing_counts_proofs_and_has_the_largest_gap_rounded_up(nearest, wording, optimize, line):
    cfs = with_proofs(nearest, *MIXED, optimize=optimize)
    assert str(cfs.worded(wording)).endswith(f"\n  {line}")


@pytest.mark.parametrize(
    ("proof", "english", "german"),
    [
        (MIXED[1], "Not proven to be the nearest: another counterfactual could be up to 13 % nearer.", "könnte um bis zu 13 % näher liegen."),
        (MIXED[2], "Not proven to be the nearest: another counterfactual could be up to 0.3 % nearer.", "könnte um bis zu 0,3 % näher liegen."),
        (Proof("bound", "changes", 3.0, 2.0), "Not proven to have the fewest changes: another counterfactual could have as few as 2.", "könnte mit 2 auskommen."),
        (MIXED[4], UNPROVEN, "Nichts ist bewiesen: Eine andere kontrafaktische Erklärung könnte besser sein."),
        (MIXED[5], UNPROVEN, "Nichts ist bewiesen: Eine andere kontrafaktische Erklärung könnte besser sein."),
    ],
)  # fmt: skip
def test_what_is_not_proven_to_be_best_says_how_much_better_another_could_be(nearest, proof, english, german):
    cfs = with_proofs(nearest, proof)
    assert str(cfs[0]).endswith(f"\n\n{english}")
    assert str(Counterfactuals(cfs.batch, GERMAN)[0]).endswith(german)
    for page in (cfs[0]._repr_html_(), cfs.to_html()):
        assert english in page.replace("\N{NO-BREAK SPACE}%", " %")


@pytest.mark.parametrize("share", [1e-12, 1e-5, 0.003, 0.0099, 0.01, 0.12, 0.123, 1 - 0.8, 0.9999])
def test_a_gap_is_never_said_smaller_than_it_is_nor_nothing(share):
    said = float(percent_at_most(share, Wording().phrases).removesuffix(" %")) / 100
    assert said > 0
    assert share <= said + 1e-9
    assert said <= max(share + 0.01, 0.0001)


def test_a_share_is_not_rounded_up_for_the_last_digit_of_a_float():
    assert percent_at_most(0.12000000000000011, Wording().phrases) == "12 %"


def test_nothing_is_said_of_a_row_that_has_the_decision_already():
    cfs = explained(target_class="yes")
    still = int(np.flatnonzero(cfs.batch.n_changes == 0)[0])
    assert cfs.proof[still] == "optimal"
    assert "roven" not in str(cfs[still])


def test_a_reason_that_is_a_proof_is_not_followed_by_another():
    cfs = explained(constraints=Constraints(immutable=["income", "debt"]), target_class="yes")
    at = int(np.flatnonzero(cfs.proof == "infeasible")[0])
    assert str(cfs[at]).count("roven") == 1
    assert "no counterfactual" in str(cfs).splitlines()[-1]
    assert cfs[at]._repr_html_().count("roven") == 1


def test_where_nothing_was_found_it_says_whether_that_is_proven():
    late = out_of_time()
    for proof, sentence in [
        (NO_PROOF, "It is not proven that there is no counterfactual."),
        (Proof("infeasible", "distance"), "Proven: with values of training rows, there is no counterfactual."),
    ]:
        cfs = with_proofs(late, proof)
        assert str(cfs[0]).endswith(sentence)
        assert sentence in cfs.to_html()


def test_the_exported_table_holds_proofs_behind_its_own_columns(nearest):
    frame = exported_table.table(with_proofs(nearest, *MIXED).batch)
    own = [*COLUMNS, "reason_kind", "line", "proof", "gap"]
    assert frame.columns.tolist() == [*own, "income", "debt", "years"]
    assert frame.proof.fillna("missing").tolist() == ["optimal", "bound", "bound", "infeasible", "missing", "bound"]
    assert frame.gap.round(4).tolist()[:3] == [0.0, 0.1201, 0.003]
    assert frame.gap.isna().tolist() == [False, False, False, True, True, False]


def test_proofs_are_read_back_and_said_without_the_objective(nearest):
    frame = exported_table.table(with_proofs(nearest, *MIXED).batch)
    outcomes = read_outcomes(frame, "out.csv")
    assert [one.proof.status for one in outcomes] == [one.status for one in MIXED]
    assert np.allclose([one.proof.gap for one in outcomes[:3]], [0.0, 0.1201, 0.003])
    assert outcomes[0]._proven(Wording()) == BETTER
    assert (
        outcomes[1]._proven(Wording())
        == "Not proven to be the best: another counterfactual could be up to 13 % better."
    )
    assert outcomes[2]._proven(GERMAN).endswith("könnte um bis zu 0,3 % besser sein.")
    assert outcomes[4]._proven(Wording()) is None


def test_files_of_earlier_versions_have_no_proofs_also_if_a_feature_is_called_so():
    frame = exported_table.table(explained(names={"income": "gap", "debt": "proof"}).batch)
    assert frame.columns.tolist()[-5:] == ["proof", "gap", "cf_gap", "cf_proof", "years"]
    earlier = frame.drop(columns=["proof", "gap"])
    assert {one.proof for one in read_outcomes(earlier, "out.csv")} == {NO_PROOF}
    for name in ("gap", "proof"):
        with_feature = earlier.rename(columns={f"cf_{name}": name})
        assert with_feature[name].max() > 1
        assert {one.proof for one in read_outcomes(with_feature, "out.csv")} == {NO_PROOF}, name


@pytest.mark.parametrize(("column", "value"), [("proof", "certain"), ("gap", 1.5)])
def test_a_proof_that_nicecf_does_not_write_is_damage(nearest, column, value):
    frame = exported_table.table(nearest.batch)
    frame[column] = frame[column].astype(object)
    frame.loc[2, column] = value
    with pytest.raises(FileError, match="row 3 is not as nicecf explain writes it"):
        read_outcomes(frame, "out.csv")
