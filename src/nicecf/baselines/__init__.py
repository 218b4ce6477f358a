"""Published algorithms behind the same verb, to compare with: ``WIT(model).fit(X, y).explain(X_new)``.

``ALL`` lists them.
"""

from nicecf.baselines.sedc import SEDC
from nicecf.baselines.wit import WIT

ALL = (WIT, SEDC)

__all__ = ["ALL", "SEDC", "WIT"]
