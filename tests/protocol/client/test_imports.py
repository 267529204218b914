"""What the client does not load before somebody needs it.

Spark starts Python processes all the time, so what is loaded for nothing costs each of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"numpy", "pyarrow", "pyspark", "ssl", "http", "crc32c", "zstandard", "botocore"}


@pytest.mark.parametrize("module", ["fetch", "offsets", "produce", "groups", "admin", "pool"])
def test_the_plain_client_loads_nothing_heavy(module: str) -> None:
    code = f"import kafka_protocol.client.{module}, sys; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"kafka_protocol.client.{module}" in loaded.split()
    assert HEAVY & set(loaded.split()) == set()


def test_planning_loads_neither_spark_nor_arrow() -> None:
    code = (
        "import kafka_spark_source.options.read, kafka_spark_source.planning.batch, sys;"
        "import kafka_protocol.client.consumer.fetch;"
        "import kafka_protocol.client.consumer.list_offsets; print(*sys.modules)"
    )
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}; {code}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert not {"pyspark", "pyarrow", "numpy"} & set(loaded.split())
