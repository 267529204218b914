"""The reference codec: round trips, and damage inside a batch."""

from __future__ import annotations

import pytest
from hypothesis import given

from kafka_protocol.errors import CorruptRecordError
from kafka_protocol.records.batch import RecordBatch, read_batches
from kafka_protocol.records.record import Record, decode_records
from tests.protocol.records.batches import IMPOSSIBLE_RECORDS
from tests.protocol.records.strategies import batches, header_of


@pytest.mark.no_cover
@given(batch=batches())
def test_round_trip(batch: tuple[bytes, list[Record]]) -> None:
    data, records = batch
    (read,) = read_batches(memoryview(data))
    assert decode_records(read) == records


@pytest.mark.parametrize(("payload", "reason"), IMPOSSIBLE_RECORDS)
def test_fault_32_impossible_records(payload: bytes, reason: str) -> None:
    batch = RecordBatch(header_of(base_offset=40, records_count=1), memoryview(payload))
    with pytest.raises(CorruptRecordError, match=f"at offset 40: .*{reason}"):
        decode_records(batch)


def test_fault_32_offsets_must_ascend() -> None:
    header = header_of(base_offset=40, records_count=2, last_offset_delta=1)
    payload = memoryview(b"\x0c\x00\x08\x00\x01\x01\x00" * 2)
    with pytest.raises(CorruptRecordError, match="at offset 40: offset deltas do not ascend"):
        decode_records(RecordBatch(header, payload))


def test_fault_33_size_limit_names_the_offset() -> None:
    batch = RecordBatch(header_of(base_offset=40, records_count=1), memoryview(bytes(100)))
    with pytest.raises(CorruptRecordError, match=r"at offset 40: .*more than 99 bytes"):
        decode_records(batch, 99)


def test_log_append_time_applies_to_all_records() -> None:
    header = header_of(records_count=1, attributes=0x08, max_timestamp=77)
    (record,) = decode_records(RecordBatch(header, memoryview(b"\x0c\x00\x08\x00\x01\x01\x00")))
    assert record.timestamp == 77
