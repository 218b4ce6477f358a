import os

import pytest
from hypothesis import HealthCheck, settings

# Few examples for every change, many where time does not count: `make test-deep`. In CI the same ones each time.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fast", max_examples=8, derandomize=bool(os.environ.get("CI")), **_COMMON)
settings.register_profile("deep", max_examples=300, **_COMMON)
settings.load_profile("fast")

# Modules whose tests need an autoencoder, but not a good one: a tenth of its training is enough for them.
_TRAINED_BRIEFLY = {
    "test_archive",
    "test_contract",
    "test_fuzz",
    "test_metrics",
    "test_models",
    "test_promises",
    "test_rewards",
    "test_saving",
}


@pytest.fixture(scope="module", autouse=True)
def brief_training(request):
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__.rpartition(".")[2] in _TRAINED_BRIEFLY:
            patch.setattr("nicecf.search.autoencoder._MOST_UPDATES", 300)
        yield
