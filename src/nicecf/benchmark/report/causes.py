"""Why a claim of the paper does not hold, or only just.

Written by hand for each claim and classifier, but for what a second look at the figures shows by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nicecf.benchmark.report.claims import (
    AMONG_SHARED,
    BOTH,
    BY_CODE,
    BY_FOUND,
    OVER_DATASETS,
    OVER_ROWS,
    Claim,
    Verdict,
)

Source: TypeAlias = Literal[
    "the paper's code", "the paper's text", "the models", "the implementation", "the comparison", "chance"
]
NOT_ESTABLISHED = "cause not established"


@dataclass(frozen=True)
class Cause:
    """What a verdict comes from, and one sentence about it."""

    source: Source
    sentence: str

    def __str__(self) -> str:
        """``the models: the network on Hill_Valley is far behind the paper's.``"""
        return f"{self.source}: {self.sentence}"


_SAME_TIME = Cause(
    "the implementation",
    "here both look up one nearest row in the same kind of index, and fractions of a millisecond decide.",
)
_FAST_BENCHMARKS = Cause(
    "the implementation",
    "CFproto here is our own, which asks the model for a whole gradient in one call, and DiCE is another version of "
    "its package.",
)
_ONE_ROW = Cause(
    "chance",
    "one row of dis, on which DiCE's genetic search went on for half a minute with the network, decides the mean of "
    "GeCo; by the median it takes longer with the forest, as all others do.",
)
_BETTER_COVERED = Cause(
    "the paper's code",
    "it counts the coverage of DiCE by slots, three for each row, and its version of DiCE fills fewer of them; here a "
    "row with one good answer is covered. CFproto, our own here, covers a little more than SEDC.",
)
_DICE_COVERS = (
    "DiCE, of which the paper has another version, finds nearly every row here, and what is not found has the last rank"
)
_ONE_OBJECTIVE = Cause(
    "the comparison",
    "of changes and distance alone, the thorough searches for one of these are ahead of it in both; with "
    "plausibility it is on both frontiers.",
)
# What a second look shows.
_TARGET_OF_GECO = Cause(
    "the paper's code", "its GeCo always aims at class 1, and with that target this holds here, too."
)
# What is borderline without a cause of its own.
_OTHER_RULE = Cause(
    "the paper's code", "it ranks what was not found right after what was; the text says that it has the worst rank."
)
_FEWER_METHODS = Cause("the comparison", "among fewer methods, the same answers rank differently.")
_SPLITS = Cause("chance", "with other training and test rows it comes out differently.")
# By the claim's text and the classifier.
CAUSES: Mapping[tuple[str, str], Cause] = {
    ("NICE(thorough) is on all three efficient frontiers", "ann"): _ONE_OBJECTIVE,
    ("NICE(thorough) is on all three efficient frontiers", "rf"): _ONE_OBJECTIVE,
    ("The other benchmarks' coverage lies between that of CBR (lowest) and SEDC (highest)", "ann"): _BETTER_COVERED,
    ("The other benchmarks' coverage lies between that of CBR (lowest) and SEDC (highest)", "rf"): _BETTER_COVERED,
    ("SEDC has perfect coverage on one of both classes", "ann"): Cause(
        "the implementation",
        "the search ends after 100 rounds, as the authors' does, and on four tables with 20 to 100 features it has not "
        "come to the mean of all features by then.",
    ),
    ("Explanations take much longer for the RF than for the ANN (here: longer), with every algorithm", BOTH): _ONE_ROW,
    ("GeCo, CFproto and CBR are the worst on sparsity", "rf"): Cause(
        "the paper's code",
        "values of CFproto that only rounding has changed count as changes there; compared as they are, CFproto has "
        "fewer changes than NICE(none) and WIT.",
    ),
    ("NICE(prox) is slightly better on proximity than NICE(spars), not significantly", "rf"): Cause(
        "chance", "Table 6 has 1.63 for both; here, too, they are as good as equal, with NICE(spars) ahead by 0.02."
    ),
    ("NICE(none) and WIT are the best by every plausibility metric", "ann"): Cause(
        "the paper's code",
        "its GeCo always aims at class 1; with that target they are the best by all but IM1, by which, with "
        "autoencoders that were trained for longer, WIT is behind NICE(none).",
    ),
    ("NICE(plaus) is third or better by every plausibility metric", "ann"): Cause(
        "the paper's code",
        f"its GeCo always aims at class 1; with that target NICE(plaus) is third by all but IM2: {_DICE_COVERS}.",
    ),
    ("NICE(plaus) is third or better by every plausibility metric", "rf"): Cause(
        "the paper's code",
        "its GeCo always aims at class 1; with that target NICE(plaus) is third by AE loss and 5NN, and fourth by IM1 "
        f"and IM2: {_DICE_COVERS}.",
    ),
    ("NICE(none) has the best cross-model robustness", "rf"): Cause(
        "the implementation",
        "DiCE has three chances, and finds nearly every row here; in the paper, where it covers less, a row without an "
        "answer is not robust. Without it, and with the target of the paper's GeCo, NICE(none) is the best.",
    ),
    ("NICE(none) has the best time rank", "ann"): _SAME_TIME,
    ("NICE(none) has the best time rank", "rf"): _SAME_TIME,
    ("DiCE and CFproto take several minutes (here: at least one)", "ann"): Cause(
        "the paper's text", "Table 5 has 19.3 s for CFproto."
    ),
    ("DiCE and CFproto take several minutes (here: at least one)", "rf"): _FAST_BENCHMARKS,
    ("DiCE and CFproto are by far the slowest (here: the slowest)", "ann"): _FAST_BENCHMARKS,
    ("DiCE and CFproto are by far the slowest (here: the slowest)", "rf"): _FAST_BENCHMARKS,
    ("GeCo, CFproto and CBR are the worst on sparsity", "ann"): Cause(
        "the paper's text", "by Table 5, NICE(none) with 5.17 and WIT with 5.33 are worse than CBR with 4.39."
    ),
    ("NICE(none) is outperformed on proximity by SEDC, DiCE and CFproto", "rf"): Cause(
        "the paper's text", "by Table 6, DiCE with 5.50 is worse than NICE(none) with 4.56."
    ),
    ("Sparsity-proximity: neither of NICE(spars) and NICE(prox) dominates the other", "rf"): Cause(
        "the paper's text",
        "by Table 6 both have 1.63 on proximity and NICE(spars) is ahead on sparsity, which by the paper's definition "
        "is to dominate.",
    ),
    ("Sparsity-plausibility: the frontier is NICE(spars), NICE(plaus) and WIT", "ann"): Cause(
        "the paper's text", "by Table 5, NICE(none) with 5.17 and 3.10 dominates WIT with 5.33 and 3.11."
    ),
    ("Sparsity-plausibility: the frontier is NICE(spars), NICE(plaus) and WIT", "rf"): Cause(
        "the paper's text", "by Table 6, NICE(plaus) with 3.15 and 2.88 dominates WIT with 4.87 and 2.93."
    ),
    ("Proximity-plausibility: the frontier is the four versions of NICE", "rf"): Cause(
        "the paper's text", "by Table 6, NICE(plaus) with 3.16 and 2.88 dominates NICE(none) with 4.56 and 2.91."
    ),
}


def cause_of(claim: Claim, model: str, verdict: Verdict) -> str:
    """Why a verdict is not "holds", in words; empty where it is, or where nothing was run.

    What is borderline without a cause of its own is so by what it was looked at with.
    """
    if verdict.kind in ("holds", "not run"):
        return ""
    if (known := CAUSES.get((claim.text, model), CAUSES.get((claim.text, BOTH)))) is not None:
        return str(known)
    if verdict.looks.get(BY_CODE) and not verdict.looks[OVER_ROWS]:
        return str(_TARGET_OF_GECO)
    if verdict.kind == "does not hold":
        return NOT_ESTABLISHED
    first, *others = verdict.looks.items()
    flips = [name for name, holds in others if holds != first[1] and name not in (OVER_DATASETS, BY_CODE)]
    if not flips:
        return "the time limit"
    by_rule: dict[tuple[str, ...], Cause] = {(BY_FOUND,): _OTHER_RULE, (AMONG_SHARED,): _FEWER_METHODS}
    return str(by_rule.get(tuple(flips), _SPLITS))
