"""The fuzzer, with libFuzzer's arguments and exit code. `__main__` starts it."""

from __future__ import annotations

import sys

import atheris

# Only our own code counts for coverage.
with atheris.instrument_imports(include=["kafka_formats", "kafka_protocol"]):
    from tests.fuzz.targets import feed

atheris.Setup(sys.argv, feed)
atheris.Fuzz()
