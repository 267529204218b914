"""A replica's log by itself: reads, truncation, epochs, segments, compaction's leftovers."""

from __future__ import annotations

import pytest

from kafka_protocol.records.batch import Producer, read_batches
from kafka_protocol.records.compression import Compression, CompressionCodec
from kafka_protocol.records.message import Message, encode_messages, wrap_messages
from kafka_protocol.records.record import Record, decode_records
from tests.simulation.kafka.batches import (
    Stored,
    as_messages,
    as_stored,
    batch_of,
    emptied,
    placed,
    placed_messages,
    thinned,
)
from tests.simulation.kafka.log import NOWHERE, UNDEFINED, Position, ReplicaLog, Rolling


def _stored(offset: int, count: int = 1, epoch: int = 0, timestamp: int = 1) -> Stored:
    records = [Record(at, timestamp + at, b"k%d" % at, b"v") for at in range(count)]
    return placed(batch_of(records), offset, epoch)


def _log(*sizes: int, rolling: Rolling = Rolling()) -> ReplicaLog:  # noqa: B008
    log = ReplicaLog(rolling)
    for at, size in enumerate(sizes):
        log.append(_stored(log.end_offset, size, timestamp=10 * (at + 1)))
    return log


def _offsets(found: list[Stored]) -> list[int]:
    return [stored.base_offset for stored in found]


def test_a_read_begins_with_the_batch_that_has_the_offset() -> None:
    log = _log(3, 2, 1)
    assert _offsets(log.read(1, 6, 10_000, first_whole=True)) == [0, 3, 5]
    assert _offsets(log.read(3, 5, 10_000, first_whole=True)) == [3]
    assert _offsets(log.read(4, 4, 10_000, first_whole=True)) == []


def test_a_read_ends_with_its_segment() -> None:
    size = len(_stored(0).data)
    log = _log(1, 1, 1, 1, 1, rolling=Rolling(max_bytes=2 * size))
    assert log.segments == [0, 2, 4]
    assert _offsets(log.read(0, 5, 10_000, first_whole=True)) == [0, 1]
    assert _offsets(log.read(3, 5, 10_000, first_whole=True)) == [3]
    log.truncate(3)
    assert log.segments == [0, 2]
    log.append(_stored(3))
    log.append(_stored(4))
    assert log.segments == [0, 2, 4]
    log.delete_before(3)
    assert log.segments == [2, 4]


def test_a_segment_ends_when_records_are_much_newer() -> None:
    log = ReplicaLog(Rolling(max_ms=100))
    for offset, timestamp in enumerate((1_000, 1_100, 1_101, 900)):
        log.append(_stored(offset, timestamp=timestamp))
    assert log.segments == [0, 2]


def test_truncation_cuts_whole_batches_and_forgets_epochs() -> None:
    log = _log(2, 2)
    log.append(_stored(4, 2, epoch=3))
    assert log.truncate(5)
    assert (log.end_offset, log.last_epoch) == (4, 0)
    assert not log.truncate(4)
    assert log.truncate(0)
    assert (log.end_offset, log.last_epoch) == (0, UNDEFINED)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(-1, (-1, -1)), (0, (0, 2)), (1, (0, 2)), (2, (2, 5)), (4, (4, 6)), (5, (-1, -1))],
)
def test_the_end_of_an_epoch(asked: int, expected: tuple[int, int]) -> None:
    log = _log(2)
    log.append(_stored(2, 3, epoch=2))
    log.append(_stored(5, 1, epoch=4))
    assert log.end_of_epoch(asked) == expected


def test_deleting_keeps_the_epoch_of_the_log_start() -> None:
    log = _log(2)
    log.append(_stored(2, 3, epoch=2))
    log.delete_before(3)
    assert (log.start_offset, log.epochs, _offsets(log.batches)) == (3, [(2, 3)], [2])
    assert log.end_of_epoch(1) == (1, 3)
    log.delete_before(5)
    assert (log.start_offset, log.end_offset, log.batches) == (5, 5, [])


def test_look_ups_by_time() -> None:
    log = _log(2, 2)  # at 10, 11, 20, 21
    assert log.since(11) == Position(11, 1, 0)
    assert log.since(12) == Position(20, 2, 0)
    assert log.since(22) == NOWHERE
    assert log.newest() == Position(21, 3, 0)
    assert ReplicaLog().newest() == NOWHERE


def test_a_batch_below_the_end_is_refused() -> None:
    log = _log(2)
    with pytest.raises(ValueError, match="below the end"):
        log.append(_stored(1))


def test_a_thinned_batch_keeps_its_range() -> None:
    whole = _stored(5, 3)
    thin = thinned(whole, whole.records()[1:2])
    assert (thin.base_offset, thin.next_offset) == (5, 8)
    assert [record.offset for record in thin.records()] == [6]


def test_an_emptied_batch_keeps_its_producer() -> None:
    producer = Producer(7, 1, 4)
    whole = placed(batch_of([Record(0, 1, b"k", b"v")], producer), 9, 0)
    empty = emptied(whole)
    assert empty.header is not None
    assert (empty.header.producer_id, empty.header.base_sequence) == (7, 4)
    assert (empty.records(), empty.next_offset) == ((), 10)


@pytest.mark.parametrize("codec", list(CompressionCodec))
def test_batches_of_all_codecs_are_placed(codec: CompressionCodec) -> None:
    data = batch_of([Record(0, 1, None, b"v" * 50), Record(1, 1, None, b"w")], codec=codec)
    stored = placed(data, 41, 2, append_time=77)
    assert [(r.offset, r.timestamp) for r in stored.records()] == [(41, 77), (42, 77)]
    assert as_stored(stored.data) == stored


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_placed_one_by_one_and_wrappers_as_a_whole(magic: int) -> None:
    messages = encode_messages([Message(at, 5, None, b"v") for at in range(3)], magic)
    assert [s[1:3] for s in placed_messages(messages, 10, 0)] == [(10, 11), (11, 12), (12, 13)]
    if magic:
        wrapper = wrap_messages(messages, Compression(CompressionCodec.GZIP), magic, 2, 5)
        (stored,) = placed_messages(wrapper, 10, 0)
        assert (stored.base_offset, stored.next_offset) == (10, 13)
        assert [record.offset for record in stored.records()] == [10, 11, 12]


def test_a_new_batch_becomes_old_messages() -> None:
    data = as_messages(batch_of([Record(0, 9, b"k", b"v"), Record(1, 9, None, None)]), 1)
    (batch,) = read_batches(memoryview(data))
    assert [record[:4] for record in decode_records(batch)] == [
        (0, 9, b"k", b"v"),
        (1, 9, None, None),
    ]
