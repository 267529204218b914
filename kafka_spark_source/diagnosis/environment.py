"""The environment here: releases of Python, of packages and of Java, and codecs."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterable
from importlib import metadata
from typing import Final

from kafka_protocol.errors import KafkaError
from kafka_protocol.records.compression import CompressionCodec, compress
from kafka_spark_source.testing.errors import JavaError
from kafka_spark_source.testing.java import java_banner

# Each has a part in reading or writing; the others are extras of few users.
_PACKAGES: Final = ("pyspark-pykafka", "pyspark", "pyarrow", "numpy", "crc32c", "lz4", "zstandard")
_MISSING: Final = "missing"


def environment(packages: Iterable[str] = _PACKAGES) -> dict[str, str]:
    """The releases here, by name; "missing" for packages that are not installed."""
    return {
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "executable": sys.executable,
        **{name: _release(name) for name in packages},
        "java": _java(),
        "codecs": ", ".join(codecs()),
    }


def codecs() -> list[str]:
    """The names of the compression codecs that can be used here."""
    return [codec.name.lower() for codec in CompressionCodec if _is_usable(codec)]


def _is_usable(codec: CompressionCodec) -> bool:
    try:
        compress(codec, b"")
    except (ImportError, KafkaError):
        return False
    return True


def _release(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return _MISSING


def _java() -> str:
    try:
        banner = java_banner()
    except JavaError:
        return _MISSING
    return next(iter(banner.splitlines()), _MISSING)
