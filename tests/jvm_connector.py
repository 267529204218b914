"""The jars of Spark's own Kafka connector and of its Avro, and the PySpark release they need.

They are for comparison, and resolved without their dependencies. Only `tests/conformance` and the
benchmarks may use this module; pykafka never contains the connector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafka_spark_source.testing.downloads.jars import LockedJars, find_locked_jars
from kafka_spark_source.testing.downloads.resolvers import Coordinates
from kafka_spark_source.testing.java import find_java

PYSPARK: Final = "4.2.0"
"""The PySpark release of the connector."""

# The token provider 4.0.0 also works with 4.2.0, which needs nothing newer from it.
LOCKED: Final[LockedJars] = {
    Coordinates.parse(name): checksum
    for name, checksum in {
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{PYSPARK}": (
            "64539c45e5d39f7ddb747312c239f38f5208d08c1a0ddf7d70beb2fbd9373705"
        ),
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0": (
            "f2be3b76f9e6cbe63379d4e4e0dc14f59dbf056ae2ad16ff15ac108004c86767"
        ),
        "org.apache.kafka:kafka-clients:3.9.1": (
            "7568b998572d256f0b7bc0afdc1b7a2588b8b08415c62ce314c864a6851ae9d9"
        ),
        "org.apache.commons:commons-pool2:2.12.0": (
            "6d3bd18df8410f3e31b031aca582cc109342358a62a2759ebd0c4cdf30d06f8b"
        ),
        # The newest release; it works with 4.2.0.
        "org.apache.spark:spark-avro_2.13:4.1.1": (
            "6a19d90bc3b6e88d8db0fa36a19273aa10fea2dbd7a62bb60e4cedd73051b32d"
        ),
    }.items()
}


def spark_jars(on_progress: Callable[[str], None]) -> str:
    """The value of `spark.jars` for the connector; resolves jars that are not cached.

    Raises:
        JarError: A jar cannot be resolved, or its checksum is wrong.
    """
    folder = find_locked_jars(f"connector-{PYSPARK}", LOCKED, find_java(), on_progress)
    return ",".join(str(folder / each.file_name) for each in LOCKED)
