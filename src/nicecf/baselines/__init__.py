"""Published algorithms behind the same verb, to compare with: ``WIT(model).fit(X, y).explain(X_new)``.

``ALL`` lists them.
"""

from nicecf.baselines.baseline import Baseline
from nicecf.baselines.cbr import CBR
from nicecf.baselines.cfproto import CFproto
from nicecf.baselines.dice import DiCE
from nicecf.baselines.geco import GeCo
from nicecf.baselines.growing_spheres import GrowingSpheres
from nicecf.baselines.sedc import SEDC
from nicecf.baselines.wit import WIT

ALL: tuple[type[Baseline], ...] = (
    WIT,
    CBR,
    SEDC,
    DiCE,
    CFproto,
    GeCo,
    GrowingSpheres,
)

__all__ = [
    "ALL",
    "CBR",
    "SEDC",
    "WIT",
    "CFproto",
    "DiCE",
    "GeCo",
    "GrowingSpheres",
]
