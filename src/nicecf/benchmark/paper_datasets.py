"""The 40 datasets of the paper: what its table prints of each, and the checksum of the file that is meant."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Facts:
    """A line of the paper's table of datasets, and what tells that a file is that dataset.

    ``printed`` is the paper's name for it and ``imbalance`` the share of class 1. ``rows`` is what the file has where
    the paper prints another number of instances. ``checksum`` is that of :func:`nicecf.benchmark.datasets.checksum`.
    """

    printed: str
    instances: int
    features: int
    categorical: int
    numerical: int
    imbalance: float
    auc_ann: float
    auc_rf: float
    checksum: str
    rows: int | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the file, the label among them."""
        return self.instances if self.rows is None else self.rows, self.features + 1


# The paper numbers its four GAMETES without saying which is which. They are taken in alphabetical order, like the rest
# of its table: forests reach 0.63, 0.78, 0.67 and 0.69 on them where it prints 0.65, 0.78, 0.72 and 0.71, which settles
# the first two; the last two could be the other way round.
PAPER: dict[str, Facts] = {
    "adult": Facts("adult", 48842, 14, 5, 9, 0.761, 0.903, 0.913, "b8795db2e4b0e74aed92b7ced7616173"),
    "agaricus_lepiota": Facts(
        "agaricus_lepiota", 8154, 22, 21, 1, 0.481, 1.000, 1.000, "cebdf9a33a34778ebcfde09146db19b1", rows=8145
    ),
    "australian": Facts("australian", 690, 14, 7, 7, 0.445, 0.905, 0.940, "5ef02a0df67d4d1ea7e43a14868685e7"),
    "breast_w": Facts("breast_w", 699, 9, 8, 1, 0.345, 0.991, 0.997, "2452c09b10788fa6d02497fa646a271b"),
    "buggyCrx": Facts("buggyCrx", 690, 15, 8, 7, 0.555, 0.921, 0.949, "c068fbe24f4be14801bf1d6696409ef3"),
    "chess": Facts("chess", 3196, 36, 36, 0, 0.522, 1.000, 0.999, "daf4736db5e522f6f1969df9bc11edc5"),
    "churn": Facts("churn", 5000, 20, 4, 16, 0.142, 0.872, 0.919, "dd6c0bb9bbfdff6ba904cb198a58b9f6"),
    "clean2": Facts("clean2", 6598, 168, 0, 168, 0.154, 1.000, 1.000, "786f6818c93b1cbc40c51e4f785814ed"),
    "coil2000": Facts("coil2000", 9822, 85, 84, 1, 0.060, 0.691, 0.745, "850317752698febeee7209d1646723d5"),
    "credit_a": Facts("credit_a", 690, 15, 8, 7, 0.555, 0.902, 0.910, "d2053fa0173515bfc4027299f8c7d04e"),
    "credit_g": Facts("credit_g", 1000, 20, 17, 3, 0.700, 0.663, 0.731, "fa7eac08c35726afb57c605c39c90605"),
    "crx": Facts("crx", 690, 15, 8, 7, 0.445, 0.859, 0.941, "1a8cd4f1898334778bd59bb13ffcf7e4"),
    "diabetes": Facts("diabetes", 768, 8, 0, 8, 0.349, 0.823, 0.851, "0d9a9ae100a327ea1a9162142a76cb0e"),
    "dis": Facts("dis", 3772, 29, 23, 6, 0.985, 0.895, 0.989, "c52cf25aec553abced91cf22e7e2ecc5"),
    "GAMETES_Epistasis_2_Way_20atts_0.1H_EDM_1_1": Facts(
        "GAMETES1", 1600, 20, 20, 0, 0.500, 0.636, 0.648, "f7375b7bc570dde05222ea4da51ee927"
    ),
    "GAMETES_Epistasis_2_Way_20atts_0.4H_EDM_1_1": Facts(
        "GAMETES2", 1600, 20, 20, 0, 0.500, 0.746, 0.780, "7f36213750116b9c1fe313f32c8f25b4"
    ),
    "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_50_EDM_2_001": Facts(
        "GAMETES3", 1600, 20, 20, 0, 0.500, 0.664, 0.722, "decf378f09e2383fdd696eed0e9c6bd9"
    ),
    "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_75_EDM_2_001": Facts(
        "GAMETES4", 1600, 20, 20, 0, 0.500, 0.690, 0.705, "bb2713d186933173849cd3c96f97e9bf"
    ),
    "german": Facts("german", 1000, 20, 17, 3, 0.700, 0.718, 0.758, "017311ed9f2849937897d6ce2c4a3bc9"),
    "Hill_Valley_without_noise": Facts(
        "Hill_Valley", 1212, 100, 0, 100, 0.505, 0.993, 0.557, "ba1b7c49ba4b1c59664ba09a53c9fc9d"
    ),
    "hypothyroid": Facts("hypothyroid", 3163, 25, 18, 7, 0.952, 0.975, 0.988, "e302d6f03b0d9c7de342f22a46d6d518"),
    "kr_vs_kp": Facts("kr_vs_kp", 3196, 36, 36, 0, 0.522, 1.000, 0.999, "1d137ee2a00436e720b4829e4c43e289"),
    "magic": Facts("magic", 19020, 10, 0, 10, 0.352, 0.922, 0.937, "d45dcbc415daf3870432b5d7f9ba02c3"),
    "mofn_3_7_10": Facts("mofn_3_7_10", 1324, 10, 10, 0, 0.779, 1.000, 1.000, "fc583580936c2b827bee0a39b14569aa"),
    "monk1": Facts("monk1", 556, 6, 6, 0, 0.500, 1.000, 1.000, "b3e2c8df61d56fbf0146c4a7cf0acbed"),
    "monk2": Facts("monk2", 601, 6, 6, 0, 0.342, 1.000, 0.896, "9a646fac15a2bf13004c40d6afbc45f0"),
    "monk3": Facts("monk3", 554, 6, 6, 0, 0.520, 0.992, 0.986, "22b51c36510389bf892c05a13a0fbd95"),
    "mushroom": Facts("mushroom", 8124, 22, 21, 1, 0.482, 1.000, 1.000, "d6d92b0d9168fa5773c9b95dfd82d27a"),
    "parity5+5": Facts("parity5+5", 1124, 10, 10, 0, 0.504, 1.000, 0.674, "62b88f51fdb98e5ea4f8c8e20ccc389c"),
    "phoneme": Facts("phoneme", 5404, 5, 0, 5, 0.294, 0.906, 0.970, "cf097069ed7bd8d23d710dbbfdb37de2"),
    "pima": Facts("pima", 768, 8, 0, 8, 0.349, 0.867, 0.819, "b0158a3f5d5f69ba88bba17cf94bd60a"),
    "profb": Facts("profb", 672, 9, 3, 6, 0.333, 0.633, 0.676, "e3bd80bcbc977522d3faf0d4a164e438"),
    "ring": Facts("ring", 7400, 20, 0, 20, 0.505, 0.990, 0.992, "5cf8718d8dae7602f30bdf1f834d2b63"),
    "spambase": Facts("spambase", 4601, 57, 0, 57, 0.394, 0.974, 0.988, "a41db15e3426fcf8dd64a3a265a69ca2"),
    "threeOf9": Facts("threeOf9", 512, 9, 9, 0, 0.465, 0.972, 0.999, "50afc3e588688536bcc11adfd097b0e2"),
    "tic_tac_toe": Facts("tic_tac_toe", 958, 9, 9, 0, 0.653, 0.997, 1.000, "979c595a5ad25931a43ebea8d2728dad"),
    "tokyo1": Facts("tokyo1", 959, 44, 2, 42, 0.639, 0.962, 0.983, "ce563c825c31d426c1d8976ff9645305"),
    "twonorm": Facts("twonorm", 7400, 20, 0, 20, 0.500, 0.996, 0.997, "a9fc8d8cbbef2371788a1c9e9bb04cd3"),
    "wdbc": Facts("wdbc", 569, 30, 0, 30, 0.371, 0.973, 0.981, "8f64ad17923f961228e5f560ecf55945"),
    "xd6": Facts("xd6", 973, 9, 9, 0, 0.331, 1.000, 1.000, "dd172426d109a5ae26c812cb238e6f40"),
}

ALIASES: dict[str, str] = {facts.printed: name for name, facts in PAPER.items() if facts.printed != name}
