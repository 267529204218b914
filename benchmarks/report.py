"""How benchmarks beside Spark's own connector begin and end: with its jars, with a file."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

from rich.console import Console

from tests.jvm_connector import LOCKED, PYSPARK, spark_jars

RESULTS = Path(__file__).parent / "results"

console = Console()


def connector_jars(target: str) -> str:
    """The value of `spark.jars`; ends the process where this is another release of PySpark."""
    if metadata.version("pyspark") != PYSPARK:
        sys.exit(f"Spark's connector needs PySpark {PYSPARK}: `make {target}` has it")
    return spark_jars(console.print)


def save(file: Path, figures: Mapping[str, object]) -> None:
    """Write figures, and what all of them depend on."""
    packages = ("pyspark", "pyarrow", "numpy", "crc32c", "lz4", "zstandard")
    facts = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "versions": {name: metadata.version(name) for name in packages},
        "jars": [str(each) for each in LOCKED],
    }
    file.write_text(json.dumps(facts | dict(figures), indent=2) + "\n")
