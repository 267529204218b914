"""envelope=upsert in batches and streams, against fake brokers: the newest record of each key.

`tests/formats/upsert` compares the result with a dict. Here its input is right: whole partitions,
whatever options and filters say, and the columns of a projection.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from kafka_formats.errors import NullKeyError
from kafka_protocol.client.pool import close_shared_clusters
from kafka_protocol.errors import DataLossError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.reading.batch_reader import FilteringBatchReader, KafkaBatchReader
from kafka_spark_source.source import KafkaDataSource
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import keyed_batch_of
from tests.fakes.stream_reading import Query

T0, T1, U0 = (TopicPartition(t, p) for t, p in [("t", 0), ("t", 1), ("u", 0)])
COLUMNS: Final = ("topic", "partition", "offset", "key", "value", "op")
HAS_FILTERS: Final = hasattr(datasource, "EqualTo")

Pair = tuple[bytes | None, bytes | None]
Row = tuple[str, int, int, bytes | None, bytes | None, str]

BATCHES: Final[dict[TopicPartition, list[list[Pair]]]] = {
    T0: [[(b"a", b"1"), (b"b", b"1"), (b"a", b"2")], [(b"c", b"1"), (b"b", None)]],
    T1: [[(b"a", b"9")], [(b"", b"1"), (b"d", None)]],
    U0: [[(b"a", b"7"), (b"a", b"8")]],
}
KEPT: Final = {"upsert_tombstones": "keep"}
OF_T0: Final = [("t", 0, 2, b"a", b"2", "u"), ("t", 0, 3, b"c", b"1", "u")]
DELETED: Final = [("t", 0, 4, b"b", None, "d"), ("t", 1, 2, b"d", None, "d")]
NEWEST: Final[list[Row]] = [
    *OF_T0,
    *[("t", 1, 0, b"a", b"9", "u"), ("t", 1, 1, b"", b"1", "u")],
    ("u", 0, 1, b"a", b"8", "u"),
]


@contextmanager
def filled(
    batches: dict[TopicPartition, list[list[Pair]]] = BATCHES,
) -> Iterator[FakeCluster]:
    with FakeCluster(1) as cluster:
        cluster.add_topic("t", 2)
        cluster.add_topic("u")
        for partition, written in batches.items():
            for pairs in written:
                cluster.log(partition).append(keyed_batch_of(*pairs))
        try:
            yield cluster
        finally:
            close_shared_clusters()


def reader_of(
    cluster: FakeCluster, columns: Sequence[str] = COLUMNS, **options: object
) -> KafkaBatchReader:
    named = {name.replace("_", "."): str(value) for name, value in options.items()}
    servers = {"kafka.bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers))}
    source = KafkaDataSource({"subscribe": "t,u", "envelope": "upsert", **servers, **named})
    schema = source.schema()
    reader = source.reader(StructType([schema[name] for name in columns]))
    assert isinstance(reader, KafkaBatchReader)
    return reader


def tasks_of(reader: KafkaBatchReader) -> list[list[tuple[Any, ...]]]:
    """The rows of each task, as Spark runs it."""
    return [
        rows_of(pickle.loads(pickle.dumps(reader)), partition) for partition in reader.partitions()
    ]


def rows_of(reader: KafkaBatchReader, partition: InputPartition) -> list[tuple[Any, ...]]:
    batches = reader.read(partition)
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def read(cluster: FakeCluster, **options: Any) -> list[tuple[Any, ...]]:
    return [row for task in tasks_of(reader_of(cluster, **options)) for row in task]


def test_the_columns_of_a_table() -> None:
    options = {"kafka.bootstrap.servers": "b:1", "subscribe": "t", "envelope": "upsert"}
    assert KafkaDataSource(options | {"includeHeaders": "true"}).schema().names == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType"),
        *("headers", "topicId", "op"),
    ]


def test_the_newest_record_of_each_key_of_each_partition() -> None:
    with filled() as cluster:
        assert tasks_of(reader_of(cluster)) == [NEWEST]
        assert sorted(read(cluster, **KEPT)) == sorted([*NEWEST, *DELETED])


def test_a_key_in_several_responses_is_one_row() -> None:
    """A range that a task reads alone, and ranges that it reads together."""
    pairs: list[list[Pair]] = [[(b"a", b"%d" % number)] for number in range(9)]
    with filled({T0: pairs, T1: pairs}) as cluster:
        for whole in (True, False):
            tasks = tasks_of(
                reader_of(
                    cluster,
                    subscribe="t",
                    coalescePartitions=whole,
                    kafka_max_partition_fetch_bytes=1,
                )
            )
            rows = [row for task in tasks for row in task]
            assert rows == [("t", part, 8, b"a", b"8", "u") for part in (0, 1)]
            assert len(tasks) == (1 if whole else 2)


@pytest.mark.parametrize(
    ("options", "tasks"),
    [
        ({"coalescePartitions": False}, 3),
        ({"minPartitions": 100}, 3),
        ({"minPartitions": 2}, 2),
        ({"kafka_max_partition_fetch_bytes": 1}, 1),
    ],
    ids=str,
)
def test_no_option_splits_a_partition(options: dict[str, Any], tasks: int) -> None:
    with filled() as cluster:
        reader = reader_of(cluster, **options)
        found = tasks_of(reader)
        assert len(found) == tasks
        assert sorted(row for task in found for row in task) == sorted(NEWEST)


def test_positions_bound_the_records_that_count() -> None:
    with filled() as cluster:
        of_range = read(
            cluster,
            subscribe="t",
            startingOffsets='{"t":{"0":1,"1":-2}}',
            endingOffsets='{"t":{"0":4,"1":0}}',
        )
        assert of_range == [("t", 0, 1, b"b", b"1", "u"), *OF_T0]


@pytest.mark.skipif(not HAS_FILTERS, reason="PySpark 4.0 pushes no filters")
def test_filters_leave_out_whole_partitions_only() -> None:
    """With records before offset 1 only, the older record of the key would be the newest."""
    kept = datasource.EqualTo(("topic",), "t"), datasource.LessThan(("partition",), 1)
    cutting = datasource.LessThan(("offset",), 1), datasource.GreaterThan(("offset",), 2)
    with filled() as cluster:
        reader = reader_of(cluster, pushDownPredicate=True)
        assert isinstance(reader, FilteringBatchReader)
        assert [*reader.pushFilters([*kept, *cutting])] == [*kept, *cutting]
        assert tasks_of(reader) == [OF_T0]


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (("offset", "op"), [(2, "u"), (3, "u"), (4, "d")]),
        (("value",), [(b"2",), (b"1",), (None,)]),
        (("timestampType", "key"), [(0, b"a"), (0, b"c"), (0, b"b")]),
    ],
    ids=str,
)
def test_projections(columns: Sequence[str], rows: list[tuple[Any, ...]]) -> None:
    with filled() as cluster:
        reader = reader_of(
            cluster, columns, subscribe="t", endingOffsets='{"t":{"0":-1,"1":0}}', **KEPT
        )
        assert [row for task in tasks_of(reader) for row in task] == rows


def test_values_are_decoded_after_older_records_are_gone() -> None:
    pairs: list[Pair] = [(b"a", b"broken"), (b"a", b'{"n": 5}'), (b"b", b"{}"), (b"b", None)]
    with filled({T0: [pairs]}) as cluster:
        decoded = {"value_format": "json", "value_schema": "n int"}
        assert read(cluster, **decoded) == [("t", 0, 1, b"a", {"n": 5}, "u")]
        kept = read(cluster, **decoded, **KEPT)
        assert kept[1] == ("t", 0, 3, b"b", None, "d")


def test_decoded_keys_are_compared_as_bytes() -> None:
    pairs: list[Pair] = [(b"1", b"x"), (b" 1", b"y"), (b"1", b"z")]
    with filled({T0: [pairs]}) as cluster:
        decoded = {"key_format": "json", "key_schema": "int"}
        assert [row[3:5] for row in read(cluster, **decoded)] == [(1, b"y"), (1, b"z")]


def test_a_null_key_is_refused_by_name_or_kept() -> None:
    with filled({T1: [[(b"a", b"1"), (None, b"2"), (None, b"3")]]}) as cluster:
        with pytest.raises(
            NullKeyError, match=r"KAFKA_UPSERT_NULL_KEY\] t-1 at offset 1: .*nullKeys"
        ):
            read(cluster)
        assert [row[2:5] for row in read(cluster, upsert_nullKeys="keep")] == [
            *((0, b"a", b"1"), (2, None, b"3"))
        ]


def test_lost_records_fail_the_read_or_are_skipped() -> None:
    with filled({T0: BATCHES[T0]}) as cluster:
        readers = [
            reader_of(
                cluster,
                subscribe="t",
                startingOffsets='{"t":{"0":0,"1":0}}',
                failOnDataLoss=fails,
            )
            for fails in (True, False)
        ]
        planned = [reader.partitions() for reader in readers]
        cluster.log(T0).delete_before(3)
        with pytest.raises(DataLossError, match="COULD_NOT_READ_OFFSET_RANGE"):
            rows_of(readers[0], planned[0][0])
        assert rows_of(readers[1], planned[1][0]) == OF_T0[1:]


def micro_batches_of(cluster: FakeCluster, **options: Any) -> Iterator[list[Any]]:
    """The rows of each micro-batch of a stream, until there is nothing new."""
    query = Query(cluster.bootstrap_servers, subscribe="t,u", envelope="upsert", **options)
    with closing(query):
        while query.trigger() is not None:
            log = query.checkpoint
            log.finished -= 1
            yield [
                tuple(row[name] for name in COLUMNS)
                for task in query.tasks()
                for batch in task.arrow()
                for row in batch.to_pylist()
            ]
            log.finished += 1


def test_a_micro_batch_has_each_key_once_with_deletes() -> None:
    with filled() as cluster:
        rows: list[list[Any]] = []
        for found in micro_batches_of(cluster, minPartitions=50):
            rows.append(found)
            if len(rows) == 1:
                cluster.log(T0).append(keyed_batch_of((b"a", b"3"), (b"c", None), (b"a", b"4")))
        assert sorted(rows[0], key=repr) == sorted([*NEWEST, *DELETED], key=repr)
        assert rows[1:] == [[("t", 0, 6, b"c", None, "d"), ("t", 0, 7, b"a", b"4", "u")]]


@given(
    st.lists(
        st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.sampled_from([None, b"v"])), max_size=12
    ),
    st.integers(1, 5),
)
def test_micro_batches_of_any_size_end_in_the_same_table(pairs: list[Pair], limit: int) -> None:
    with filled({T0: [[pair] for pair in pairs]}) as cluster:
        table: dict[Any, Any] = {}
        for rows in micro_batches_of(cluster, maxOffsetsPerTrigger=limit):
            keys = [row[3] for row in rows]
            assert len(set(keys)) == len(keys) <= limit
            table |= {row[3]: row[4] for row in rows}
        assert table == dict(pairs)
