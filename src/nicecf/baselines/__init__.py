"""Published algorithms behind the same verb, to compare with: ``WIT(model).fit(X, y).explain(X_new)``.

``ALL`` lists them.
"""

from nicecf.baselines.cbr import CBR
from nicecf.baselines.geco import GeCo
from nicecf.baselines.growing_spheres import GrowingSpheres
from nicecf.baselines.sedc import SEDC
from nicecf.baselines.wit import WIT

ALL = (WIT, CBR, SEDC, GeCo, GrowingSpheres)

__all__ = ["ALL", "CBR", "SEDC", "WIT", "GeCo", "GrowingSpheres"]
