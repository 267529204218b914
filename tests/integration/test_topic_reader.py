"""Reads of a consumer group, and reads without an end, from a real broker."""

from __future__ import annotations

import json
import threading
from itertools import islice
from typing import Any

import confluent_kafka
import pyarrow as pa
import pytest

from kafka_formats.topic import read_topic as read_formats
from kafka_protocol.arrow_io.topic import read_topic
from kafka_protocol.arrow_io.topic_reader import TopicReader
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets, committed_offsets
from kafka_protocol.errors import BrokerError, DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.testing import KafkaCluster
from kafka_spark_source.testing.waiting import Deadline
from tests.integration.clients import soon
from tests.integration.conftest import MakeTopic
from tests.witness import produce

pytestmark = pytest.mark.integration

SOON_SECONDS = 60
JSON = {"value.format": "json", "value.schema": "id bigint"}


@pytest.fixture(scope="module")
def options(kafka_cluster: KafkaCluster) -> dict[str, str]:
    return {"bootstrap.servers": kafka_cluster.bootstrap_servers}


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
    with pytest.raises(KafkaConfigError, match="a read that follows has no end"):
        read_topic(two, options, end={0: 1}, follow=True)
    with pytest.raises(KafkaConfigError, match="there is no topic to read"):
        read_topic([], options)
    with reader(two[0], options, follow=True) as ungrouped:
        with pytest.raises(KafkaConfigError, match="There is no group to commit for"):
            ungrouped.commit()
