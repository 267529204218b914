"""read_topic: Arrow without Spark, from a real broker."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import threading
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any
from uuid import uuid4

import confluent_kafka
import numpy as np
import pyarrow as pa
import pytest

from kafka_formats.topic import read_topic as read_formats
from kafka_protocol.arrow_io.table import write_table
from kafka_protocol.arrow_io.topic import (
    Position,
    create_topic,
    offsets_for_times,
    read_topic,
    topics,
)
from kafka_protocol.arrow_io.topic_reader import TopicReader
from kafka_protocol.client.cluster.admin import create_partitions, delete_topic
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.client.consumer.fetch import OffsetOutOfRangeError
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.columnar.arrays.schema import RECORD_SCHEMA
from kafka_protocol.columnar.writing.encode import RecordColumns, encode_batches
from kafka_protocol.errors import BrokerError, DataLossError, KafkaConfigError
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.clients import connect, soon
from tests.integration.conftest import MakeTopic
from tests.witness import IN_ORDER, produce

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


# --- Reads of a consumer group, and reads without an end, from a real broker ----------------------


SOON_SECONDS = 60
JSON = {"value.format": "json", "value.schema": "id bigint"}


def write(options: dict[str, str], topic: str, *values: int, partition: int = 0) -> None:
    texts = [json.dumps({"id": value}) for value in values]
    produce(options["bootstrap.servers"], topic, texts, partition)


def reader(topic: str | list[str], options: dict[str, str], **given: Any) -> TopicReader:
    found = read_topic(topic, options, columns=["topic", "partition", "offset"], **given)
    assert isinstance(found, TopicReader)
    return found


def places(rows: pa.Table) -> list[tuple[str, int, int]]:
    listed = rows.to_pydict()
    return sorted(zip(listed["topic"], listed["partition"], listed["offset"], strict=True))


def test_a_read_starts_where_the_group_ended(
    make_topic: MakeTopic, options: dict[str, str]
) -> None:
    topic, other = make_topic(2), make_topic()
    write(options, topic, 1, 2)
    write(options, topic, 3, partition=1)
    write(options, other, 4)
    all_places = [(topic, 0, 0), (topic, 0, 1), (topic, 1, 0), (other, 0, 0)]
    for _ in range(2):  # nothing was committed
        with reader([topic, other], options, group_id=topic) as first:
            assert places(first.read_all()) == sorted(all_places)
    first.commit()
    write(options, topic, 5, partition=1)
    with reader([topic, other], options, group_id=topic) as again:
        assert places(again.read_all()) == [(topic, 1, 1)]
        assert again.positions[TopicPartition(topic, 1)] == 2
    with reader(topic, options, group_id=f"{topic}-other", start="latest") as late:
        assert late.read_all().num_rows == 0
        late.commit()
    write(options, topic, 6)
    with reader(topic, options, group_id=f"{topic}-other") as late:
        assert places(late.read_all()) == [(topic, 0, 2)]


def test_what_was_taken_is_committed_and_no_more(
    make_topic: MakeTopic, options: dict[str, str]
) -> None:
    topic = make_topic(2)
    for number in range(4):  # batches of their own
        write(options, topic, number)
        write(options, topic, number, partition=1)
    small = {**options, "max.partition.fetch.bytes": "1"}
    group = f"{topic}-group"
    taken: set[tuple[str, int, int]] = set()
    rounds = 0
    while True:
        rounds += 1
        before: set[tuple[str, int, int]] = set()
        with reader(topic, small, group_id=group) as some:
            for batch in islice(some, 3):
                taken |= before
                before = {*places(pa.Table.from_batches([batch]))}
            some.commit()
        with reader(topic, small, group_id=group) as rest:
            left = {*places(rest.read_all())}
        # What is committed was taken, and what is left is all that was not.
        assert len(taken | before | left) == 8
        assert taken.isdisjoint(left - before)
        if not left:
            break
        assert rounds < 10
    assert rounds > 1


def test_rows_of_an_envelope_are_committed_at_the_end(
    make_topic: MakeTopic, options: dict[str, str]
) -> None:
    topic = make_topic()
    producer = confluent_kafka.Producer(options)
    for key, number in (("a", 1), ("b", 2), ("a", 3)):
        producer.produce(topic, json.dumps({"id": number}), key)
    assert producer.flush(SOON_SECONDS) == 0
    formats = {**JSON, "envelope": "upsert"}
    newest = read_formats(topic, options, formats, columns=["value"], group_id=topic)
    assert isinstance(newest, TopicReader)
    with newest:
        with pytest.raises(KafkaConfigError, match="commit after the last one"):
            newest.commit()
        rows = newest.read_all()
        newest.commit()
    assert sorted(each["id"] for each in rows.column("value").to_pylist()) == [2, 3]
    again = read_formats(topic, options, JSON, group_id=topic)
    assert again.read_all().num_rows == 0


def test_a_read_follows_until_it_is_stopped(
    make_topic: MakeTopic, options: dict[str, str], cluster: Cluster
) -> None:
    topic = make_topic()
    write(options, topic, 1)
    rows: list[int] = []
    follower = read_formats(topic, options, JSON, group_id=topic, follow=True)
    assert isinstance(follower, TopicReader)

    def follow() -> None:
        with follower:
            for batch in follower:
                rows.extend(each["id"] for each in batch.column("value").to_pylist())
            follower.commit()

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        for number in (2, 3):
            assert Deadline(SOON_SECONDS).wait_for(lambda: len(rows) == number - 1)  # noqa: B023
            write(options, topic, number)
        assert Deadline(SOON_SECONDS).wait_for(lambda: len(rows) == 3)
    finally:
        follower.stop()
        thread.join(SOON_SECONDS)
    assert not thread.is_alive()
    assert rows == [1, 2, 3]
    place = TopicPartition(topic, 0)
    assert committed_offsets(cluster, topic, [place], soon()) == {place: 3}


@pytest.mark.parametrize("has_group", [False, True])
def test_a_topic_that_is_created_again_ends_a_read_that_follows(
    make_topic: MakeTopic, options: dict[str, str], cluster: Cluster, has_group: bool
) -> None:
    """While it handles a batch; then the log is longer than before."""
    topic = make_topic()
    write(options, topic, 1)
    rows: list[int] = []
    with read_formats(
        topic, options, JSON, columns=["value"], group_id=topic if has_group else None, follow=True
    ) as reader:
        assert isinstance(reader, TopicReader)
        with pytest.raises(DataLossError, match=f"{topic}-0 was deleted and its topic re-created"):
            for batch in reader:
                rows += [each["id"] for each in batch.column("value").to_pylist()]
                delete_topic(cluster, topic, soon())
                while topic in topics(options):
                    pass
                create_topic(topic, options)
                for number in (2, 3, 4):
                    write(options, topic, number)
    assert rows == [1]


def test_partitions_that_are_added_to_a_read_that_follows(
    make_topic: MakeTopic, options: dict[str, str], cluster: Cluster
) -> None:
    topic = make_topic()
    write(options, topic, 1)
    rows: list[int] = []
    with read_formats(topic, options, JSON, columns=["value"], follow=True) as reader:
        assert isinstance(reader, TopicReader)
        for batch in reader:
            rows += [each["id"] for each in batch.column("value").to_pylist()]
            if rows == [1]:
                create_partitions(cluster, topic, 2, soon())
                for number in (2, 3):
                    write(options, topic, number, partition=1)
            if len(rows) == 3:
                break
    assert rows == [1, 2, 3]


def test_offsets_behind_the_end_are_an_error(
    make_topic: MakeTopic, options: dict[str, str], cluster: Cluster
) -> None:
    topic = make_topic()
    write(options, topic, 1)
    commit_offsets(cluster, topic, {TopicPartition(topic, 0): 9}, soon())
    with pytest.raises(
        DataLossError, match=f"has committed offset 9 of {topic}-0, which ends at 1"
    ):
        reader(topic, options, group_id=topic)


def test_a_group_with_members_is_not_moved(make_topic: MakeTopic, options: dict[str, str]) -> None:
    topic = make_topic()
    write(options, topic, 1)
    member = confluent_kafka.Consumer(
        {**options, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    try:
        member.subscribe([topic])
        assert Deadline(SOON_SECONDS).wait_for(lambda: bool(member.poll(1) and member.assignment()))
        with reader(topic, options, group_id=topic) as rows:
            rows.read_all()
            with pytest.raises(BrokerError, match=f"OffsetCommit of group '{topic}'"):
                rows.commit()
    finally:
        member.close()


def test_what_several_topics_cannot_have(make_topic: MakeTopic, options: dict[str, str]) -> None:
    two = [make_topic(), make_topic()]
    with pytest.raises(KafkaConfigError, match="numbers of partitions are for one topic"):
        read_topic(two, options, partitions=[0])
    with pytest.raises(KafkaConfigError, match="numbers of partitions are for one topic"):
        read_topic(two, options, start={0: 1})
    with pytest.raises(KafkaConfigError, match="a read with follow has no end"):
        read_topic(two, options, end={0: 1}, follow=True)
    with pytest.raises(KafkaConfigError, match="there is no topic to read"):
        read_topic([], options)
    with reader(two[0], options, follow=True) as ungrouped:
        with pytest.raises(KafkaConfigError, match="There is no group to commit for"):
            ungrouped.commit()
