"""The methods that Spark calls of each release's reader, with fake brokers."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

import pytest
from pyspark.sql.datasource import InputPartition

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.schema import source_schema
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.streaming.reader_40 import KafkaStreamReader40
from kafka_spark_source.streaming.stream_reader import NOT_LOGGED_MARK, KafkaStreamReader
from tests.fakes.batch_reading import Rows, Task
from tests.fakes.cluster import FakeCluster
from tests.fakes.stream_reading import HAS_READ_LIMITS, since_4_2

pytestmark = pytest.mark.core

T0, T1 = (TopicPartition("t", number) for number in range(2))

Logged: TypeAlias = dict[str, Any]
Begin: TypeAlias = Callable[..., Any]

EARLIEST = {"startingOffsets": "earliest"}


@pytest.fixture
def cluster(partitions_are_never_fresh: None) -> Iterator[FakeCluster]:
    """t-0 with the records a, b and c; t-1 with none. Partitions are requested each time."""
    with FakeCluster() as cluster:
        cluster.add_topic("t", partitions=2)
        for value in (b"a", b"b", b"c"):
            cluster.append(T0, value)
        yield cluster
        close_shared_clusters()


@pytest.fixture
def begin(cluster: FakeCluster) -> Iterator[Begin]:
    """Starts or restarts queries with one of the readers."""
    begun: list[KafkaStreamReader] = []

    def make(kind: type[KafkaStreamReader], **options: str) -> KafkaStreamReader:
        servers = ",".join(map(str, cluster.bootstrap_servers))
        strategy = {} if "subscribePattern" in options else {"subscribe": "t"}
        parsed = parse_stream_options({"kafka.bootstrap.servers": servers} | strategy | options)
        config = ClientConfig.from_options(parsed.kafka)
        begun.append(kind(parsed, config, source_schema(include_headers=parsed.include_headers)))
        return begun[-1]

    yield make
    for reader in begun:
        reader.stop()


@pytest.fixture
def begin_40(begin: Begin) -> Begin:
    return lambda **options: begin(KafkaStreamReader40, **options)


@pytest.fixture
def begin_42(begin: Begin) -> Begin:
    module = import_module("kafka_spark_source.streaming.reader_42")
    return lambda **options: begin(module.KafkaStreamReader42, **options)


def at(*offsets: int) -> Logged:
    """Offsets of t as in Spark's log."""
    return {"t": {str(number): offset for number, offset in enumerate(offsets)}}


def ranges(partitions: list[InputPartition]) -> list[tuple[int, int, int]]:
    """The partition, first and last offset of each range."""
    wanted = [planned.wanted for each in partitions for planned in each.value]
    return [(each.topic_partition.partition, *each[1:]) for each in wanted]


def read(reader: KafkaStreamReader, partitions: list[InputPartition]) -> Rows:
    """Run the tasks on pickled copies of reader and partitions."""
    return [row for each in partitions for row in Task(pickle.dumps((reader, each))).rows()]


# --- All releases --------------------------------------------------------------------------------


def test_logged_offsets_are_sorted(cluster: FakeCluster, begin_40: Begin) -> None:
    cluster.add_topic("t", partitions=12)
    logged = begin_40().latestOffset()
    assert logged == at(*[0] * 12)
    assert [*logged["t"]] == [str(number) for number in range(12)]


def test_an_empty_offset_is_logged_with_the_topic_name(begin_40: Begin) -> None:
    """Spark's own connector takes `{}` for no offset at all (SPARK-41375)."""
    reader = begin_40(subscribePattern="none-.*")
    assert reader.initialOffset() == {"none-.*": {}} | NOT_LOGGED_MARK
    assert reader.latestOffset() == {"none-.*": {}}
    assert reader.partitions({"none-.*": {}}, {"none-.*": {}}) == []


def test_tasks_read_what_was_planned(begin_40: Begin) -> None:
    reader = begin_40(**EARLIEST)
    planned = reader.partitions(reader.initialOffset(), reader.latestOffset())
    assert ranges(planned) == [(0, 0, 3)]
    assert read(reader, planned) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_a_task_without_a_range_reads_nothing(begin_40: Begin) -> None:
    """Spark starts such a task if no range is planned."""
    reader = begin_40()
    assert [*reader.read(InputPartition(None))] == []


def test_a_pickled_reader_is_small_and_has_no_connection(begin_40: Begin) -> None:
    reader = begin_40(**EARLIEST)
    reader.initialOffset()
    travelled = pickle.dumps(reader)
    assert len(travelled) < 4_000
    assert pickle.loads(travelled).batches is None


@pytest.mark.parametrize("logged", [{"t": 3}, {"t": {"x": 3}}, {"t": {"0": -1}}, [], None], ids=str)
def test_a_checkpoint_of_another_source_is_refused(begin_40: Begin, logged: Any) -> None:
    with pytest.raises(KafkaConfigError, match="use a checkpointLocation of this query's own"):
        begin_40().partitions(logged, at(3, 0))


def test_an_ignored_option_is_a_warning(begin_40: Begin, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        begin_40(endingTimestamp="5").initialOffset()
    assert "The option endingTimestamp has no effect in a stream." in caplog.text


def test_commit_sends_the_offsets_to_the_group(cluster: FakeCluster, begin_40: Begin) -> None:
    reader = begin_40(commitOffsetsToGroup="true", **{"kafka.group.id": "g"})
    reader.commit(at(2, 0))
    assert cluster.committed == {"g": {T0: 2, T1: 0}}


def test_each_release_has_its_reader(cluster: FakeCluster) -> None:
    servers = ",".join(map(str, cluster.bootstrap_servers))
    source = KafkaDataSource({"kafka.bootstrap.servers": servers, "subscribe": "t"})
    name = "KafkaStreamReader42" if HAS_READ_LIMITS else "KafkaStreamReader40"
    assert type(source.streamReader(source.schema())).__name__ == name


# --- PySpark 4.0 and 4.1 -------------------------------------------------------------------------


def test_reader_40_a_query_begins_at_its_start(cluster: FakeCluster, begin_40: Begin) -> None:
    reader = begin_40()
    start = reader.initialOffset()
    cluster.append(T0, b"d")
    end = reader.latestOffset()
    assert start == end | NOT_LOGGED_MARK == at(3, 0) | NOT_LOGGED_MARK, "pinned"
    assert reader.partitions(start, end) == []
    end = reader.latestOffset()
    assert read(reader, reader.partitions(start, end)) == [(3, b"d")]


def test_reader_40_a_query_continues_after_the_last_planned_end(
    cluster: FakeCluster, begin_40: Begin
) -> None:
    """Spark first plans an empty micro-batch at the offset of the checkpoint."""
    reader = begin_40(maxOffsetsPerTrigger="1", **EARLIEST)
    assert reader.partitions(at(1, 0), at(1, 0)) == []
    for start, end in ((at(1, 0), at(2, 0)), (at(2, 0), at(3, 0)), (at(3, 0), at(3, 0))):
        assert reader.latestOffset() == end
        assert len(reader.partitions(start, end)) == (0 if start == end else 1)


def test_reader_40_a_repeated_micro_batch_is_followed_by_the_next(begin_40: Begin) -> None:
    reader = begin_40(**EARLIEST)
    assert ranges(reader.partitions(at(0, 0), at(2, 0))) == [(0, 0, 2)]
    assert reader.latestOffset() == at(3, 0)


def test_reader_40_a_relative_start_is_refused(begin_40: Begin) -> None:
    """These releases do not say whether a second micro-batch follows."""
    reader = begin_40(startingOffsets="latest-1")
    reader.initialOffset()
    with pytest.raises(KafkaConfigError, match=r"PySpark\s+4\.2 or newer"):
        reader.latestOffset()


# --- PySpark 4.2 and later -----------------------------------------------------------------------


@since_4_2
def test_reader_42_the_default_read_limit(begin_42: Begin) -> None:
    assert begin_42(maxOffsetsPerTrigger="7").getDefaultReadLimit().max_rows == 7
    assert begin_42().getDefaultReadLimit().max_rows == 2**63 - 1


@since_4_2
def test_reader_42_a_micro_batch_begins_where_spark_says(begin_42: Begin) -> None:
    reader = begin_42(maxOffsetsPerTrigger="1", **EARLIEST)
    limit = reader.getDefaultReadLimit()
    position, ends = reader.initialOffset(), []
    while (end := reader.latestOffset(position, limit)) != position:
        ends.append(end)
        assert len(reader.partitions(position, end)) == 1
        position = end
    assert ends == [at(1, 0), at(2, 0), at(3, 0)]


@since_4_2
def test_reader_42_an_end_with_nothing_to_read_has_the_text_of_the_start(begin_42: Begin) -> None:
    reader = begin_42()
    start = {"t": {"1": 0, "0": 3}}
    end = reader.latestOffset(start, reader.getDefaultReadLimit())
    assert json.dumps(end) == json.dumps(start)


@since_4_2
def test_reader_42_the_mark_shows_a_new_query(cluster: FakeCluster, begin_42: Begin) -> None:
    """Spark also requests the start if the commit of the first micro-batch was lost."""
    reader = begin_42()
    limit = reader.getDefaultReadLimit()
    start = reader.initialOffset()
    assert start == at(3, 0) | NOT_LOGGED_MARK
    cluster.append(T0, b"d")
    assert reader.latestOffset(start, limit) == at(3, 0), "pinned, and without the mark"
    assert reader.latestOffset(at(3, 0), limit) == at(4, 0)


@since_4_2
def test_reader_42_trigger_once_reads_all(begin_42: Begin) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable  # noqa: PLC0415

    reader = begin_42(maxOffsetsPerTrigger="1", **EARLIEST)
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable()) == at(3, 0)
    relative = begin_42(startingOffsets="latest-1")
    with pytest.raises(KafkaConfigError, match=r"Trigger\.Once"):
        relative.latestOffset(relative.initialOffset(), ReadAllAvailable())


@since_4_2
def test_reader_42_available_now_ends_at_the_first_log_ends(
    cluster: FakeCluster, begin_42: Begin
) -> None:
    reader = begin_42(**EARLIEST)
    limit = reader.getDefaultReadLimit()
    reader.prepareForTriggerAvailableNow()
    cluster.append(T0, b"d")
    end = reader.latestOffset(reader.initialOffset(), limit)
    assert end == at(4, 0), "the target is fixed by the first latestOffset"
    cluster.append(T0, b"e")
    assert reader.latestOffset(end, limit) == end


@since_4_2
def test_reader_42_last_log_ends_are_reported(cluster: FakeCluster, begin_42: Begin) -> None:
    reader = begin_42(maxOffsetsPerTrigger="1", **EARLIEST)
    assert reader.reportLatestOffset() is None
    start = reader.initialOffset()
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) == at(1, 0)
    assert reader.reportLatestOffset() == at(3, 0)


@since_4_2
def test_reader_42_an_empty_offset_is_not_reported(begin_42: Begin) -> None:
    reader = begin_42(subscribePattern="none")
    start = reader.initialOffset()
    assert start == {"none": {}} | NOT_LOGGED_MARK
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset(start, limit) == reader.latestOffset({"none": {}}, limit)
    assert reader.reportLatestOffset() is None
