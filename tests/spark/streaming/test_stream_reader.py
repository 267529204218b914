"""What Spark calls, as it calls it, of each release's reader; brokers are scripted."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

import pytest
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import parse_stream_options
from kafka_spark_source.schema import source_schema
from kafka_spark_source.source import KafkaDataSource
from kafka_spark_source.streaming.reader_40 import PlainStreamReader
from kafka_spark_source.streaming.stream_reader import MARK, KafkaStreamReader
from tests.fakes.batch_reading import Rows, Task
from tests.fakes.cluster import ScriptedCluster

T0, T1 = (TopicPartition("t", number) for number in range(2))

KNOWS_LIMITS = hasattr(DataSourceStreamReader, "getDefaultReadLimit")
since_4_2 = pytest.mark.skipif(not KNOWS_LIMITS, reason="PySpark below 4.2 knows no read limits")

Logged: TypeAlias = dict[str, Any]
Begin: TypeAlias = Callable[..., Any]

EARLIEST = {"startingOffsets": "earliest"}


@pytest.fixture
def cluster(each_trigger_looks_anew: None) -> Iterator[ScriptedCluster]:
    """t-0 with the records a, b and c; t-1 with none. Partitions are looked for each time."""
    with ScriptedCluster() as cluster:
        cluster.add_topic("t", partitions=2)
        for value in (b"a", b"b", b"c"):
            cluster.append(T0, value)
        yield cluster
        close_shared_clusters()


@pytest.fixture
def begin(cluster: ScriptedCluster) -> Iterator[Begin]:
    """Begins queries, or begins them again, with one of the readers."""
    begun: list[KafkaStreamReader] = []

    def make(kind: type[KafkaStreamReader], **options: str) -> KafkaStreamReader:
        servers = ",".join(map(str, cluster.bootstrap_servers))
        strategy = {} if "subscribePattern" in options else {"subscribe": "t"}
        parsed = parse_stream_options({"kafka.bootstrap.servers": servers} | strategy | options)
        config = ClientConfig.from_options(parsed.kafka)
        begun.append(kind(parsed, config, source_schema(parsed.include_headers)))
        return begun[-1]

    yield make
    for reader in begun:
        reader.stop()


@pytest.fixture
def plain(begin: Begin) -> Begin:
    return lambda **options: begin(PlainStreamReader, **options)


@pytest.fixture
def limited(begin: Begin) -> Begin:
    module = import_module("kafka_spark_source.streaming.reader_42")
    return lambda **options: begin(module.LimitedStreamReader, **options)


def at(*offsets: int) -> Logged:
    """Offsets of t as they stand in Spark's log."""
    return {"t": {str(number): offset for number, offset in enumerate(offsets)}}


def ranges(partitions: list[InputPartition]) -> list[tuple[int, int, int]]:
    """Partition, from and until."""
    wanted = [each.value.wanted for each in partitions]
    return [(each.topic_partition.partition, *each[1:]) for each in wanted]


def read(reader: KafkaStreamReader, partitions: list[InputPartition]) -> Rows:
    """Run the tasks, on what travels to them."""
    return [row for each in partitions for row in Task(pickle.dumps((reader, each))).rows()]


# --- What all of them do -------------------------------------------------------------------------


def test_offsets_are_logged_as_the_next_ones_sorted(cluster: ScriptedCluster, plain: Begin) -> None:
    cluster.add_topic("t", partitions=12)
    logged = plain().latestOffset()
    assert logged == at(*[0] * 12)
    assert [*logged["t"]] == [str(number) for number in range(12)]


def test_nothing_at_all_is_logged_by_name(plain: Begin) -> None:
    """Spark's own connector takes `{}` for no offset at all (SPARK-41375)."""
    reader = plain(subscribePattern="none-.*")
    assert reader.initialOffset() == {"none-.*": {}} | MARK
    assert reader.latestOffset() == {"none-.*": {}}
    assert reader.partitions({"none-.*": {}}, {"none-.*": {}}) == []


def test_a_topic_that_comes_where_nothing_was_is_read_from_its_beginning(
    cluster: ScriptedCluster, plain: Begin
) -> None:
    reader = plain(subscribePattern="^u$")
    nothing = reader.initialOffset()
    assert reader.partitions(nothing, reader.latestOffset()) == []
    cluster.add_topic("u")
    cluster.append(TopicPartition("u", 0), b"x")
    end = reader.latestOffset()
    assert end == {"u": {"0": 1}}
    assert read(reader, reader.partitions(nothing, end)) == [(0, b"x")]


def test_tasks_read_what_was_planned(plain: Begin) -> None:
    reader = plain(**EARLIEST)
    planned = reader.partitions(reader.initialOffset(), reader.latestOffset())
    assert ranges(planned) == [(0, 0, 3)]
    assert read(reader, planned) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_a_task_without_a_range_reads_nothing(plain: Begin) -> None:
    """Spark makes one where none is planned."""
    reader = plain()
    assert [*reader.read(InputPartition(None))] == []


def test_what_travels_to_a_task_is_small_and_holds_no_connection(plain: Begin) -> None:
    reader = plain(**EARLIEST)
    reader.initialOffset()
    travelled = pickle.dumps(reader)
    assert len(travelled) < 4_000
    assert pickle.loads(travelled).batches is None


@pytest.mark.parametrize("logged", [{"t": 3}, {"t": {"x": 3}}, {"t": {"0": -1}}, [], None])
def test_a_checkpoint_of_another_source_is_refused(plain: Begin, logged: Any) -> None:
    with pytest.raises(KafkaConfigError, match="use a checkpointLocation of this query's own"):
        plain().partitions(logged, at(3, 0))


def test_an_option_of_no_effect_is_told_when_the_query_begins(
    plain: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        plain(endingTimestamp="5").initialOffset()
    assert "The option endingTimestamp has no effect in a stream." in caplog.text


def test_what_is_done_is_committed_to_the_group(cluster: ScriptedCluster, plain: Begin) -> None:
    reader = plain(commitOffsetsToGroup="true", **{"kafka.group.id": "g"})
    reader.commit(at(2, 0))
    assert cluster.committed == {"g": {T0: 2, T1: 0}}


def test_each_release_has_its_reader(cluster: ScriptedCluster) -> None:
    servers = ",".join(map(str, cluster.bootstrap_servers))
    source = KafkaDataSource({"kafka.bootstrap.servers": servers, "subscribe": "t"})
    name = "LimitedStreamReader" if KNOWS_LIMITS else "PlainStreamReader"
    assert type(source.streamReader(source.schema())).__name__ == name


# --- PySpark below 4.2 ---------------------------------------------------------------------------


def test_plain_a_new_query_begins_at_its_start(cluster: ScriptedCluster, plain: Begin) -> None:
    reader = plain()
    start = reader.initialOffset()
    cluster.append(T0, b"d")
    end = reader.latestOffset()
    assert start == end | MARK == at(3, 0) | MARK, "pinned"
    assert reader.partitions(start, end) == []
    end = reader.latestOffset()
    assert read(reader, reader.partitions(start, end)) == [(3, b"d")]


def test_plain_a_query_goes_on_where_spark_planned_last(
    cluster: ScriptedCluster, plain: Begin
) -> None:
    """It plans an empty micro-batch at the offset of its checkpoint before anything else."""
    reader = plain(maxOffsetsPerTrigger="1", **EARLIEST)
    assert reader.partitions(at(1, 0), at(1, 0)) == []
    for start, end in ((at(1, 0), at(2, 0)), (at(2, 0), at(3, 0)), (at(3, 0), at(3, 0))):
        assert reader.latestOffset() == end
        assert len(reader.partitions(start, end)) == (0 if start == end else 1)


def test_plain_a_micro_batch_that_is_run_again_is_followed_by_the_next(plain: Begin) -> None:
    reader = plain(**EARLIEST)
    assert ranges(reader.partitions(at(0, 0), at(2, 0))) == [(0, 0, 2)]
    assert reader.latestOffset() == at(3, 0)


def test_plain_a_first_micro_batch_that_is_run_again_reads_the_same(
    cluster: ScriptedCluster, plain: Begin
) -> None:
    end = plain().latestOffset()
    cluster.append(T0, b"d")
    again = plain()
    assert again.partitions(again.initialOffset(), end) == []
    assert read(again, again.partitions(end, again.latestOffset())) == [(3, b"d")]


def test_plain_a_relative_start_is_refused(plain: Begin) -> None:
    """Whether there will be a second micro-batch, these releases do not tell."""
    reader = plain(startingOffsets="latest-1")
    reader.initialOffset()
    with pytest.raises(KafkaConfigError, match=r"PySpark\s+4\.2 or newer"):
        reader.latestOffset()


# --- PySpark since 4.2 ---------------------------------------------------------------------------


@since_4_2
def test_limited_the_limit_is_told(limited: Begin) -> None:
    assert limited(maxOffsetsPerTrigger="7").getDefaultReadLimit().max_rows == 7
    assert limited().getDefaultReadLimit().max_rows == 2**63 - 1


@since_4_2
def test_limited_a_micro_batch_begins_where_spark_says(limited: Begin) -> None:
    reader = limited(maxOffsetsPerTrigger="1", **EARLIEST)
    limit = reader.getDefaultReadLimit()
    position, ends = reader.initialOffset(), []
    while (end := reader.latestOffset(position, limit)) != position:
        ends.append(end)
        assert len(reader.partitions(position, end)) == 1
        position = end
    assert ends == [at(1, 0), at(2, 0), at(3, 0)]


@since_4_2
def test_limited_a_new_query_is_known_by_the_mark_that_its_start_has(
    cluster: ScriptedCluster, limited: Begin
) -> None:
    """One whose first micro-batch was done, and its commit lost, is asked for its start as well."""
    reader = limited()
    limit = reader.getDefaultReadLimit()
    start = reader.initialOffset()
    assert start == at(3, 0) | MARK
    cluster.append(T0, b"d")
    assert reader.latestOffset(start, limit) == at(3, 0), "pinned, and without the mark"
    assert reader.latestOffset(at(3, 0), limit) == at(4, 0)


@since_4_2
def test_limited_trigger_once_reads_all(limited: Begin) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable  # noqa: PLC0415

    reader = limited(maxOffsetsPerTrigger="1", **EARLIEST)
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable()) == at(3, 0)
    relative = limited(startingOffsets="latest-1")
    with pytest.raises(KafkaConfigError, match=r"Trigger\.Once"):
        relative.latestOffset(relative.initialOffset(), ReadAllAvailable())


@since_4_2
def test_limited_available_now_ends_where_it_began(
    cluster: ScriptedCluster, limited: Begin
) -> None:
    reader = limited(**EARLIEST)
    limit = reader.getDefaultReadLimit()
    reader.prepareForTriggerAvailableNow()
    cluster.append(T0, b"d")
    end = reader.latestOffset(reader.initialOffset(), limit)
    assert end == at(4, 0), "what is there is what is there at the first look"
    cluster.append(T0, b"e")
    assert reader.latestOffset(end, limit) == end


@since_4_2
def test_limited_the_ends_at_the_last_look_are_reported(
    cluster: ScriptedCluster, limited: Begin
) -> None:
    reader = limited(maxOffsetsPerTrigger="1", **EARLIEST)
    assert reader.reportLatestOffset() is None
    start = reader.initialOffset()
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) == at(1, 0)
    assert reader.reportLatestOffset() == at(3, 0)


@since_4_2
def test_limited_nothing_at_all_is_logged_by_name_and_not_reported(limited: Begin) -> None:
    reader = limited(subscribePattern="none")
    start = reader.initialOffset()
    assert start == {"none": {}} | MARK
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset(start, limit) == reader.latestOffset({"none": {}}, limit)
    assert reader.reportLatestOffset() is None
