"""The tasks of a read, without Spark."""

from __future__ import annotations

import pytest
from pyspark.sql.datasource import InputPartition

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.reading.input_partition import read_partition
from kafka_spark_source.reading.range_reader import RangeReader

NO_VALUE = object.__new__(InputPartition)


@pytest.mark.parametrize("partition", [NO_VALUE, InputPartition(None)], ids=["newer", "4.0"])
def test_the_partition_that_spark_makes_of_an_empty_list_has_no_rows(
    partition: InputPartition,
) -> None:
    config = ClientConfig.from_options({"bootstrap.servers": "localhost:9092"})
    reader = RangeReader(("value",), fail_on_data_loss=True, poll_timeout_ms=1_000)
    assert [*read_partition(reader, config, partition)] == []
