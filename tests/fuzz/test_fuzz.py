"""A minute of the fuzzer in `make test-all`; `make fuzz` runs it longer."""

from __future__ import annotations

import importlib.util

import pytest

from tests.fuzz.__main__ import fuzz
from tests.fuzz.seeds import seeds
from tests.fuzz.targets import feed

pytestmark = pytest.mark.no_cover

SECONDS = 60


def test_seeds_give_no_finding() -> None:
    for data in (b"", *(bytes([number]) for number in range(256)), *seeds()):
        feed(data)


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this platform"
)
@pytest.mark.timeout(SECONDS + 180)
def test_fault_15_any_bytes_raise_kafka_errors_only() -> None:
    done = fuzz(SECONDS)
    assert done.returncode == 0, done.stdout[-8_000:]
