"""The figures that the paper prints (Brughmans, Leyman and Martens: NICE), to stand beside those of a run.

They are as printed, misprints included; IM2 is as its code computes it, which is not the formula that it cites.
`CONTRADICTIONS` says where the paper's text and its tables disagree. What it prints about the datasets is in
`nicecf.benchmark.paper_datasets.PAPER`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nicecf.benchmark.report.findings import Findings, ModelFindings, Ranking
from nicecf.benchmark.report.names import PAPER_METHODS

TITLE = "NICE: An Algorithm for Nearest Instance Counterfactual Explanations"
AUTHORS = "Brughmans, Leyman and Martens"
N_DATASETS, N_ROWS, N_OBSERVATIONS, CRITICAL_DIFFERENCE = 40, 200, 8000, 0.151

# Tables 5 and 7 (ANN), 6 and 8 (RF); the methods in the order of PAPER_METHODS.
_ANN = {
    "coverage": (100.0, 100.0, 100.0, 100.0, 100.0, 62.7, 78.4, 70.1, 76.7, 49.4),
    "ms": (3.7, 14.8, 20.0, 81.3, 6.1, 26.2, 45.7, 130_783.0, 19_315.8, 1606.5),
    "time": (1.26, 4.32, 5.31, 6.6, 2.42, 4.49, 3.65, 8.27, 9.88, 8.8),
    "sparsity": (5.17, 1.42, 1.67, 3.33, 5.33, 4.39, 3.16, 3.67, 5.35, 7.43),
    "l1_range": (5.10, 1.86, 1.72, 3.48, 5.34, 5.34, 4.10, 4.85, 4.08, 7.95),
    "l1_std": (5.37, 1.87, 1.80, 3.63, 4.96, 5.19, 3.88, 5.21, 4.00, 7.90),
    "l2_range": (4.83, 1.89, 1.76, 3.3, 5.09, 5.7, 4.28, 5.34, 3.83, 7.79),
    "l2_std": (5.10, 1.96, 1.88, 3.48, 4.63, 5.57, 4.01, 5.78, 3.71, 7.70),
    "ae_error": (3.10, 4.07, 4.15, 3.27, 3.11, 6.66, 5.31, 6.61, 5.86, 6.09),
    "im1": (3.49, 4.31, 4.38, 3.89, 3.57, 6.06, 5.69, 4.62, 6.49, 5.76),
    "im2_code": (2.46, 5.28, 5.41, 3.75, 2.54, 6.40, 6.00, 4.55, 6.56, 5.39),
    "nn5": (1.92, 3.86, 3.92, 2.76, 1.96, 6.45, 5.82, 6.92, 6.02, 5.76),
    "robustness": (94.3, 68.3, 68.7, 81.3, 85.6, 43.4, 45.6, 54.9, 43.5, 47.6),
}
_RF = {
    "coverage": (100.0, 100.0, 100.0, 100.0, 100.0, 48.3, 72.0, 63.3, 68.2, 39.4),
    "ms": (61.8, 573.4, 925.8, 2090.6, 95.2, 320.6, 1499.6, 2_016_936.8, 799_339.6, 6478.1),
    "time": (1.01, 4.50, 5.79, 6.80, 2.04, 4.09, 4.50, 7.81, 9.71, 8.73),
    "sparsity": (4.73, 1.31, 1.87, 3.15, 4.87, 5.10, 3.34, 4.11, 5.51, 7.65),
    "l1_range": (4.56, 1.63, 1.63, 3.16, 4.88, 5.85, 4.24, 5.50, 4.52, 7.89),
    "l1_std": (4.85, 1.69, 1.76, 3.35, 4.48, 5.75, 4.08, 5.57, 4.47, 7.85),
    "l2_range": (4.39, 1.70, 1.66, 3.06, 4.69, 6.01, 4.39, 5.80, 4.36, 7.80),
    "l2_std": (4.65, 1.81, 1.82, 3.27, 4.25, 5.91, 4.24, 5.91, 4.28, 7.71),
    "ae_error": (2.91, 4.10, 4.13, 2.88, 2.93, 6.67, 5.16, 6.43, 5.97, 6.50),
    "im1": (3.49, 4.15, 4.21, 3.94, 3.51, 6.33, 5.44, 4.14, 6.18, 6.33),
    "im2_code": (2.39, 5.17, 5.20, 3.55, 2.43, 6.55, 5.84, 4.31, 6.38, 5.94),
    "nn5": (1.77, 3.90, 3.88, 2.54, 1.81, 6.49, 5.60, 6.76, 6.10, 6.22),
    "robustness": (80.9, 64.4, 62.8, 69.6, 78.7, 40.4, 50.3, 76.0, 44.7, 42.2),
}

# Tables 9 and 10: below the diagonal the ANN, above it the RF; here each pair as (ANN, RF).
_CORRELATIONS = {
    ("sparsity", "l1_range"): (0.832, 0.851),
    ("sparsity", "l1_std"): (0.826, 0.850),
    ("sparsity", "l2_range"): (0.782, 0.819),
    ("sparsity", "l2_std"): (0.764, 0.807),
    ("l1_range", "l1_std"): (0.953, 0.969),
    ("l1_range", "l2_range"): (0.955, 0.975),
    ("l1_range", "l2_std"): (0.904, 0.943),
    ("l1_std", "l2_range"): (0.909, 0.946),
    ("l1_std", "l2_std"): (0.949, 0.968),
    ("l2_range", "l2_std"): (0.929, 0.955),
    ("ae_error", "im1"): (0.452, 0.510),
    ("ae_error", "im2_code"): (0.527, 0.587),
    ("ae_error", "nn5"): (0.715, 0.748),
    ("im1", "im2_code"): (0.555, 0.596),
    ("im1", "nn5"): (0.497, 0.523),
    ("im2_code", "nn5"): (0.600, 0.660),
}

# Tables 12 and 13: milliseconds on two datasets, the four versions of NICE.
_MS_OF_DATASETS = {
    ("adult", "ann"): (21.95, 29.29, 32.04, 66.61),
    ("adult", "rf"): (154.11, 1110.52, 1538.50, 1776.04),
    ("clean2", "ann"): (12.19, 22.49, 18.82, 433.14),
    ("clean2", "rf"): (40.03, 446.70, 1175.36, 17_359.46),
}


@dataclass(frozen=True)
class Complexity:
    """The worst case of a version of NICE: in words, and the parts that k training rows and m features fill in.

    ``calls``: what stands before m squared, an evaluation of f (the model) or of f and g (the autoencoder).
    """

    order: str
    calls: str = ""
    is_cubic: bool = False

    def operations(self, k: int, m: int) -> str:
        """The order of operations for a table.

        >>> COMPLEXITY["nice-prox"].operations(39_073, 14)
        'f(x)·196 + 549,766'
        """
        fixed = k * m + (m**3 if self.is_cubic else 0)
        return f"{self.calls}·{m * m:,} + {fixed:,}" if self.calls else f"{fixed:,}"


COMPLEXITY: Mapping[str, Complexity] = {
    "nice-none": Complexity("O(k·m)"),
    "nice-spars": Complexity("O(f(x)·m² + k·m)", "f(x)"),
    "nice-prox": Complexity("O(m³ + f(x)·m² + k·m)", "f(x)", is_cubic=True),
    "nice-plaus": Complexity("O((f(x)+g(x))·m² + k·m)", "(f(x)+g(x))"),
}

CONTRADICTIONS: tuple[str, ...] = (
    "Coverage of GeCo: section 4.2 says 32.4 % (ANN) and 35.5 % (RF), Tables 5 and 6 say 49.4 % and 39.4 %. "
    "The tables' figures are used here.",
    "Sparsity rank of NICE(spars): section 4.3.1 says 1.36 (ANN) and 1.30 (RF), Tables 5 and 6 say 1.42 and 1.31. "
    "The tables' figures are used here.",
    "Proximity rank: Tables 5 and 6 print the line L1(norm.) of Tables 7 and 8, while the asterisk there, which marks "
    "what was used before, is at L1(stand.). So the proximity of the main tables is L1 over ranges, here too.",
    "Scaling of NICE: section 4.3.2 says that NICE standardises and WIT normalises; the paper's formula, the authors' "
    "code and Tables 7 and 8 (NICE(none) better by L1(norm.), WIT by L1(stand.)) say that it is the other way round.",
    "Table 4 gives agaricus_lepiota 8154 instances; the file of that name has 8145. Section 4.2 speaks of a largest "
    "dataset with over 162 features; that of Table 4, clean2, has 168.",
    "Frontiers: section 4.3.3 counts WIT among the methods that nothing dominates on sparsity and plausibility, but by "
    "Tables 5 and 6 NICE(none) does (ANN 5.17 and 3.10 against 5.33 and 3.11; RF 4.73 and 2.91 against 4.87 and 2.93); "
    "for the RF, NICE(plaus) with 3.15 and 2.88 dominates both.",
    "Ranks: section 4.1 gives what was not found the worst rank, the authors' code the rank after those found; both "
    "are in this report. IM2 in the tables is what the authors' code computes, not the published formula.",
    "Critical difference: 0.151 is right for ten methods and 8,000 observations.",
    "What was run under a name: in the authors' experiments GeCo is a patched genetic search of DiCE, DiCE is its "
    "random search and was given test rows too, and WIT is NICE(none) with standard deviations and without the filter "
    "of correctly classified donors.",
)


def _model(column: Mapping[str, tuple[float, ...]], which: int) -> ModelFindings:
    def of(key: str) -> dict[str, float]:
        return dict(zip(PAPER_METHODS, column[key], strict=True))

    metrics = [key for key in column if key not in ("coverage", "ms", "robustness")]
    return ModelFindings(
        n_observations=N_OBSERVATIONS,
        n_datasets=N_DATASETS,
        coverage=of("coverage"),
        ms=of("ms"),
        ranks={metric: Ranking(of(metric), CRITICAL_DIFFERENCE, N_OBSERVATIONS) for metric in metrics},
        robustness=of("robustness"),
        correlations={pair: values[which] for pair, values in _CORRELATIONS.items()},
    )


FINDINGS = Findings(
    methods=PAPER_METHODS,
    models={"ann": _model(_ANN, 0), "rf": _model(_RF, 1)},
    ms_of={key: dict(zip(PAPER_METHODS, values, strict=False)) for key, values in _MS_OF_DATASETS.items()},
    # Section 4.2: the longest explanation by NICE(plaus) on the largest dataset.
    longest_ms_of={("clean2", "rf"): {"nice-plaus": 23_500.0}},
)
