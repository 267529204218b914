"""Ranges that `read_topic` plans and refuses, on fake brokers.

tests/integration/test_topic reads from real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from kafka_protocol.arrow_io.topic import create_topic, offsets_for_times, read_topic, topics
from kafka_protocol.errors import DataLossError, KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from tests.config_error import config_error
from tests.fakes.cluster import FakeCluster

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FIRST = TopicPartition("t", 0)
# No text, in spite of the types.
SEVEN: Any = 7
NOTHING: Any = None
VALUES = [b"a", b"b", b"c"]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.add_topic("t")
        cluster.append(FIRST, *VALUES)
        yield cluster


@pytest.fixture
def options(cluster: FakeCluster) -> dict[str, str]:
    return {"bootstrap.servers": ",".join(map(str, cluster.bootstrap_servers))}


def values_of(options: dict[str, str], **given: Any) -> list[bytes]:
    read: pa.Table = read_topic("t", options, columns=["value"], **given).read_all()
    return [each.as_py() for each in read["value"]]


@pytest.mark.parametrize("ms", [1, 2, 3, 4, 5, 6, 7, 10**12])
def test_all_records_are_after_a_time_before_1970(options: dict[str, str], ms: int) -> None:
    """Though -1 is the end of the log for brokers, and -3 its largest timestamp."""
    before = EPOCH - timedelta(milliseconds=ms)
    assert values_of(options, start=before) == VALUES
    assert values_of(options, end=before) == []
    assert offsets_for_times("t", options, before) == {0: 0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"columns": []}, "there is no column to read: name one"),
        ({"start": {0: -1}}, "the offset of partition 0 is -1: give a whole number from 0 on"),
        ({"end": {0: -1}}, "the offset of partition 0 is -1: give a whole number from 0 on"),
        ({"start": {0: 1.5}}, "the offset of partition 0 is 1.5: give"),
        ({"end": {0: None}}, "the offset of partition 0 is None: give"),
        ({"end": {0: "2"}}, "the offset of partition 0 is '2': give"),
    ],
    ids=str,
)
def test_what_names_no_records(
    options: dict[str, str], given: dict[str, Any], message: str
) -> None:
    assert message in config_error(lambda: read_topic("t", options, **given))


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_a_start_after_the_end_of_a_log_is_a_loss(options: dict[str, str], isolation: str) -> None:
    """As with a group: the topic was probably created again."""
    given = options | {"isolation.level": isolation}
    assert values_of(given, start={0: 3}) == []
    with pytest.raises(DataLossError, match="starts at offset 4 of t-0, which ends at 3"):
        read_topic("t", given, start={0: 4})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda given: read_topic(NOTHING, given), "topics and groups are text, got None"),
        (lambda given: read_topic([SEVEN], given), "topics and groups are text, got 7"),
        (
            lambda given: read_topic("t", given, group_id=SEVEN),
            "names of topics and groups are text",
        ),
        (
            lambda given: create_topic("u", given, configs={"retention.ms": SEVEN}),
            "'retention.ms'",
        ),
        (lambda given: topics(given | {"request.timeout.ms": 7}), "'kafka.request.timeout.ms' is"),
        (lambda given: topics(given | {"sasl.password": b"hidden"}), "of the type bytes: write"),
    ],
)
def test_what_is_no_text(
    options: dict[str, str], call: Callable[[dict[str, Any]], object], message: str
) -> None:
    error = config_error(call, options)
    assert message in error
    assert "hidden" not in error


def test_a_partition_that_is_named_twice_is_read_once(options: dict[str, str]) -> None:
    assert values_of(options, partitions=[0, 0]) == VALUES


def test_a_reader_that_was_closed_does_not_look_like_an_empty_topic(
    options: dict[str, str],
) -> None:
    with read_topic("t", options, follow=True) as reader:
        rows = reader.reader
    with pytest.raises(KafkaConfigError, match="The reader is closed"):
        rows.read_all()


def test_a_reader_that_has_ended_stays_empty(options: dict[str, str]) -> None:
    with read_topic("t", options, follow=True) as reader:
        reader.stop()
        assert reader.read_all().num_rows == len(VALUES)
    assert reader.read_all().num_rows == 0
