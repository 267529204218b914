"""The position of a read: its table, how it moves, and why a read fails."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.errors import LogTruncatedError, OffsetOutOfRangeError
from kafka_protocol.client.consumer.fetch_position import NEXT, Event, FetchPosition, State
from kafka_protocol.client.consumer.fetch_request import OVERHEAD_BYTES, PartlyRead
from kafka_protocol.errors import CorruptRecordError, KafkaTimeoutError, ProtocolError
from kafka_protocol.records.fetch_response import (
    UNKNOWN_EPOCH,
    PartitionData,
    TakenBatches,
)
from kafka_protocol.topic_partition import LogBounds, OffsetRange, TopicPartition

PARTITION = TopicPartition("t", 0)
# Events that bring a new position into a state.
WAYS: dict[State, tuple[Event, ...]] = {
    State.IN_LOG: (),
    State.OUT_OF_RANGE: (Event.OUT_OF_RANGE,),
    State.DIVERGED: (Event.DIVERGED,),
    State.LOST: (Event.DIVERGED, Event.DIVERGED),
}


def new_position(**config: Any) -> FetchPosition:
    """At offset 10 of a range up to 20, behind a batch of leader epoch 3."""
    reading = PartlyRead(OffsetRange(PARTITION, 10, 20), None, epoch=3)
    return FetchPosition(reading, ClientConfig(**config))


def taken(offset: int, *, is_empty: bool = False) -> TakenBatches:
    return TakenBatches((), offset, 4, is_empty)


def data(records: bytes = b"records", **fields: Any) -> PartitionData:
    return PartitionData(records=records, **fields)


@pytest.mark.parametrize(("state", "event"), [*product(State, Event)])
def test_each_event_in_each_state(state: State, event: Event) -> None:
    position = new_position()
    for each in WAYS[state]:
        position.note(each)
    assert position.state is state
    if event in NEXT[state]:
        position.note(event)
        assert position.state is NEXT[state][event]
    else:
        with pytest.raises(KeyError):
            position.note(event)


def test_no_first_response_loses_the_position() -> None:
    assert State.LOST not in NEXT[State.IN_LOG].values()


def test_batches_move_it() -> None:
    position = new_position()
    position.note(Event.DIVERGED)
    position.advance(taken(15), data())
    assert (position.epoch, position.state) == (4, State.IN_LOG)
    ends = [(position.rest, position.is_done)]
    position.advance(taken(20), data())
    ends.append((position.rest, position.is_done))
    assert ends == [
        (OffsetRange(PARTITION, 15, 20), False),
        (OffsetRange(PARTITION, 20, 20), True),
    ]
    assert repr(position).startswith("<FetchPosition at ")


def test_an_empty_response_changes_nothing() -> None:
    position = new_position()
    for _ in range(100):
        position.advance(taken(10, is_empty=True), data(b""))
    assert (position.offset, position.epoch) == (10, 3)


def test_fault_39_responses_without_progress_are_counted() -> None:
    position = new_position()
    for _ in range(9):
        position.advance(taken(10), data())
    position.made_progress()
    for _ in range(9):
        position.advance(taken(10), data())
    with pytest.raises(ProtocolError, match="t-0 at offset 10: 10 responses held only batches"):
        position.advance(taken(10), data())


def test_a_misplaced_batch_is_the_error_if_it_stays() -> None:
    position = new_position()
    misplaced = CorruptRecordError("misplaced", offset=10, topic_partition=PARTITION)
    for _ in range(9):
        position.advance(taken(10)._replace(misplaced=misplaced), data())
    with pytest.raises(CorruptRecordError, match="misplaced"):
        position.advance(taken(10)._replace(misplaced=misplaced), data())


def test_fault_30_a_batch_that_is_cut_needs_more_bytes() -> None:
    most = 5_000 - OVERHEAD_BYTES
    position = new_position(max_partition_fetch_bytes=1_500, max_response_bytes=5_000)
    wanted = [position.max_bytes]
    while position.max_bytes < most:
        position.advance(taken(10, is_empty=True), data())
        wanted.append(position.max_bytes)
    assert wanted == [1_500, 3_000, most]
    with pytest.raises(CorruptRecordError, match=r"message\.max\.bytes \(5000 bytes\); 7 bytes"):
        position.advance(taken(10, is_empty=True), data())


def test_a_log_that_ends_before_it_in_its_epoch() -> None:
    position = new_position()
    position.check_not_diverged(data())
    diverging = PartitionData.EpochEndOffset(epoch=2, end_offset=7)
    with pytest.raises(LogTruncatedError) as caught:
        position.check_not_diverged(data(diverging_epoch=diverging))
    assert (caught.value.offset, caught.value.epoch, caught.value.truncated_to) == (10, 3, 7)


@pytest.mark.parametrize("log", [LogBounds(0, 10), LogBounds(10, 12), LogBounds(10, 10)])
def test_within_the_bounds_the_epoch_is_forgotten(log: LogBounds) -> None:
    position = new_position()
    position.note(Event.OUT_OF_RANGE)
    position.check_within(log)
    assert (position.state, position.epoch) == (State.IN_LOG, UNKNOWN_EPOCH)


@pytest.mark.parametrize("log", [LogBounds(0, 9), LogBounds(11, 20)])
def test_outside_the_bounds_it_is_lost(log: LogBounds) -> None:
    position = new_position()
    position.note(Event.OUT_OF_RANGE)
    with pytest.raises(OffsetOutOfRangeError) as caught:
        position.check_within(log)
    assert (caught.value.offset, caught.value.earliest, caught.value.latest) == (10, *log)
    assert position.state is State.LOST


def test_fault_36_and_41_why_no_records_came() -> None:
    position = new_position()
    ended = position.idle_error(data(high_watermark=10, log_start_offset=2), 500, "read_committed")
    assert isinstance(ended, OffsetOutOfRangeError)
    assert (ended.earliest, ended.latest) == (2, 10)
    silent = position.idle_error(data(high_watermark=15), 500, "read_uncommitted")
    assert isinstance(silent, KafkaTimeoutError)
    assert "offset 10 of t-0 in 500 milliseconds; the range ends at 20" in str(silent)
    over_a_quota = position.idle_error(data(b"", high_watermark=-1), 500, "read_uncommitted")
    assert isinstance(over_a_quota, KafkaTimeoutError)
    hidden = data(high_watermark=10, last_stable_offset=8)
    held = str(position.idle_error(hidden, 500, "read_committed"))
    assert "holds the last stable offset at 8, below the high watermark 10" in held
