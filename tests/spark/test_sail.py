"""The data source as Sail calls it, without Sail; `make test-sail` has the same with it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.sail import SailDataSource, _SailReader
from kafka_spark_source.writing.batch_writer import KafkaBatchWriter
from kafka_spark_source.writing.delivery import UNKNOWN_TASK
from tests.fakes.cluster import FakeCluster

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
READ = SERVERS | {"subscribe": "orders"}
WRITE = SERVERS | {"topic": "orders"}
VALUE = pa.schema([("value", pa.string())])


def test_schemas_are_arrows() -> None:
    assert SailDataSource(READ | {"includeHeaders": "true"}).schema().equals(RECORD_SCHEMA)


def test_readers_and_writers_are_pickled(cluster: FakeCluster) -> None:
    source = SailDataSource(READ)
    reader = pickle.loads(pickle.dumps(source.reader(source.schema())))
    assert isinstance(reader, DataSourceReader)
    to = {"topic": "t", "kafka.bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers))}
    writer = pickle.loads(pickle.dumps(SailDataSource(to).writer(VALUE, overwrite=False)))
    assert isinstance(writer, KafkaBatchWriter)
    assert writer._task() == UNKNOWN_TASK


class Reads(DataSourceReader):
    """A reader with one batch, which notes the filters."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch
        self.filters: list[object] = []

    def pushFilters(self, filters):  # type: ignore[no-untyped-def]
        self.filters += filters
        return filters

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(7)]

    def read(self, partition):  # type: ignore[no-untyped-def]
        assert partition.value == 7
        yield self.batch


def test_batches_get_the_schema_of_sail() -> None:
    def schema_of(zone: str, item: str) -> pa.Schema:
        tags = pa.list_(pa.field(item, pa.string()))
        return pa.schema([("at", pa.timestamp("us", zone)), ("tags", tags)])

    inner, outer = schema_of("UTC", "element"), schema_of("Etc/UTC", "item")
    columns = [pa.array([1], inner.types[0]), pa.array([["a", None]], inner.types[1])]
    reads = Reads(pa.RecordBatch.from_arrays(columns, schema=inner))
    reader = _SailReader(reads, outer)
    (partition,) = reader.partitions()
    (batch,) = reader.read(partition)
    assert batch.schema == outer
    assert batch["tags"].to_pylist() == [["a", None]]
    assert batch["at"].cast(pa.int64()).to_pylist() == [1]


def test_filters_reach_the_reader() -> None:
    reads = Reads(pa.record_batch({"offset": [1]}))
    filters = [object()]
    assert _SailReader(reads, reads.batch.schema).pushFilters(filters) == filters  # type: ignore[arg-type]
    assert reads.filters == filters


def test_what_needs_spark_is_refused() -> None:
    once = WRITE | {"deliveryGuarantee": "exactly_once", "transactionalIdPrefix": "job"}
    with pytest.raises(KafkaConfigError, match="'exactly_once' needs Apache Spark"):
        SailDataSource(once).writer(VALUE, overwrite=False)
    with pytest.raises(KafkaConfigError, match="'maxOffsetsPerTrigger' needs Apache Spark"):
        SailDataSource(READ | {"maxOffsetsPerTrigger": "9"}).reader(RECORD_SCHEMA)
    with pytest.raises(KafkaConfigError, match="A stream needs Apache Spark"):
        SailDataSource(READ).streamReader(VALUE)
    with pytest.raises(KafkaConfigError, match="A stream needs Apache Spark"):
        SailDataSource(WRITE).streamWriter(VALUE, overwrite=False)
