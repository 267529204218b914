"""The fuzzer itself: libFuzzer's arguments in, its exit code out. Started by `__main__`."""

from __future__ import annotations

import sys

import atheris

# Only what is ours is watched for new ways through it.
with atheris.instrument_imports(include=["kafka_protocol"]):
    from tests.fuzz.targets import feed

atheris.Setup(sys.argv, feed)
atheris.Fuzz()
