"""read_topic: Arrow without Spark, from a real broker."""

from __future__ import annotations

import gc
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from uuid import uuid4

import confluent_kafka
import numpy as np
import pyarrow as pa
import pytest

from kafka_protocol.arrow_io.table import write_table
from kafka_protocol.arrow_io.topic import (
    Position,
    create_topic,
    offsets_for_times,
    read_topic,
    topics,
)
from kafka_protocol.client.consumer.fetch import OffsetOutOfRangeError
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.encode import RecordColumns, encode_batches
from kafka_protocol.columnar.schema import RECORD_SCHEMA
from kafka_protocol.errors import BrokerError, KafkaConfigError
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from tests.integration.clients import connect
from tests.integration.conftest import MakeTopic
from tests.witness import IN_ORDER

pytestmark = pytest.mark.integration

RECORDS = 1_000
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture(scope="module")
def options(kafka_cluster: KafkaCluster) -> dict[str, str]:
    return {"bootstrap.servers": kafka_cluster.bootstrap_servers}


@pytest.fixture
def topic(make_topic: MakeTopic, options: dict[str, str]) -> str:
    """Two partitions with a record for each second, written by librdkafka."""
    name = make_topic(partitions=2)
    producer = confluent_kafka.Producer({**options, **IN_ORDER})
    for i in range(RECORDS):
        time_ms = int((START + timedelta(seconds=i)).timestamp() * 1000)
        value = f"value {i}".encode()
        headers: list[tuple[str, str | bytes | None]] = [("n", str(i).encode())]
        producer.produce(
            name, value, f"key {i}".encode(), partition=i % 2, timestamp=time_ms, headers=headers
        )
    assert producer.flush(30) == 0
    return name


def test_a_whole_topic(topic: str, options: dict[str, str]) -> None:
    table = read_topic(topic, options).read_all()
    assert table.schema == RECORD_SCHEMA
    rows = sorted(table.to_pylist(), key=lambda row: (row["offset"], row["partition"]))
    assert [row["value"] for row in rows] == [f"value {i}".encode() for i in range(RECORDS)]
    assert rows[7] == {
        "key": b"key 7",
        "value": b"value 7",
        "topic": topic,
        "partition": 1,
        "offset": 3,
        "timestamp": START + timedelta(seconds=7),
        "timestampType": 0,
        "headers": [{"key": "n", "value": b"7"}],
    }


@pytest.mark.parametrize(
    ("start", "end", "offsets"),
    [
        ("earliest", "latest", range(RECORDS // 2)),
        ({1: 10}, {1: 12}, range(10, 12)),
        ({1: 490}, "latest", range(490, 500)),
        ("latest", "latest", range(0)),
        ({1: 12}, {1: 10}, range(0)),
        # Seconds 1, 3, 5, ... are in partition 1.
        (START + timedelta(seconds=5), START + timedelta(seconds=9), range(2, 4)),
        (START + timedelta(seconds=4, microseconds=1), START + timedelta(days=1), range(2, 500)),
    ],
    ids=["all", "offsets", "to the end", "at the end", "end before start", "times", "late end"],
)
def test_a_range(
    topic: str, options: dict[str, str], start: Position, end: Position, offsets: range
) -> None:
    reader = read_topic(
        topic, options, start=start, end=end, partitions=[1], columns=["offset", "partition"]
    )
    table = reader.read_all()
    assert table.schema.names == ["offset", "partition"]
    assert table["offset"].to_pylist() == [*offsets]
    assert set(table["partition"].to_pylist()) <= {1}


def test_batches_one_by_one_and_into_pandas(topic: str, options: dict[str, str]) -> None:
    with read_topic(topic, options, columns=["value"]) as reader:
        assert sum(batch.num_rows for batch in reader) == RECORDS
    frame = read_topic(topic, options, columns=["key", "timestamp"]).read_pandas()
    assert [*frame.columns] == ["key", "timestamp"]
    assert len(frame) == RECORDS


def test_progress_ends_at_the_range(topic: str, options: dict[str, str]) -> None:
    seen: list[tuple[int, int]] = []
    ends = {0: RECORDS // 2 - 1, 1: RECORDS // 2}
    table = read_topic(
        topic, options, end=ends, progress=lambda done, total: seen.append((done, total))
    ).read_all()
    assert table.num_rows == RECORDS - 1
    assert seen == sorted(set(seen))
    assert seen[-2:] == [(ends[0], RECORDS - 1), (RECORDS - 1, RECORDS - 1)]


def test_no_progress_is_told_of_a_range_without_records(
    topic: str, options: dict[str, str]
) -> None:
    """So nobody divides by its size."""
    seen: list[tuple[int, int]] = []
    reader = read_topic(topic, options, start="latest", progress=lambda *each: seen.append(each))
    assert (reader.read_all().num_rows, seen) == (0, [])


def test_a_new_topic(options: dict[str, str]) -> None:
    name = f"new-{uuid4()}"
    create_topic(name, options, partitions=3, configs={"retention.ms": "86400000"})
    assert topics(options)[name] == 3
    with pytest.raises(BrokerError, match="TOPIC_ALREADY_EXISTS"):
        create_topic(name, options)


def test_topics_and_offsets_for_times(topic: str, options: dict[str, str]) -> None:
    assert topics(options)[topic] == 2
    assert not any(name.startswith("__") for name in topics(options))
    since = START + timedelta(seconds=5)
    assert offsets_for_times(topic, options, since) == {0: 3, 1: 2}
    after_all = START + timedelta(days=1)
    assert offsets_for_times(topic, options, after_all, partitions=[1]) == {1: RECORDS // 2}
    with pytest.raises(KafkaConfigError, match="needs a time zone"):
        offsets_for_times(topic, options, datetime(2026, 1, 1))
    with pytest.raises(BrokerError, match="Cannot read topic 'missing'"):
        offsets_for_times("missing", options, since)


def test_what_was_read_is_written_to_another_topic(
    topic: str, options: dict[str, str], make_topic: MakeTopic
) -> None:
    """With keys, values, headers, times and partitions; `topic` wins over the column."""
    copy = make_topic(partitions=2)
    assert write_table(read_topic(topic, options), options, topic=copy) == RECORDS
    columns = [name for name in RECORD_SCHEMA.names if name != "topic"]
    first, second = (
        read_topic(each, options, columns=columns).read_all() for each in (topic, copy)
    )
    assert first.equals(second)


def test_an_abandoned_read_closes_its_connections(
    topic: str, options: dict[str, str], closed: list[str]
) -> None:
    reader = read_topic(topic, options | {"max.partition.fetch.bytes": "2000"}, columns=["offset"])
    assert reader.read_next_batch().num_rows < RECORDS
    assert not closed
    del reader
    gc.collect()
    assert closed


def test_missing_topics_partitions_and_offsets(topic: str, options: dict[str, str]) -> None:
    with pytest.raises(BrokerError, match=r"Cannot read topic 'missing': .*UNKNOWN_TOPIC"):
        read_topic("missing", options)
    with pytest.raises(BrokerError, match=r"Cannot read partition 2 of topic .* has 2"):
        read_topic(topic, options, partitions=[0, 2])
    reader = read_topic(topic, options, partitions=[0], start={0: 900}, end={0: 1000})
    with pytest.raises(OffsetOutOfRangeError, match=r"900 of .*-0 .*\[0, 500\)"):
        reader.read_all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": ["valu"]}, "no column 'valu'; there are key, value"),
        ({"start": "first"}, "a datetime or offsets, got 'first'"),
        ({"start": datetime(2026, 1, 1)}, "needs a time zone"),
        ({"start": {0: 1}}, "no offset is given for partition 1"),
    ],
    ids=["column", "position", "time without zone", "missing partition"],
)
def test_invalid_arguments(
    topic: str, options: dict[str, str], arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(KafkaConfigError, match=message):
        read_topic(topic, options, **arguments)  # type: ignore[call-overload]


MEASURE = """
import resource, sys
from kafka_protocol.arrow_io.topic import read_topic

def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

servers, topic = sys.argv[1:]
rows = 0
for batch in read_topic(topic, {"bootstrap.servers": servers}):
    rows += batch.num_rows
    if rows == batch.num_rows:
        begun = peak_mib()
print(rows, peak_mib() - begun)
"""


def test_memory_does_not_grow_with_the_topic(
    make_topic: MakeTopic, kafka_cluster: KafkaCluster
) -> None:
    topic, rows, copies = make_topic(), 10_000, 12
    values = pa.array([b"%d" % i * 200 for i in range(rows)], pa.binary())  # 8 MB
    cluster = connect(kafka_cluster)
    producer = Producer(cluster)
    keys, times = pa.nulls(rows, pa.binary()), np.full(rows, 1_700_000_000_000)
    for batch in encode_batches(RecordColumns(keys, values, times), CompressionCodec.NONE):
        for _ in range(copies):
            producer.add(TopicPartition(topic, 0), batch.data)
    producer.flush()
    cluster.close()
    command = [sys.executable, "-c", MEASURE, kafka_cluster.bootstrap_servers, topic]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    read, grown_mib = map(int, shown.split())
    assert read == rows * copies
    assert grown_mib < 40, f"{grown_mib} MiB more than after the first batch, of about 96 MiB read"
