"""Rows to records, with a fake cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.arrow_io.row_writer import RowWriter, chunks_of
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters, shared_producer
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaConfigError
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.options.partitioners import DEFAULT
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import FakeCluster
from tests.fakes.skipping_time import sleeps_take_no_time

ONLY_VALUE = SinkColumns(0, None, None, None, None, None)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=3)
        yield cluster
        close_shared_clusters()


def writer_to(cluster: FakeCluster, topic: str = "t", **options: str) -> RowWriter:
    servers = ",".join(map(str, cluster.bootstrap_servers))
    named = {name.replace("_", "."): value for name, value in options.items()}
    config = ClientConfig.from_options({"bootstrap.servers": servers} | named)
    return RowWriter(ONLY_VALUE, topic, DEFAULT, config)


def write(writer: RowWriter, batches: Iterator[pa.RecordBatch]) -> int:
    """Write as a task does, and return the number of records."""
    with shared_producer(writer.config) as producer:
        return writer.add(batches, producer)


def rows(*values: bytes | None) -> pa.RecordBatch:
    return pa.record_batch([pa.array(values, pa.binary())], ["value"])


def values_in(cluster: FakeCluster) -> list[bytes | None]:
    logs = (cluster.log(TopicPartition("t", number)) for number in range(3))
    return [record.value for log in logs for record in log.records]


def test_all_rows_are_acknowledged_when_a_task_is_done(cluster: FakeCluster) -> None:
    values = [b"%d" % number for number in range(1_000)] + [None]
    batches = [rows(*values[:400]), rows(), rows(*values[400:])]
    assert write(writer_to(cluster), iter(batches)) == 1_001
    assert sorted(map(str, values_in(cluster))) == sorted(map(str, values))


def test_a_task_without_rows_sends_no_request(cluster: FakeCluster) -> None:
    assert write(writer_to(cluster), iter([])) == 0
    assert not cluster.asked(ProduceRequest)
    assert not cluster.asked(InitProducerIdRequest)


def test_tasks_of_a_worker_share_a_producer(cluster: FakeCluster) -> None:
    """Brokers keep each producer id for a day, in each partition."""
    for _ in range(3):
        write(writer_to(cluster), iter([rows(b"a")]))
    assert len(cluster.asked(InitProducerIdRequest)) == 1
    assert values_in(cluster) == [b"a"] * 3


def test_a_producer_that_failed_is_not_used_again(cluster: FakeCluster) -> None:
    cluster.add_fault(ProduceRequest, error=ErrorCode.INVALID_RECORD, count=1)
    with pytest.raises(BrokerError, match="INVALID_RECORD"):
        write(writer_to(cluster), iter([rows(b"refused")]))
    write(writer_to(cluster), iter([rows(b"a")]))
    assert len(cluster.asked(InitProducerIdRequest)) == 2
    assert values_in(cluster) == [b"a"]


def test_a_failure_of_the_rows_leaves_nothing_pending(cluster: FakeCluster) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield rows(*[b"x" * 1_000] * 9_000)
        raise OSError("no more rows")

    with pytest.raises(OSError, match="no more rows"):
        write(writer_to(cluster), failing())
    assert write(writer_to(cluster), iter([rows(b"a")])) == 1


def test_an_unknown_topic_is_an_error(cluster: FakeCluster) -> None:
    with (
        pytest.raises(BrokerError, match=r"Cannot write to topic 'u'.*UNKNOWN_TOPIC"),
        sleeps_take_no_time(),
    ):
        write(writer_to(cluster, "u"), iter([rows(b"a")]))


def test_a_record_larger_than_a_request_is_an_error(cluster: FakeCluster) -> None:
    writer = writer_to(cluster, max_request_size="2000", batch_size="1000")
    with pytest.raises(KafkaConfigError, match=r"t-\d takes 3,0\d\d bytes.*max\.request\.size"):
        write(writer, iter([rows(b"x" * 3_000)]))


@pytest.mark.parametrize(
    ("codec", "levels"), [("gzip", (1, 9)), ("lz4", (9, 17)), ("zstd", (-9, 19))]
)
def test_compression_levels_reach_the_encoder(
    cluster: FakeCluster, codec: str, levels: tuple[int, int]
) -> None:
    text = b" ".join(b"%d" % (number * number) for number in range(20_000))
    for level in levels:
        options = {"compression_type": codec, f"compression_{codec}_level": str(level)}
        write(writer_to(cluster, **options), iter([rows(text)]))
    sent = [request for _, request, _ in cluster.asked(ProduceRequest)]
    assert len({len(each.topic_data[0].partition_data[0].records) for each in sent}) == 2


# --- Chunks --------------------------------------------------------------------------------------

value_lists = st.lists(st.binary(max_size=40), max_size=30)


@given(st.lists(value_lists, max_size=6), st.integers(1, 500))
def test_chunks_are_the_same_rows_in_order(batches: list[list[bytes]], most_bytes: int) -> None:
    chunks = [*chunks_of((rows(*values) for values in batches), most_bytes)]
    found = [value for chunk in chunks for value in chunk.column(0).to_pylist()]
    assert found == [value for values in batches for value in values]
    assert all(chunk.num_rows for chunk in chunks)


def test_small_batches_go_together_and_large_ones_are_cut() -> None:
    small = [rows(b"x" * 100) for _ in range(100)]
    assert len([*chunks_of(small, 2_000)]) <= 7
    assert len([*chunks_of([rows(*[b"x" * 100] * 100)], 2_000)]) >= 5
    assert len([*chunks_of([rows(*[b"x" * 100] * 35)], 2_000)]) == 1
