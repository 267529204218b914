"""Aborted transactions: the visible batches of logs with interleaved transactions."""

from __future__ import annotations

import random
import struct
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import RecordBatch
from kafka_protocol.records.message_set import MessageSetHeader
from kafka_protocol.records.record import Record, encode_records
from kafka_protocol.records.transactions import (
    ABORT,
    COMMIT,
    AbortedTransaction,
    AbortedTransactions,
    SettledBatches,
    control_type,
)
from tests.protocol.records.strategies import header_of

TRANSACTIONAL, CONTROL = 0x10, 0x20


def data(base_offset: int, producer_id: int, attributes: int = TRANSACTIONAL) -> RecordBatch:
    """A batch of two records."""
    header = header_of(
        base_offset=base_offset,
        producer_id=producer_id,
        attributes=attributes,
        last_offset_delta=1,
        records_count=2,
    )
    return RecordBatch(header, memoryview(b""))


def marker(base_offset: int, producer_id: int, *keys: bytes) -> RecordBatch:
    records = [Record(number, 0, key, b"\0" * 6) for number, key in enumerate(keys)]
    header = header_of(
        base_offset=base_offset,
        producer_id=producer_id,
        attributes=TRANSACTIONAL | CONTROL,
        last_offset_delta=max(0, len(keys) - 1),
        records_count=len(keys),
    )
    return RecordBatch(header, memoryview(encode_records(records, 0, 0)))


def end(base_offset: int, producer_id: int, type_: int) -> RecordBatch:
    return marker(base_offset, producer_id, struct.pack(">hh", 0, type_))


def seen(batches: list[RecordBatch], *aborted: tuple[int, int]) -> list[int]:
    """The base offsets of the visible batches."""
    transactions = AbortedTransactions(AbortedTransaction(*pair) for pair in aborted)
    return [batch.header.base_offset for batch in batches if not transactions.advance(batch)]


def test_repr_shows_the_state() -> None:
    transactions = AbortedTransactions([AbortedTransaction(7, 0), AbortedTransaction(8, 9)])
    transactions.advance(data(0, 7))
    assert "1 open, 1 pending" in repr(transactions)


ONE_ABORTED = [data(0, 7), end(2, 7, ABORT), data(3, 7), end(5, 7, COMMIT)]
INTERLEAVED = [
    *(data(0, 7), data(2, 8), end(4, 7, ABORT), end(5, 8, COMMIT), data(6, 8), data(8, 7)),
    *(end(10, 8, ABORT), data(11, 8)),
]


@pytest.mark.parametrize(
    ("log", "aborted", "visible"),
    [
        (ONE_ABORTED, [(7, 0)], [3]),
        (ONE_ABORTED, [], [0, 3]),
        (
            [data(0, 7), end(2, 7, ABORT), data(3, 7), end(5, 7, ABORT), data(6, 7), data(8, 7)],
            [(7, 0), (7, 3)],
            [6, 8],
        ),
        (INTERLEAVED, [(8, 6), (7, 0)], [2, 8, 11]),
        # The first marker ends nothing: records that the producer commits later are visible.
        (
            [end(0, 7, ABORT), data(1, 7), end(3, 7, COMMIT), data(4, 7), end(6, 7, ABORT)],
            [(7, 4)],
            [1],
        ),
        ([data(40, 7), end(42, 7, ABORT), data(43, 7)], [(7, 3)], [43]),
        ([data(0, 7, attributes=0), data(2, 7)], [(7, 0)], [0]),
        ([data(0, 7), data(2, 8), data(4, -1, attributes=0)], [(7, 0)], [2, 4]),
    ],
    ids=[
        *("one", "read uncommitted", "several of a producer", "an unsorted list", "an empty one"),
        *("begun before the response", "idempotent records", "other producers"),
    ],
)
def test_fault_35_aborted_records_and_markers_are_hidden(
    log: list[RecordBatch], aborted: list[tuple[int, int]], visible: list[int]
) -> None:
    assert seen(log, *aborted) == visible


def test_fault_35_a_marker_without_its_data() -> None:
    """Compaction removed the records; the list still has the transaction."""
    assert seen([end(42, 7, ABORT), data(43, 7)], (7, 3)) == [43]


def test_fault_35_a_marker_that_compaction_emptied() -> None:
    assert seen([marker(42, 7), data(43, 8)], (7, 3)) == [43]
    assert control_type(marker(42, 7)) is None


def test_fault_35_two_markers_in_one_batch_count_as_the_first() -> None:
    abort, commit = (struct.pack(">hh", 0, type_) for type_ in (ABORT, COMMIT))
    assert seen([data(0, 7), marker(2, 7, abort, abort), data(4, 7)], (7, 0)) == [4]
    assert seen([data(0, 7), marker(2, 7, commit, abort), data(4, 7)], (7, 0)) == []


@pytest.mark.parametrize("type_", [COMMIT, 2, 5, 77, -1])
def test_fault_35_other_control_records_end_nothing(type_: int) -> None:
    assert seen([data(0, 7), end(2, 7, type_), data(3, 7)], (7, 0)) == []


def test_fault_35_a_key_of_a_later_version_may_be_longer() -> None:
    assert control_type(marker(0, 7, struct.pack(">hh", 9, ABORT) + b"more")) == ABORT


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (b"", "key has 0 bytes"),
        (b"\0\0\0", "key has 3 bytes"),
        (struct.pack(">hh", -1, ABORT), "version -1"),
    ],
)
def test_fault_35_impossible_control_records(key: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecordError, match=f"at offset 40: .*{reason}"):
        seen([marker(40, 7, key)], (7, 3))


def test_fault_35_a_damaged_marker() -> None:
    batch = RecordBatch(end(40, 7, ABORT).header, memoryview(b"\x0b"))
    with pytest.raises(CorruptRecordError, match="at offset 40"):
        seen([batch], (7, 3))


def test_message_sets_have_no_transactions() -> None:
    header = MessageSetHeader(0, 9, 1, 0, 0)
    assert seen([RecordBatch(header, memoryview(b""))], (-1, 0)) == [0]


class Log(NamedTuple):
    batches: list[RecordBatch]
    visible: set[int]
    aborted: list[tuple[int, int, int]]  # producer id, first offset, marker's offset
    open: set[int]  # the offsets of batches of open transactions


def log_of(steps: list[tuple[int, str]]) -> Log:
    """A log of these steps of producers, up to the first open transaction."""
    log = whole_log_of(steps)
    last_stable_offset = min(log.open, default=len(steps) * 2)
    batches = [batch for batch in log.batches if batch.header.base_offset < last_stable_offset]
    return log._replace(
        batches=batches, aborted=[each for each in log.aborted if each[1] < last_stable_offset]
    )


def whole_log_of(steps: list[tuple[int, str]]) -> Log:
    """A log of these steps of producers."""
    batches: list[RecordBatch] = []
    visible: set[int] = set()
    aborted: list[tuple[int, int, int]] = []
    open_: dict[int, list[int]] = {}
    offset = 0
    for producer_id, step in steps:
        if step == "send":
            batches.append(data(offset, producer_id))
            open_.setdefault(producer_id, []).append(offset)
            offset += 2
        elif step == "send without":
            batches.append(data(offset, producer_id, attributes=0))
            visible.add(offset)
            offset += 2
        else:
            offsets = open_.pop(producer_id, [])
            batches.append(end(offset, producer_id, COMMIT if step == "commit" else ABORT))
            if step == "commit":
                visible.update(offsets)
            elif offsets:
                aborted.append((producer_id, offsets[0], offset))
            offset += 1
    return Log(batches, visible, aborted, {each for offsets in open_.values() for each in offsets})


STEP = st.tuples(
    st.integers(1, 3), st.sampled_from(["send", "send", "send without", "commit", "abort"])
)


@given(
    steps=st.lists(STEP, max_size=40),
    first=st.integers(0, 40),
    rng=st.randoms(use_true_random=False),
)
def test_fault_35_any_response_from_any_log(
    steps: list[tuple[int, str]], first: int, rng: random.Random
) -> None:
    """The broker lists the transactions that end after the start of the response."""
    log = log_of(steps)
    batches = log.batches[first:]
    if not batches:
        return
    begin = batches[0].header.base_offset
    listed = [(producer, offset) for producer, offset, last in log.aborted if last >= begin]
    rng.shuffle(listed)
    expected = [b.header.base_offset for b in batches if b.header.base_offset in log.visible]
    assert seen(batches, *listed) == expected


@given(st.lists(STEP, max_size=40))
def test_settled_batches_are_the_committed_ones(steps: list[tuple[int, str]]) -> None:
    """Beyond the last stable offset too, where transactions are open."""
    log = whole_log_of(steps)
    settled = SettledBatches()
    found = [each.header.base_offset for batch in log.batches for each in settled.advance(batch)]
    assert sorted(found) == sorted(log.visible)
    still_open = {each.header.base_offset for each in settled.open_batches}
    assert still_open == log.open
    assert repr(settled).startswith("<SettledBatches, ")


def test_message_sets_are_settled() -> None:
    batch = RecordBatch(MessageSetHeader(0, 9, 1, 0, 0), memoryview(b""))
    assert SettledBatches().advance(batch) == [batch]
