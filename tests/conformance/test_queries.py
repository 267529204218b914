"""Options for topics, ranges and tasks have the same effect in both connectors."""

from __future__ import annotations

import json

import pytest

from tests.conformance.sides import FORMATS, Sides, in_order, pieces_of
from tests.conformance.topics import Topics, at, numbered, of

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SLOW = pytest.mark.slow


@pytest.mark.core
def test_subscribe(sides: Sides, topics: Topics) -> None:
    one, two, _ = topics.pattern
    assert len(sides.rows(subscribe=f" {one} ,,{two}")) == 22


@pytest.mark.parametrize(
    ("pattern", "count"),
    [("pattern-", 22), ("^pattern-", 11), ("(my-)?pattern-(one|two)$", 22), ("no-such", 0)],
)
def test_subscribe_pattern(sides: Sides, topics: Topics, pattern: str, count: int) -> None:
    assert topics.pattern
    assert len(sides.rows(subscribePattern=pattern)) == count


@pytest.mark.core
def test_assign(sides: Sides, topics: Topics) -> None:
    one, two, _ = topics.pattern
    rows = sides.rows(assign=json.dumps({one: [1], two: [0, 1]}))
    assert len(rows) == 17


def test_options_in_any_case(sides: Sides, topics: Topics) -> None:
    rows = sides.rows(
        SUBSCRIBE=topics.created, STARTINGoffsets=" Earliest ", EndingOffsets="LATEST"
    )
    assert len(rows) == 90


@pytest.mark.parametrize(
    ("starting", "ending", "count"),
    [
        ((0, 0, 0), (60, 30, 0), 90),
        ((10, -2, -2), (20, -1, -1), 40),
        ((-2, -2, 0), (-1, 5, 0), 65),
        ((60, 30, 0), (60, 30, -1), 0),
        ((59, 29, -2), (-1, -1, -1), 2),
        ((12, 7, 0), (12, 7, 0), 0),
    ],
)
def test_offsets(
    sides: Sides, topics: Topics, starting: tuple[int], ending: tuple[int], count: int
) -> None:
    topic = topics.created
    rows = sides.rows(
        subscribe=topic, startingOffsets=of(topic, *starting), endingOffsets=of(topic, *ending)
    )
    assert len(rows) == count


@pytest.mark.parametrize(
    "kind",
    [
        "transactions",
        "compacted",
        *(pytest.param(each, marks=SLOW) for each in ("cut", "all_codecs", "headers")),
    ],
)
def test_offsets_in_the_middle(sides: Sides, topics: Topics, kind: str) -> None:
    """Ranges that start and end within batches, transactions and gaps."""
    topic = getattr(topics, kind)
    offsets = sorted({row["offset"] for row in sides.rows(subscribe=topic) if not row["partition"]})
    first, last = offsets[len(offsets) // 3], offsets[2 * len(offsets) // 3]
    others = json.dumps({topic: [0]})
    for level in ("read_uncommitted", "read_committed"):
        for start, end in ((first, last), (first + 1, last + 1)):
            sides.rows(
                assign=others,
                startingOffsets=of(topic, start),
                endingOffsets=of(topic, end),
                kafka__isolation__level=level,
            )


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"startingTimestamp": at(20), "startingOffsetsByTimestampStrategy": "latest"}, 50),
        ({"startingTimestamp": at(20, -1), "startingOffsetsByTimestampStrategy": "LATEST"}, 50),
        ({"startingTimestamp": at(20, 1), "startingOffsetsByTimestampStrategy": "latest"}, 48),
        ({"endingTimestamp": at(20)}, 40),
        ({"endingTimestamp": at(20, 1)}, 42),
        ({"endingTimestamp": at(1000)}, 90),
        ({"endingTimestamp": 0}, 0),
        (
            {"startingOffsets": "not even read", "startingTimestamp": 0, "endingOffsets": "latest"},
            -1,
        ),
        ({"endingOffsetsByTimestamp": "not even read", "endingTimestamp": at(1)}, 2),
    ],
)
def test_timestamps(sides: Sides, topics: Topics, options: dict[str, object], count: int) -> None:
    texts = {name: str(value) for name, value in options.items()}
    if count < 0:  # one partition has no records
        texts["startingOffsetsByTimestampStrategy"] = "latest"
        count = 90
    assert len(sides.rows(subscribe=topics.created, **texts)) == count


def test_timestamps_by_partition(sides: Sides, topics: Topics) -> None:
    topic = topics.created
    rows = sides.rows(
        subscribe=topic,
        startingOffsetsByTimestamp=of(topic, at(50), at(10), at(0)),
        startingOffsetsByTimestampStrategy="latest",
        endingOffsetsByTimestamp=of(topic, at(55), at(99), at(99)),
    )
    assert len(rows) == 5 + 20


@pytest.mark.core
def test_kinds_of_positions_mix(sides: Sides, topics: Topics) -> None:
    topic = topics.created
    rows = sides.rows(
        subscribe=topic, startingOffsets=of(topic, 10, -2, -2), endingTimestamp=str(at(20))
    )
    assert len(rows) == 30


@pytest.mark.parametrize(
    "kind",
    [
        "out_of_order",
        "appended",
        *(pytest.param(e, marks=SLOW) for e in ("transactions", "compacted")),
    ],
)
def test_timestamps_of_other_topics(sides: Sides, topics: Topics, kind: str) -> None:
    topic = getattr(topics, kind)
    times = sorted(row["timestamp"] for row in sides.rows(subscribe=topic))
    millis = [int(each.timestamp() * 1000) for each in (times[len(times) // 3], times[-1])]
    for level in ("read_uncommitted", "read_committed"):
        for start in millis:
            sides.rows(
                subscribe=topic,
                startingTimestamp=str(start),
                startingOffsetsByTimestampStrategy="latest",
                endingTimestamp=str(millis[1]),
                failOnDataLoss="false",
                kafka__isolation__level=level,
            )


@pytest.mark.parametrize(
    "kind", ["cut", *(pytest.param(each, marks=SLOW) for each in ("created", "partly_empty"))]
)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"minPartitions": "4"},
        {"minPartitions": "7"},
        pytest.param({"minPartitions": "15"}, marks=SLOW),
        {"minPartitions": "6", "maxRecordsPerPartition": "11"},
        {"minPartitions": "10", "maxRecordsPerPartition": "25"},
    ],
)
def test_splitting(sides: Sides, topics: Topics, kind: str, options: dict[str, str]) -> None:
    assert sides.pieces(subscribe=getattr(topics, kind), **options)
    theirs, ours = sides.tasks(subscribe=getattr(topics, kind), **options)
    assert ours == theirs


@pytest.mark.parametrize("limit", ["7", "20", "1000", str(2**63 - 1)])
def test_max_records_per_partition(sides: Sides, topics: Topics, limit: str) -> None:
    """Between given offsets: only pykafka also splits from earliest to latest."""
    topic = topics.created
    pieces = sides.pieces(
        subscribe=topic,
        startingOffsets=of(topic, 0, 3, 0),
        endingOffsets=of(topic, 50, 30, 0),
        maxRecordsPerPartition=limit,
    )
    assert sum(each.rows for each in pieces) == 77
    assert max(each.rows for each in pieces) <= int(limit)


def test_max_records_per_partition_from_earliest_to_latest(sides: Sides, topics: Topics) -> None:
    """Intended: the connector does not know the size of such a range, and does not split it."""
    options = {"subscribe": topics.created, "maxRecordsPerPartition": "20"}
    theirs, ours = (pieces_of(sides.load(each, options)) for each in FORMATS)
    assert max(each.rows for each in theirs) == 60
    assert max(each.rows for each in ours) == 20
    sides.rows(**options)


def test_latest_is_found_when_a_task_reads(sides: Sides, topics: Topics) -> None:
    topic = topics.make("growing", partitions=2)
    topics.write(topic, numbered(3))
    loaded = [sides.load(each, {"subscribe": topic}) for each in FORMATS]
    assert [df.count() for df in loaded] == [3, 3]
    topics.write(topic, [*numbered(4), *numbered(2, partition=1)])
    assert [df.count() for df in loaded] == [9, 9]
    theirs, ours = map(in_order, loaded)
    assert ours == theirs


def test_only_the_connector_plans_a_second_run_again(sides: Sides, topics: Topics) -> None:
    """Spark plans a Python data source once for each `load()`."""
    topics.write(topics.make("found-1"), numbered(3))
    found = {"subscribePattern": "found-."}
    until = {"subscribe": "found-1", "endingTimestamp": str(at(1000))}
    loaded = [sides.load(each, options) for options in (found, until) for each in FORMATS]
    assert [df.count() for df in loaded] == [3, 3, 3, 3]
    topics.write("found-1", numbered(1))
    topics.write(topics.make("found-2"), numbered(4))
    assert [df.count() for df in loaded] == [8, 4, 4, 3]
    assert len(sides.rows(subscribePattern="found-.")) == 8


def test_options_that_change_no_row(sides: Sides, topics: Topics) -> None:
    rows = sides.rows(
        subscribe=topics.created,
        groupIdPrefix="my-prefix",
        fetchOffset__numRetries="2",
        fetchOffset__retryIntervalMs="10",
        maxOffsetsPerTrigger="1",
        minOffsetsPerTrigger="1",
        maxTriggerDelay="1s",
        kafka__client__id="me",
        kafka__fetch__max__bytes="1000",
        kafka__max__partition__fetch__bytes="100",
    )
    assert len(rows) == 90


@pytest.mark.core
def test_columns_and_types(sides: Sides, topics: Topics) -> None:
    for headers in ("true", "false"):
        options = {"subscribe": topics.empty, "includeHeaders": headers}
        theirs, ours = (sides.load(each, options).schema for each in FORMATS)
        assert ours == theirs


def test_a_group_id_changes_no_row(sides: Sides, topics: Topics) -> None:
    assert len(sides.rows(subscribe=topics.created, kafka__group__id="a group")) == 90
