"""Avro's own library, in a Java process that reads pairs of schemas and payloads with it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final, cast

from kafka_spark_source.testing.downloads.jars import LockedJars, find_locked_jars
from kafka_spark_source.testing.downloads.resolvers import Coordinates
from kafka_spark_source.testing.java import find_java

VERSION: Final = "1.12.1"
# The newest release, and what it needs at run time.
LOCKED: Final[LockedJars] = {
    Coordinates.parse(name): checksum
    for name, checksum in {
        f"org.apache.avro:avro:{VERSION}": (
            "72600f057bfbe2efe35fa55433e7756d45667dc938934be38a6e2be368aca237"
        ),
        "com.fasterxml.jackson.core:jackson-annotations:2.21": (
            "53ca085f4a150f703f49e1aabd935bd03b43e1ea3d55d135438292af22cef56b"
        ),
        "com.fasterxml.jackson.core:jackson-core:2.21.7": (
            "8c5623b98f32d5f7e1287ff61ed50e08ab7b11381e991fff89327faabba42261"
        ),
        "com.fasterxml.jackson.core:jackson-databind:2.21.7": (
            "1290c2795e93e8a6861a6c4d9ff0d844d32f5ea178362cb2721edf5561e828b1"
        ),
        "org.slf4j:slf4j-api:1.7.36": (
            "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0"
        ),
    }.items()
}
_PROGRAM: Final = Path(__file__).parents[1] / "java" / "Resolution.java"
# Fast start is more important than fast code here.
_JVM_FLAGS: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")


class JavaAvro:
    """The process; close it at the end."""

    def __init__(self) -> None:
        java = find_java()
        folder = find_locked_jars(f"avro-{VERSION}", LOCKED, java, print)
        class_path = ":".join(str(folder / each.file_name) for each in LOCKED)
        self._process = subprocess.Popen(
            [str(java), *_JVM_FLAGS, "-cp", class_path, str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._stdin = cast("IO[str]", self._process.stdin)
        self._stdout = cast("IO[str]", self._process.stdout)

    def read(self, cases: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers to cases, as `Resolution.java` describes them."""
        self._stdin.write(json.dumps(cases) + "\n")
        self._stdin.flush()
        line = self._stdout.readline()
        assert line, "Resolution.java ended: its error is above"
        answers: list[dict[str, Any]] = json.loads(line)
        return answers

    def close(self) -> None:
        """End the process: it exits at the end of its input."""
        with self._process, suppress(BrokenPipeError):
            self._stdin.close()
