"""failOnDataLoss=true: both fail with the same condition. false: both read the remaining rows."""

from __future__ import annotations

import pytest

from tests.conformance.sides import FORMATS, Sides, error_of, in_order
from tests.conformance.topics import Topics, numbered, of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

LOST = "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"


# Of `Topics.cut`, whose partitions hold [7, 20), [1, 20), [20, 20), [0, 20).
GONE = {
    "expired": ((0, 0, 0, 0), (-1, -1, -1, -1), 52),
    "expired, fixed end": ((0, 1, 0, 0), (20, 20, 20, 20), 52),
    "all expired": ((0, -2, 0, 5), (5, 10, 10, 10), 14),
    "an end beyond the log": ((7, 1, 20, 0), (30, 20, 20, 21), 52),
    "a start beyond the log": ((25, 1, 20, 0), (30, 20, 20, 20), 39),
    "both": ((0, 0, 0, 0), (30, 30, 30, 30), 52),
}


@pytest.mark.parametrize("case", GONE)
def test_data_loss(sides: Sides, topics: Topics, case: str) -> None:
    starting, ending, count = GONE[case]
    topic = topics.cut
    options = {
        "subscribe": topic,
        "startingOffsets": of(topic, *starting),
        "endingOffsets": of(topic, *ending),
        # How long the connector waits for a record that does not exist.
        "kafkaConsumer.pollTimeoutMs": "2000",
    }
    for each in FORMATS:
        assert LOST in sides.error(each, options)
    assert len(sides.rows(**options, failOnDataLoss="false")) == count


def test_an_empty_range_loses_nothing(sides: Sides, topics: Topics) -> None:
    topic = topics.cut
    rows = sides.rows(
        subscribe=topic, startingOffsets=of(topic, 3, 3, 3, 3), endingOffsets=of(topic, 3, 3, 3, 4)
    )
    assert len(rows) == 1


def test_earliest_is_never_lost(sides: Sides, topics: Topics) -> None:
    topic = topics.make("shrinking")
    topics.write(topic, numbered(20))
    loaded = [sides.load(each, {"subscribe": topic}) for each in FORMATS]
    assert [df.count() for df in loaded] == [20, 20]
    topics.delete_records(topic, 0, 8)
    assert [df.count() for df in loaded] == [12, 12]


def test_records_expire_between_two_runs(sides: Sides, topics: Topics) -> None:
    topic = topics.make("ageing")
    topics.write(topic, numbered(20))
    options = {"subscribe": topic, "startingOffsets": of(topic, 5), "endingOffsets": of(topic, 18)}
    strict = [sides.load(each, options) for each in FORMATS]
    lenient = [sides.load(each, options | {"failOnDataLoss": "false"}) for each in FORMATS]
    assert [df.count() for df in (*strict, *lenient)] == [13] * 4
    topics.delete_records(topic, 0, 9)
    for df in strict:
        assert LOST in error_of(df)
    theirs, ours = map(in_order, lenient)
    assert ours == theirs
    assert len(ours) == 9
