"""The data source as Spark calls it, without a broker."""

from __future__ import annotations

import pickle
from inspect import signature
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from pyspark.taskcontext import TaskContext

import pyspark_pykafka
from kafka_formats.errors import NotFoundError
from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_spark_source.reading.batch_reader import KafkaBatchReader
from kafka_spark_source.schema import source_schema
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.writing.batch_writer import KafkaBatchWriter, KafkaCommitMessage
from kafka_spark_source.writing.decision_format import MicroBatch, TaskWrite
from kafka_spark_source.writing.delivery import TaskAttempt, Written
from kafka_spark_source.writing.stream_writer import KafkaStreamWriter
from tests.fakes.cluster import FakeCluster
from tests.fakes.registry import registry, subjects

pytestmark = pytest.mark.core

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
READ = SERVERS | {"subscribe": "orders"}
VALUE = StructType().add("value", "string")


def test_spark_registers_the_source() -> None:
    assert pyspark_pykafka.DefaultSource is KafkaDataSource
    assert KafkaDataSource.name() == "pykafka"


def test_the_schema_equals_that_of_the_batches() -> None:
    """Spark refuses Arrow batches whose schema differs from the one that it derives."""
    for headers in ("false", "true"):
        schema = KafkaDataSource(READ | {"includeHeaders": headers}).schema()
        assert schema == source_schema(include_headers=headers == "true")
    # The default time zone is UTC before PySpark 4.2, and none since.
    parameters = signature(to_arrow_schema).parameters
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in parameters else {}
    assert to_arrow_schema(source_schema(include_headers=True), **zone).equals(RECORD_SCHEMA)


def servers_of(cluster: FakeCluster) -> dict[str, str]:
    return {"kafka.bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers))}


def test_pickled_readers_and_writers_are_small(cluster: FakeCluster) -> None:
    source = KafkaDataSource(READ)
    reader = source.reader(source.schema())
    writer = KafkaDataSource(servers_of(cluster) | {"topic": "t"}).writer(VALUE, overwrite=False)
    assert isinstance(reader, KafkaBatchReader)
    assert isinstance(writer, KafkaBatchWriter)
    for each in (source, reader, writer):
        assert len(pickle.dumps(each)) < 4_000


@pytest.mark.parametrize(
    "options",
    [READ | {"assign": "{}"}, READ | {"startingOffsets": "{"}],
    ids=["two strategies", "broken JSON"],
)
def test_contradictions_are_refused_at_load_with_a_user_schema(options: dict[str, str]) -> None:
    with pytest.raises(KafkaConfigError):
        KafkaDataSource(options)


def test_kafka_options_are_checked_at_load() -> None:
    with pytest.raises(KafkaConfigError, match=r"'kafka\.acks' has the value 'none'"):
        KafkaDataSource(READ | {"kafka.acks": "none"}).schema()


def test_projection_is_checked() -> None:
    with pytest.raises(KafkaConfigError, match="'offset'"):
        KafkaDataSource(READ).reader(StructType().add("offset", "integer"))


def test_a_read_option_in_a_write_is_named() -> None:
    source = KafkaDataSource(READ | {"topic": "t"})
    with pytest.raises(KafkaConfigError, match=r"Option 'subscribe' is for .* not for a write"):
        source.writer(source_schema(include_headers=False), overwrite=False)


def test_overwrite_is_refused() -> None:
    with pytest.raises(KafkaConfigError, match="Save mode Overwrite not allowed for Kafka"):
        KafkaDataSource(SERVERS | {"topic": "t"}).writer(VALUE, overwrite=True)


@pytest.mark.parametrize("method", ["initialOffset", "getDefaultReadLimit"])
def test_a_refused_stream_raises_at_the_first_call(method: str) -> None:
    """`load()` cannot refuse it: Spark does not tell a batch from a stream there."""
    source = KafkaDataSource(READ | {"endingOffsets": "latest"})
    reader = source.streamReader(source.schema())
    with pytest.raises(KafkaConfigError, match="ending offset not valid in streaming queries"):
        getattr(reader, method)()


def test_options_of_neither_batch_nor_stream_are_refused_at_load() -> None:
    with pytest.raises(KafkaConfigError, match="maxOffsetsPerTrigger must be positive"):
        KafkaDataSource(READ | {"maxOffsetsPerTrigger": "0", "startingOffsets": "latest"}).schema()


def test_stream_only_options_are_refused_by_the_batch_reader() -> None:
    source = KafkaDataSource(READ | {"startingOffsets": "latest"})
    with pytest.raises(KafkaConfigError, match="starting offset can't be latest"):
        source.reader(source.schema())


def test_only_a_reader_that_wants_filters_can_take_them() -> None:
    """Spark refuses it where the session's configuration turns pushdown off."""
    reader = KafkaDataSource(READ).reader(source_schema(include_headers=False))
    assert type(reader) is KafkaBatchReader


def test_only_the_source_that_plans_a_micro_batch_takes_the_prefix_over(
    cluster: FakeCluster,
) -> None:
    """Another process commits, with an unpickled copy; a second claim would fence the tasks."""
    once = {"topic": "t", "deliveryGuarantee": "exactly_once", "transactionalIdPrefix": "job"}
    source = KafkaDataSource(servers_of(cluster) | once)
    source.streamWriter(VALUE, overwrite=False)
    claimed = len(cluster.asked(InitProducerIdRequest))
    assert claimed > 0
    pickle.loads(pickle.dumps(source)).streamWriter(VALUE, overwrite=False)
    assert len(cluster.asked(InitProducerIdRequest)) == claimed


def test_the_local_properties_of_a_task_name_its_micro_batch(cluster: FakeCluster) -> None:
    source = KafkaDataSource(servers_of(cluster) | {"topic": "t"})
    writer = source.streamWriter(VALUE, overwrite=False)
    assert isinstance(writer, KafkaStreamWriter)
    context: Any = object.__new__(TaskContext)
    context._localProperties = {"sql.streaming.queryId": "q", "streaming.sql.batchId": "7"}
    assert writer._micro_batch(context) == MicroBatch("q", 7)


def test_commit_message_prints() -> None:
    message = KafkaCommitMessage(
        Written(TaskWrite(partition=1, records=3), TaskAttempt(1, 0, None))
    )
    assert "partition=1, records=3, transaction=None" in repr(message)


ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
AVRO = {"value.format": "avro", "value.schema": ORDER}


def test_the_type_of_a_decoded_column_is_that_of_its_schema() -> None:
    schema = KafkaDataSource(READ | AVRO | {"mode": "PERMISSIVE"}).schema()
    assert [field.name for field in schema][-2:] == ["_error", "_raw"]
    assert schema["value"].dataType == StructType().add("id", "long")
    strict = KafkaDataSource(READ | AVRO).schema()
    assert strict["value"].dataType == StructType().add("id", "long", nullable=False)
    assert strict["value"].nullable


def test_a_reader_decodes_what_its_schema_wants() -> None:
    source = KafkaDataSource(READ | AVRO)
    for reader in (source.reader(source.schema()), source.streamReader(source.schema())):
        (decoder,) = pickle.loads(pickle.dumps(reader))._reader.stages
        assert decoder.schema.field("value").type == pa.struct(
            [pa.field("id", pa.int64(), nullable=False)]
        )
    offsets = source.reader(StructType().add("offset", "long"))
    (decoder,) = vars(offsets)["_reader"].stages
    assert "value" not in decoder.source_columns


def test_a_schema_that_does_not_fit_is_refused() -> None:
    wrong = StructType().add("value", StructType().add("id", "string"))
    source = KafkaDataSource(READ | AVRO)
    with pytest.raises(KafkaConfigError, match="the field 'id' has the type int64, not string"):
        source.reader(wrong)
    reader = source.streamReader(wrong)
    with pytest.raises(KafkaConfigError, match="the field 'id' has the type int64, not string"):
        reader.initialOffset()


def test_a_schema_that_does_not_exist_is_told_at_load_and_by_a_stream() -> None:
    with registry(subjects()) as fake:
        missing = {"value.format": "avro", "schema.registry.url": fake.url}
        source = KafkaDataSource(READ | missing)
        with pytest.raises(NotFoundError, match="subject 'orders-value', version latest: "):
            source.schema()
        reader = source.streamReader(StructType().add("value", StructType().add("id", "long")))
        with pytest.raises(NotFoundError, match="subject 'orders-value', version latest: "):
            reader.initialOffset()


def test_a_struct_is_written_with_its_schema(cluster: FakeCluster) -> None:
    to = servers_of(cluster) | AVRO | {"topic": "t"}
    rows = StructType().add("value", StructType().add("id", "long"))
    writer = pickle.loads(pickle.dumps(KafkaDataSource(to).writer(rows, overwrite=False)))
    assert writer._delivery.rows.encoder.encoders[0].frame == b""
    with pytest.raises(KafkaConfigError, match="Column 'value' cannot be written with the option"):
        KafkaDataSource(to).writer(VALUE, overwrite=False)
    with pytest.raises(KafkaConfigError, match="value attribute unsupported type struct"):
        KafkaDataSource(SERVERS | {"topic": "t"}).writer(rows, overwrite=False)


GROUP = {
    "kafka.bootstrap.servers": "localhost:1",
    "subscribe": "t",
    "kafka.group.id": "g",
}


@pytest.mark.parametrize("wanted", [{"commitOffsetsToGroup": "true"}, {"startingOffsets": "group"}])
def test_a_stream_that_uses_its_group_is_not_told_otherwise(
    wanted: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """At `load()` it is not known yet whether a batch is read, where the group has no effect."""
    source = KafkaDataSource({**GROUP, **wanted})
    source.streamReader(source.schema())
    assert caplog.messages == []


def test_a_batch_is_told_once_that_a_group_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    source = KafkaDataSource(dict(GROUP))
    source.reader(source.schema())
    assert caplog.messages == ["The option kafka.group.id has no effect in pykafka."]


@pytest.mark.parametrize("option", ["mode", "deadLetterTopic"])
def test_what_is_for_broken_payloads_needs_a_column_that_can_be_broken(option: str) -> None:
    source = KafkaDataSource(READ | {option: "DROPMALFORMED"})
    with pytest.raises(KafkaConfigError, match=f"Option '{option}' needs a column that is decoded"):
        source.schema()
    with pytest.raises(KafkaConfigError, match=f"Option '{option}' needs a column that is decoded"):
        source.reader(StructType().add("value", "binary"))
    assert isinstance(source.reader(VALUE), KafkaBatchReader)


def test_what_tasks_get_has_references_and_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONE", "eu-1a")
    monkeypatch.setenv("KAFKA_PASSWORD", "correct horse")
    secret = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "u",
        "kafka.sasl.password": "${env:KAFKA_PASSWORD}",
        "kafka.client.rack": "${env:ZONE}",
        "kafka.group.id": "readers-${env:ZONE}",
    }
    with registry(subjects(orders__value=[{"schema": ORDER, "id": 1}])) as fake:
        decoded = {
            "value.format": "avro",
            "schema.registry.url": fake.url,
            "schema.registry.basic.auth.user.info": "u:${env:KAFKA_PASSWORD}",
        }
        options = {**READ, **secret, **decoded}
        source = KafkaDataSource(options)
        columns = source.schema()
        batch = source.reader(columns)
        wanted = {"commitOffsetsToGroup": "true"}
        stream: Any = KafkaDataSource({**options, **wanted}).streamReader(columns)
        assert stream.options.group_id == "readers-eu-1a"
        del options["subscribe"]
        sink = KafkaDataSource({**options, "topic": "orders"})
        delivery = sink._delivery(StructType([columns["value"]]), plans_tasks=False)
        for made in (batch, stream, delivery):
            assert b"correct horse" not in pickle.dumps(made), type(made)
        monkeypatch.setenv("ZONE", "eu-1b")
        assert pickle.loads(pickle.dumps(batch))._config.client_rack == "eu-1b"
