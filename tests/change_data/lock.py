"""Writes the lock file: `python -m tests.change_data.lock [NAME ...]`, with Maven."""

from __future__ import annotations

import json
import sys
from typing import Final

from kafka_spark_source.testing.downloads.lock import lock_artifacts
from kafka_spark_source.testing.downloads.resolvers import Coordinates
from tests.change_data.jars import ARTIFACTS, LAKES, LOCK_FILE, ROW_LEVEL

# Of what Delta needs, only this is not in PySpark already, in a newer version.
_ADDED_TO_SPARK: Final = ("io.delta", "io.unitycatalog", "org.apache.iceberg")
_OF_SPARK: Final = {ROW_LEVEL, *(name for sets in LAKES.values() for name in sets.values())}


def main(names: list[str]) -> None:
    """Update the lock of these sets, or of all."""
    entries = json.loads(LOCK_FILE.read_text()) if LOCK_FILE.exists() else {}
    for name in names or ARTIFACTS:
        locked = lock_artifacts(ARTIFACTS[name])
        entries[name] = {
            jar: checksum
            for jar, checksum in locked.items()
            if name not in _OF_SPARK
            or Coordinates.parse(jar).group in _ADDED_TO_SPARK
            or jar in ARTIFACTS[name]
        }
        sys.stdout.write(f"{name}: {len(entries[name])} jars\n")
    in_order = {name: entries[name] for name in ARTIFACTS if name in entries}
    LOCK_FILE.write_text(json.dumps(in_order, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
