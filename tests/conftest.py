"""What every test may use: the Hypothesis profiles, and the versions in play in pytest's header."""

from __future__ import annotations

import os
from importlib import metadata

from hypothesis import HealthCheck, settings

# On a loaded machine the first example imports numpy and pyarrow, so time says nothing here.
settings.register_profile(
    "ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("all", settings.get_profile("ci"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_SHOWN = ("pyspark", "pyarrow", "numpy", "crc32c", "lz4", "zstandard", "confluent-kafka")


def pytest_report_header() -> str:
    return "versions: " + ", ".join(f"{name} {metadata.version(name)}" for name in _SHOWN)
