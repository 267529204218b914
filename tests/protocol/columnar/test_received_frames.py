"""Frames as a connection receives them are decoded to what was sent.

Rows of several responses share an Arrow batch, so the batches of a response are decoded after later
responses were received.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.columnar.reading.batch_columns import take_batch_columns
from kafka_protocol.columnar.reading.decode import decode_batches
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.batch import RecordBatch
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.record import Record
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_protocol.wire.framing import FrameBuffer
from tests.protocol.records.batches import batch_of

PARTITION = TopicPartition("orders", 3)
VALUE_BYTES = 100
# A response of one batch is larger than this, so it is received in memory of its own.
LARGE_BYTES = 64 * 1024
BATCH_RECORDS = LARGE_BYTES // VALUE_BYTES
TIME = 1_700_000_000_000


def value_of(offset: int) -> bytes:
    return b"%d" % offset * VALUE_BYTES


def batches_of(first: int, batches: int) -> bytes:
    """Batches of magic 2, whose records are the larger the fewer digits their offsets have."""
    count = BATCH_RECORDS // batches
    return b"".join(
        batch_of(
            *(Record(i, TIME, None, value_of(begin + i)) for i in range(count)), base_offset=begin
        )
        for begin in range(first, first + count * batches, count)
    )


def message_set_of(first: int, _batches: int) -> bytes:
    offsets = range(first, first + BATCH_RECORDS)
    return encode_messages([Message(each, TIME, None, value_of(each)) for each in offsets], 1)


def fetched(
    responses: Sequence[bytes],
) -> Iterator[tuple[OffsetRange, Sequence[RecordBatch]]]:
    """The batches of each response of a connection, received before the next one is."""
    connection = FrameBuffer(1 << 24)
    position = 0
    for response in responses:
        connection.receive_data(len(response).to_bytes(4, "big"))
        assert connection.next_frame() is None
        buffer = connection.receive_buffer
        if buffer is None:
            connection.receive_data(response)
        else:
            buffer[:] = response
            buffer.release()
            connection.bytes_received(len(response))
        window = OffsetRange(PARTITION, position, 2**62)
        taken = take_batch_columns(_data(connection), window, check_crcs=True)
        position = taken.position
        yield window, taken.batches
        del taken


def _data(connection: FrameBuffer) -> FetchResponse.FetchableTopicResponse.PartitionData:
    frame = connection.next_frame()
    assert frame is not None
    return FetchResponse.FetchableTopicResponse.PartitionData(records=frame, high_watermark=-1)


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize("records", [batches_of, message_set_of])
@given(
    st.lists(st.sampled_from([1, 3, 20]), min_size=1, max_size=6),
    st.sampled_from([1, 3 * LARGE_BYTES, 2**40]),
)
def test_rows_of_several_responses_are_those_that_were_sent(
    records: object, batches: list[int], target_bytes: int
) -> None:
    assert callable(records)
    responses, wanted = [], 0
    for each in batches:
        responses.append(records(wanted, each))
        wanted += BATCH_RECORDS // each * each if records is batches_of else BATCH_RECORDS
    arrow = decode_batches(fetched(responses), ["offset", "value"], target_bytes=target_bytes)
    rows = [row for batch in arrow for row in batch.to_pylist()]
    assert [row["offset"] for row in rows] == [*range(wanted)]
    assert all(row["value"] == value_of(row["offset"]) for row in rows)
