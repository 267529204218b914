"""Finds the user's Java and checks its version. Starts no broker."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from kafka_spark_source.testing.errors import JavaError
from kafka_spark_source.testing.releases import MINIMUM_JAVA

_ADVICE = f"install Java {MINIMUM_JAVA}, or point JAVA_HOME at one"
_TIMEOUT_SECONDS = 30


def find_java() -> Path:
    """The `java` of JAVA_HOME, else the one on the PATH.

    Raises:
        JavaError: There is no Java, or it is too old for Kafka.
    """
    java = _locate()
    major = java_major_version(_banner(java))
    if major is None:
        raise JavaError(f"{java} does not print its version: {_ADVICE}")
    if major < MINIMUM_JAVA:
        raise JavaError(f"{java} is Java {major}, Kafka needs {MINIMUM_JAVA} or newer: {_ADVICE}")
    return java


def java_banner() -> str:
    """The version text that the user's Java prints, whatever its version.

    Raises:
        JavaError: There is no Java, or it does not start.
    """
    return _banner(_locate())


def java_major_version(banner: str) -> int | None:
    """The major version in the output of `java -version`: 17 for "17.0.15", 8 for "1.8.0_402"."""
    match = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(match.group(1)) if match else None


def _locate() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise JavaError(f"JAVA_HOME is {home}, but there is no {java}: {_ADVICE}")
        return java
    path = shutil.which("java")
    if path is None:
        raise JavaError(f"no Java: JAVA_HOME is not set and `java` is not on the PATH; {_ADVICE}")
    return Path(path)


def _banner(java: Path) -> str:
    try:
        done = subprocess.run(
            [str(java), "-version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise JavaError(f"{java} does not start ({error}): {_ADVICE}") from error
    return done.stderr + done.stdout
