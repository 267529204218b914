"""Positions as operators write them, and their offsets on fake brokers."""

from __future__ import annotations

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.errors import BrokerError, KafkaConfigError
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST
from kafka_spark_source.planning.positions import Ago, BeforeLatest, Bound, Timestamp
from kafka_spark_source.tools.positions.positions import (
    locate,
    locate_all,
    parse_position,
    partitions_of,
)
from tests.fakes.cluster import FakeCluster
from tests.times import shorten

FIRST = TopicPartition("t", 0)
SECOND = TopicPartition("t", 1)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("earliest", EARLIEST),
        (" LATEST ", LATEST),
        ("latest-20", BeforeLatest(20)),
        ("-10m", Ago(600_000)),
        ("17", 17),
        ("2026-11-01T00:00Z", Timestamp(1_793_491_200_000)),
        ("2026-11-01T01:00:00.5+01:00", Timestamp(1_793_491_200_500)),
        ("2026-11-01", Timestamp(1_793_491_200_000)),
        ("1969-12-31T23:59:59.9999Z", Timestamp(0)),
        ("1970-01-01T00:00+00:01", EARLIEST),
        ("0001-01-01T00:00+14:00", EARLIEST),
        ("4177-06-05T15:06:30.083Z", Timestamp(69_659_708_790_083)),
        ("9999-12-31T23:59:59.999-14:00", Timestamp(253_402_351_199_999)),
        # A float of seconds would be a millisecond before.
        ("2004-08-13T19:10:10.643Z", Timestamp(1_092_424_210_643)),
        ("2026-11-01T00:00:00.000001Z", Timestamp(1_793_491_200_001)),
        # The numbers of such times are names of ListOffsets: -1 is the end of the log.
        ("1969-12-31T23:59:59.999Z", EARLIEST),
        ("1969-12-31T23:59:59.997Z", EARLIEST),
        ("1900-01-01", EARLIEST),
    ],
)
def test_positions(text: str, bound: Bound) -> None:
    assert parse_position(text) == bound


@pytest.mark.parametrize("text", ["", "never", "-3", "group", "1" * 19, '{"t":{"0":1}}', "\u0662"])
def test_what_is_no_position(text: str) -> None:
    with pytest.raises(KafkaConfigError, match="is not a position: write earliest"):
        parse_position(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", (0, 0)),
        ("latest", (5, 2)),
        ("latest-3", (2, 0)),
        ("4", (4, 2)),
        ("1970-01-01T00:00Z", (0, 0)),
        ("1969-12-31T23:59:59.999Z", (0, 0)),
        ("1969-01-01", (0, 0)),
        ("2999-01-01", (5, 2)),
    ],
)
def test_offsets_stay_within_the_log(text: str, expected: tuple[int, int]) -> None:
    with FakeCluster() as cluster:
        cluster.add_topic("t", partitions=2)
        cluster.append(FIRST, *[b"x"] * 5)
        cluster.append(SECOND, *[b"x"] * 2)
        client = cluster.client()
        deadline = Deadline.after(30_000)
        partitions = partitions_of(client, ["t"], deadline)
        assert partitions == [FIRST, SECOND]
        found = locate(client, partitions, parse_position(text), deadline)
        client.close()
    offsets = {partition: each.offset for partition, each in found.items()}
    assert offsets == dict(zip(partitions, expected, strict=True))


def test_several_positions_need_both_ends_of_a_log_once() -> None:
    with FakeCluster() as cluster:
        cluster.add_topic("t")
        cluster.append(FIRST, *[b"x"] * 5)
        client = cluster.client()
        bounds = [parse_position(each) for each in ("1", "latest-1", "2999-01-01")]
        found = locate_all(client, [FIRST], bounds, Deadline.after(30_000))
        client.close()
        asked = cluster.asked(ListOffsetsRequest)
    assert [each[FIRST].offset for each in found] == [1, 4, 5]
    times = [request.topics[0].partitions[0].timestamp for _, request, _ in asked]
    assert sorted(times)[:2] == [EARLIEST, LATEST]
    assert len(times) == 3


def test_a_topic_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=10)
    with FakeCluster() as cluster:
        client = cluster.client()
        with pytest.raises(BrokerError, match=r"Metadata of the topic 'none'.*UNKNOWN_TOPIC"):
            partitions_of(client, ["none"], Deadline.after(30_000))
        client.close()
