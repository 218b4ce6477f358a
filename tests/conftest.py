import os

from hypothesis import HealthCheck, settings

# Few examples for every change, many where time does not count: `make test-deep`. In CI the same ones each time.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=40, derandomize=bool(os.environ.get("CI")), **_COMMON)
settings.register_profile("deep", max_examples=300, **_COMMON)
settings.load_profile("fast")
