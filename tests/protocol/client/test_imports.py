"""The client imports heavy modules only when it needs them.

Spark often starts Python processes, and each pays for its imports.
"""

from __future__ import annotations

import subprocess
import sys

HEAVY = {"numpy", "pyarrow", "pyspark", "ssl", "http", "crc32c", "zstandard", "botocore"}
# Of mechanisms of SASL.
HEAVY |= {"email", "stringprep", "kafka_protocol.auth.scram"}
CLIENT = "consumer.fetch consumer.list_offsets producer.producer cluster.groups cluster.admin pool"


def loaded_by(code: str) -> set[str]:
    """The modules in a new process after it has run `code`, without site-packages' hooks."""
    code = f"import sys; sys.path[:] = {sys.path!r}; {code}; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_the_plain_client_loads_no_heavy_module() -> None:
    modules = {f"kafka_protocol.client.{module}" for module in CLIENT.split()}
    loaded = loaded_by(f"import {', '.join(sorted(modules))}")
    assert modules <= loaded
    assert HEAVY & loaded == set()


def test_planning_loads_neither_spark_nor_arrow() -> None:
    loaded = loaded_by(
        "import kafka_spark_source.options.read, kafka_spark_source.planning.batch; "
        "import kafka_protocol.client.consumer.fetch, kafka_protocol.client.consumer.list_offsets"
    )
    assert not {"pyspark", "pyarrow", "numpy"} & loaded


def test_a_read_does_not_load_the_sink() -> None:
    rooms = ("source", "reading.batch_reader", "streaming.reader_42")
    modules = {f"kafka_spark_source.{room}" for room in rooms}
    loaded = loaded_by(f"import {', '.join(sorted(modules))}")
    assert modules <= loaded
    sink = ("kafka_spark_source.writing", "kafka_protocol.client.producer.producer")
    assert not [name for name in loaded if name.startswith(sink)]


def test_a_schema_needs_neither_readers_nor_the_client() -> None:
    options = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}
    loaded = loaded_by(f"import pyspark_pykafka; pyspark_pykafka.DefaultSource({options}).schema()")
    assert "kafka_spark_source.options.read" in loaded
    unused = ("reading", "streaming", "writing")
    rooms = tuple(f"kafka_spark_source.{room}" for room in unused)
    assert not [
        name for name in loaded if name.startswith((*rooms, "kafka_protocol.client.broker"))
    ]
