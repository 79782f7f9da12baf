import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "theodolite",
    deadline=None,
    derandomize=True,  # a change must not fail because of the weather
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("theodolite")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; tests that need it skip where it is not."""
    folder = Path(os.environ.get("THEODOLITE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data here: set THEODOLITE_DATA")
    return folder
