"""The jars of Debezium, Delta, Iceberg and its sink: locked, and downloaded once.

`python -m tests.change_data.lock` writes the lock file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kafka_spark_source.testing.downloads.distribution import REGISTRY_VERSION
from kafka_spark_source.testing.downloads.jars import find_locked_jars, read_lock
from kafka_spark_source.testing.java import find_java

LOCK_FILE: Final = Path(__file__).with_name("jars.lock.json")

DEBEZIUM: Final = "debezium-3.6.1.Final"
DEBEZIUM_AVRO: Final = "debezium-avro-3.6.1.Final"
"""With the converter of the schema registry that tests start."""
ICEBERG_SINK: Final = "iceberg-kafka-connect-1.12.0"
"""Iceberg's own sink for Connect, with Hadoop for a catalog in a folder, and both converters."""
ROW_LEVEL: Final = "spark-catalyst_2.13-4.2.0-tests"
"""Spark's own tests, with a catalog of tables that have row-level operations, in memory."""
_CONNECT: Final = (
    "org.apache.kafka:connect-runtime:4.3.1",
    "org.apache.kafka:connect-json:4.3.1",
)
# Of the version of slf4j-api that Connect needs: with another one nothing is logged.
_LOG: Final = "org.slf4j:slf4j-simple:1.7.36"
_AVRO_CONVERTER: Final = f"io.apicurio:apicurio-registry-utils-converter:{REGISTRY_VERSION}"
_DEBEZIUM: Final = (
    *_CONNECT,
    "io.debezium:debezium-connector-postgres:3.6.1.Final",
    _LOG,
)
ARTIFACTS: Final[Mapping[str, tuple[str, ...]]] = {
    DEBEZIUM: _DEBEZIUM,
    DEBEZIUM_AVRO: (*_DEBEZIUM, _AVRO_CONVERTER),
    "delta-spark_4.2_2.13-4.4.0": ("io.delta:delta-spark_4.2_2.13:4.4.0",),
    "delta-spark_4.1_2.13-4.3.0": ("io.delta:delta-spark_4.1_2.13:4.3.0",),
    "iceberg-spark-runtime-4.1_2.13-1.12.0": (
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    ),
    ICEBERG_SINK: (
        *_CONNECT,
        "org.apache.iceberg:iceberg-kafka-connect:1.12.0",
        "org.apache.iceberg:iceberg-parquet:1.12.0",
        "org.apache.hadoop:hadoop-client-runtime:3.5.0",
        _LOG,
        _AVRO_CONVERTER,
    ),
    ROW_LEVEL: ("org.apache.spark:spark-catalyst_2.13:4.2.0:jar:tests",),
}
"""The name of each set of jars, and the artifacts that it has with their dependencies."""

LAKES: Final[Mapping[str, Mapping[str, str]]] = {
    "4.2": {"delta": "delta-spark_4.2_2.13-4.4.0"},
    "4.1": {
        "delta": "delta-spark_4.1_2.13-4.3.0",
        "iceberg": "iceberg-spark-runtime-4.1_2.13-1.12.0",
    },
}
"""The formats of tables that a release of PySpark has jars for: the name of a set for each.

The newest release comes first.
"""


def find(name: str, on_progress: Callable[[str], None] = lambda _what: None) -> Path:
    """The folder with a set of jars.

    Raises:
        JarError: A jar cannot be downloaded, or its checksum is wrong.
    """
    return find_locked_jars(name, read_lock(LOCK_FILE, name), find_java(), on_progress)
