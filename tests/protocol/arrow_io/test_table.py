"""Tables and data frames to topics, with a fake cluster."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from kafka_protocol.arrow_io import table
from kafka_protocol.arrow_io.row_writer import CHUNK_BYTES
from kafka_protocol.arrow_io.table import write_table
from kafka_protocol.columnar.arrays.views import HAS_VIEWS
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaConfigError
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.record import Header, Record
from kafka_protocol.topic_partition import TopicPartition
from tests.fakes.cluster import FakeCluster
from tests.protocol.columnar.arrays.test_views import large_views

PARTITIONS = 3
DAY = datetime(2026, 11, 1, tzinfo=timezone.utc)
DAY_MS = int(DAY.timestamp() * 1000)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster(nodes=2) as cluster:
        cluster.add_topic("t", partitions=PARTITIONS)
        yield cluster


@pytest.fixture
def options(cluster: FakeCluster) -> dict[str, str]:
    return {"bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers))}


def records_in(cluster: FakeCluster, partition: int, topic: str = "t") -> list[Record]:
    return cluster.log(TopicPartition(topic, partition)).records


def values_in(cluster: FakeCluster) -> list[bytes | None]:
    return [each.value for n in range(PARTITIONS) for each in records_in(cluster, n)]


def test_all_columns(cluster: FakeCluster, options: dict[str, str]) -> None:
    rows = {
        "value": ["one", None],
        "ignored": [1, 2],
        "key": [b"k", None],
        "topic": ["t", "t"],
        "partition": pa.array([2, 1], pa.int64()),
        "headers": [[{"key": "h", "value": b"1"}], None],
        "timestamp": [DAY, DAY],
    }
    assert write_table(pa.table(rows), options) == 2
    assert records_in(cluster, 2) == [Record(0, DAY_MS, b"k", b"one", (Header(b"h", b"1"),))]
    assert records_in(cluster, 1) == [Record(0, DAY_MS, None, None)]


FRACTIONS = ["000000001", "001999999", "002000000", "002000999"]
FRAMES = {"value": ["one", "two"], "timestamp": [DAY.replace(tzinfo=None)] * 2}


@pytest.mark.parametrize(
    "data",
    [
        pa.table(FRAMES),
        pa.table(FRAMES).to_reader(),
        pa.table(FRAMES).to_batches(),
        iter(pa.table(FRAMES).to_batches(max_chunksize=1)),
        pd.DataFrame(FRAMES),
        pd.DataFrame(FRAMES | {"value": pd.Categorical(FRAMES["value"])}),
        pl.DataFrame(FRAMES),
        pl.DataFrame(FRAMES).with_columns(pl.col("value").cast(pl.Categorical)),
        pl.DataFrame(FRAMES).with_columns(pl.col("value").cast(pl.Binary)),
    ],
    ids=[
        *("table", "reader", "batches", "iterator", "pandas", "pandas categories"),
        *("polars", "polars categories", "polars bytes"),
    ],
)
def test_kinds_of_data(cluster: FakeCluster, options: dict[str, str], data: Any) -> None:
    """Times without a zone are in UTC."""
    assert write_table(data, options, topic="t", partitioner="sticky") == 2
    assert sorted(map(str, values_in(cluster))) == ["b'one'", "b'two'"]
    stored = [each for n in range(PARTITIONS) for each in records_in(cluster, n)]
    assert {each.timestamp for each in stored} == {DAY_MS}


@pytest.mark.parametrize("kind", ["plain", "categories"])
def test_what_is_below_milliseconds_is_cut_off(
    cluster: FakeCluster, options: dict[str, str], kind: str
) -> None:
    times = pd.to_datetime([f"{DAY:%Y-%m-%d}T00:00:00.{fraction}Z" for fraction in FRACTIONS])
    times = times.astype("datetime64[ns, UTC]")
    data = pa.table({"value": FRACTIONS, "timestamp": pa.array(times)})
    if kind == "categories":
        data = data.set_column(1, "timestamp", data["timestamp"].dictionary_encode())
    write_table(data, options, topic="t", partitioner="sticky")
    stored = [each for n in range(PARTITIONS) for each in records_in(cluster, n)]
    found = {each.value: each.timestamp - DAY_MS for each in stored}
    assert found == {each.encode(): int(each[:3]) for each in FRACTIONS}


def test_a_relation_of_duckdb(cluster: FakeCluster, options: dict[str, str]) -> None:
    relation = duckdb.sql(
        "SELECT 'v' || i AS value, CAST(0 AS INT) AS partition FROM range(3) t(i)"
    )
    assert write_table(relation, options, topic="t") == 3
    assert [each.value for each in records_in(cluster, 0)] == [b"v0", b"v1", b"v2"]


@pytest.mark.parametrize("data", [[], pa.table({"value": pa.array([], pa.string())})])
def test_no_rows(cluster: FakeCluster, options: dict[str, str], data: Any) -> None:
    assert write_table(data, options, topic="t") == 0
    assert not cluster.asked(ProduceRequest)


def test_progress(cluster: FakeCluster, options: dict[str, str]) -> None:
    table = pa.table({"value": [b"%d" % n for n in range(10)]})
    seen: list[int] = []
    write_table(table.to_batches(max_chunksize=4), options, topic="t", progress=seen.append)
    assert seen == [4, 8, 10]


def test_a_data_frame_is_converted_in_pieces(
    cluster: FakeCluster, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One array of Polars may have more text than Arrow's arrays of bytes can have."""
    monkeypatch.setattr(table, "CHUNK_BYTES", 200)
    texts = [f"a text that is not in its view {n}" for n in range(100)]
    data, seen = pl.DataFrame({"value": texts}, schema={"value": pl.String}), list[int]()
    write_table(data.with_columns(partition=1), options, topic="t", progress=seen.append)
    assert [each.value for each in records_in(cluster, 1)] == [each.encode() for each in texts]
    assert len(seen) > 10


def test_many_categories_do_not_make_small_pieces() -> None:
    categories = pa.array([b"a" * CHUNK_BYTES, b"b" * CHUNK_BYTES, b"c" * CHUNK_BYTES])
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), categories)
    batch = pa.record_batch([values], names=["value"])
    assert [piece.num_rows for piece in table._pieces(batch)] == [4]


@pytest.mark.skipif(not HAS_VIEWS, reason="pyarrow 18 makes no views")
def test_views_that_share_bytes_count_as_many_times() -> None:
    batch = pa.record_batch([large_views(pa.string_view())], names=["value"])
    pieces = [*table._pieces(batch)]
    assert sum(piece.num_rows for piece in pieces) == batch.num_rows
    assert max(table._size(piece.column(0)) for piece in pieces) <= 2 * CHUNK_BYTES
    values = batch.column(0)
    categories = pa.DictionaryArray.from_arrays(pa.array([0]), values)
    for each in (values, categories):
        with pytest.raises(KafkaConfigError, match="'value' cannot be binary: 2147483648 bytes"):
            table._column("value", each)


@pytest.mark.parametrize(
    ("columns", "topic", "message"),
    [
        ({"vale": ["v"]}, "t", "no column 'value'; there are vale"),
        ({"value": ["v"]}, None, "no column 'topic': give the topic as an argument"),
        ({"value": [7]}, "t", "column 'value' has the type int64; it must be a string or binary"),
        ({"value": ["v"], "key": [True]}, "t", "column 'key' has the type bool"),
        ({"value": ["v"], "topic": [7]}, None, "column 'topic' has the type int64; it must be"),
        ({"value": ["v"], "headers": [7]}, "t", "column 'headers' cannot be list"),
        ({"value": ["v"], "timestamp": [[7]]}, "t", "column 'timestamp' cannot be timestamp"),
        ({"value": ["v"], "timestamp": [DAY_MS]}, "t", "int64, which does not name its unit"),
        ({"value": ["v"], "partition": [PARTITIONS]}, "t", "for partition 3 of topic 't'"),
        ({"value": ["v"], "partition": [2**40]}, "t", "column 'partition' cannot be int32"),
    ],
    ids=str,
)
def test_what_cannot_be_written(
    cluster: FakeCluster,
    options: dict[str, str],
    columns: dict[str, list[Any]],
    topic: str | None,
    message: str,
) -> None:
    with pytest.raises(KafkaConfigError, match=message):
        write_table(pa.table(columns), options, topic=topic)
    assert values_in(cluster) == []


@pytest.mark.parametrize(
    "data",
    [None, 7, "text", [{"value": "v"}], pl.LazyFrame({"value": ["v"]})],
    ids=lambda data: type(data).__name__,
)
def test_what_is_no_data(options: dict[str, str], data: Any) -> None:
    with pytest.raises(KafkaConfigError, match=r"\w+ cannot be written: give a data frame"):
        write_table(data, options, topic="t")


def test_several_columns_of_one_name(options: dict[str, str]) -> None:
    data = pa.Table.from_arrays([pa.array(["v"]), pa.array(["w"])], ["value", "value"])
    with pytest.raises(KafkaConfigError, match="there are several columns 'value': leave one"):
        write_table(data, options, topic="t")


@pytest.mark.parametrize(
    "other", [{"value": ["v"]}, {"value": ["v"], "key": ["k"], "topic": ["t"]}]
)
def test_batches_with_other_columns(options: dict[str, str], other: dict[str, list[str]]) -> None:
    batches = [pa.record_batch({"value": ["v"], "key": ["k"]}), pa.record_batch(other)]
    with pytest.raises(KafkaConfigError, match="and the first one has key, value: give all"):
        write_table(batches, options, topic="t")


def test_batches_with_columns_in_other_order(cluster: FakeCluster, options: dict[str, str]) -> None:
    batches = [
        pa.record_batch({"value": ["v"], "key": ["k"]}),
        pa.record_batch({"key": [b"k"], "more": [1], "value": [b"w"]}),
    ]
    assert write_table(batches, options, topic="t") == 2
    assert sorted(filter(None, values_in(cluster))) == [b"v", b"w"]


def test_an_unknown_partitioner(options: dict[str, str]) -> None:
    with pytest.raises(KafkaConfigError, match="'partitioner' must be one of default"):
        write_table(pa.table({"value": ["v"]}), options, topic="t", partitioner="first")


def test_the_broker_refuses_a_row(cluster: FakeCluster, options: dict[str, str]) -> None:
    cluster.add_fault(ProduceRequest, error=ErrorCode.INVALID_RECORD, count=1)
    with pytest.raises(BrokerError, match=r"t-\d.*INVALID_RECORD"):
        write_table(pa.table({"value": ["v"]}), options, topic="t")
