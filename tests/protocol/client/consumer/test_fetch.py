"""Ranges against a scripted broker: what a real one cannot be made to answer."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch import OffsetOutOfRangeError, fetch_range
from kafka_protocol.errors import (
    BrokerError,
    CorruptRecordError,
    DataLossError,
    ErrorCode,
    KafkaTimeoutError,
    ProtocolError,
)
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.records.batch import RecordBatch
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.records.record import Record, decode_records
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.fakes.broker import Close, ScriptedBroker
from tests.protocol.records.strategies import wrapper_of
from tests.protocol.records.test_batch import batch_of

PARTITION = TopicPartition("t", 0)
TOPIC_ID = uuid.UUID(int=7)

Topic = MetadataResponse.MetadataResponseTopic
PartitionData = FetchResponse.FetchableTopicResponse.PartitionData


def batch(base_offset: int, count: int = 1) -> bytes:
    records = [Record(number, 1, None, b"%d" % (base_offset + number)) for number in range(count)]
    return batch_of(*records, base_offset=base_offset)


def answer(records: bytes = b"", error: ErrorCode = ErrorCode.NONE) -> FetchResponse:
    data = PartitionData(error_code=int(error), high_watermark=100, records=records)
    topic = FetchResponse.FetchableTopicResponse(topic="t", topic_id=TOPIC_ID, partitions=[data])
    return FetchResponse(responses=[topic])


def topic_with(topic_id: uuid.UUID) -> Topic:
    partition = Topic.MetadataResponsePartition(leader_id=1, leader_epoch=5)
    return Topic(name="t", topic_id=topic_id, partitions=[partition])


class Log:
    """Answers Fetch from a list: each element once, the last one for ever."""

    def __init__(self, *answers: FetchResponse | Exception) -> None:
        self.answers = list(answers)
        self.offsets: list[int] = []
        self.sizes: list[int] = []
        self.topic_id = TOPIC_ID

    def __call__(self, request: FetchRequest, _version: int) -> FetchResponse:
        asked = request.topics[0].partitions[0]
        self.offsets.append(asked.fetch_offset)
        self.sizes.append(asked.partition_max_bytes)
        chosen = self.answers[min(len(self.offsets), len(self.answers)) - 1]
        if isinstance(chosen, Exception):
            raise chosen
        return chosen


@contextmanager
def broker_with(
    log: Callable[[Any, int], Any], bounds: tuple[int, int] = (0, 100)
) -> Iterator[Cluster]:
    def metadata(_request: MetadataRequest, _version: int) -> MetadataResponse:
        address = fake.address
        return MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(
                    node_id=1, host=address.host, port=address.port
                )
            ],
            topics=[topic_with(getattr(log, "topic_id", TOPIC_ID))],
        )

    def list_offsets(request: ListOffsetsRequest, _version: int) -> ListOffsetsResponse:
        position = request.topics[0].partitions[0].timestamp
        found = ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(
            offset=bounds[0] if position == -2 else bounds[1]
        )
        return ListOffsetsResponse(
            topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[found])]
        )

    handlers = {MetadataRequest: metadata, ListOffsetsRequest: list_offsets, FetchRequest: log}
    with ScriptedBroker(handlers) as fake:  # type: ignore[arg-type]
        cluster = Cluster(
            ClientConfig(
                bootstrap_servers=(fake.address,),
                retry_backoff_ms=1,
                retry_backoff_max_ms=5,
                max_partition_fetch_bytes=1_000,
                max_response_bytes=10_000,
            )
        )
        try:
            yield cluster
        finally:
            cluster.close()


def read(cluster: Cluster, start: int, stop: int, idle_ms: int = 5_000) -> list[int]:
    batches: list[RecordBatch] = []
    for _, some in fetch_range(cluster, OffsetRange(PARTITION, start, stop), idle_ms):
        assert some
        batches += some
    return [record.offset for found in batches for record in decode_records(found)]


def test_the_next_fetch_is_sent_before_an_answer_is_handed_out() -> None:
    log = Log(answer(batch(0, 3) + batch(3)), answer(batch(4, 2)))
    with broker_with(log) as cluster:
        range_ = fetch_range(cluster, OffsetRange(PARTITION, 0, 6), 5_000)
        assert [b.header.base_offset for b in next(range_).batches] == [0, 3]
        assert [b.header.base_offset for b in next(range_).batches] == [4]
        assert [*range_] == []
    assert log.offsets == [0, 4]


def test_nothing_is_asked_for_behind_the_end() -> None:
    log = Log(answer(batch(0, 3)))
    with broker_with(log) as cluster:
        assert read(cluster, 1, 3) == [0, 1, 2]
    assert log.offsets == [1]


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.REQUEST_TIMED_OUT,
    ],
)
def test_fault_16_17_and_40_what_may_pass_is_asked_again(error: ErrorCode) -> None:
    log = Log(answer(batch(0)), answer(error=error), answer(error=error), answer(batch(1)))
    with broker_with(log) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
    assert log.offsets == [0, 1, 1, 1]


def test_fault_04_a_connection_that_breaks_is_made_anew() -> None:
    log = Log(answer(batch(0)), Close(), answer(batch(1)))
    with broker_with(log) as cluster:
        assert read(cluster, 0, 2) == [0, 1]


def test_what_does_not_pass_is_told_with_place_and_broker() -> None:
    with broker_with(Log(answer(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))) as cluster:
        with pytest.raises(
            BrokerError, match=r"^Fetch of t-0 at offset 0 to broker 1 \(.*NOT_LEADER"
        ):
            read(cluster, 0, 2, idle_ms=100)


def test_fault_26_what_is_forbidden_is_not_tried_again() -> None:
    log = Log(answer(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with broker_with(log) as cluster:
        with pytest.raises(BrokerError, match=r"TOPIC_AUTHORIZATION_FAILED.*READ"):
            read(cluster, 0, 2)
    assert log.offsets == [0]


def test_fault_27_offset_that_is_gone() -> None:
    with broker_with(Log(answer(error=ErrorCode.OFFSET_OUT_OF_RANGE)), bounds=(40, 60)) as cluster:
        with pytest.raises(OffsetOutOfRangeError, match=r"offset 3 of t-0 .*\[40, 60\)"):
            read(cluster, 3, 50)


def test_fault_27_a_stale_leader_s_word_is_checked() -> None:
    log = Log(answer(error=ErrorCode.OFFSET_OUT_OF_RANGE), answer(batch(3)))
    with broker_with(log) as cluster:
        assert read(cluster, 3, 4) == [3]


def test_fault_30_size_is_raised_until_a_batch_comes_whole() -> None:
    whole = batch(0, 40)
    log = Log(answer(whole[:100]), answer(whole[:200]), answer(whole))
    with broker_with(log) as cluster:
        assert len(read(cluster, 0, 40)) == 40
    assert log.sizes == [1_000, 2_000, 4_000]


def test_fault_30_a_batch_that_never_fits() -> None:
    with broker_with(Log(answer(batch(0, 40)[:100]))) as cluster:
        with pytest.raises(
            CorruptRecordError, match=r"t-0 at offset 0: .*receive\.message\.max\.bytes"
        ):
            read(cluster, 0, 40)


def test_fault_31_flipped_byte() -> None:
    damaged = bytearray(batch(0))
    damaged[-1] ^= 1
    with broker_with(Log(answer(bytes(damaged)))) as cluster:
        for _ in range(2):
            with pytest.raises(CorruptRecordError, match="of t-0 at offset 0: the CRC-32C"):
                read(cluster, 0, 1)


def test_a_damaged_batch_behind_the_end_is_not_looked_at() -> None:
    damaged = bytearray(batch(1))
    damaged[-1] ^= 1
    with broker_with(Log(answer(batch(0) + bytes(damaged)))) as cluster:
        assert read(cluster, 0, 1) == [0]


def test_batches_behind_the_end_may_be_newer_than_the_stated_high_watermark() -> None:
    """A broker notes its high watermark before it reads its log."""
    with broker_with(Log(answer(batch(98, 2) + batch(100)))) as cluster:
        assert read(cluster, 98, 100) == [98, 99]


def test_fault_34_the_end_of_a_range_may_be_compacted_away() -> None:
    log = Log(answer(batch(0)), answer(batch(80)))
    with broker_with(log) as cluster:
        assert read(cluster, 0, 50) == [0]
    assert log.offsets == [0, 1]


def message(offset: int) -> Message:
    return Message(offset, 1, None, b"%d" % offset)


def plain(*offsets: int) -> bytes:
    return encode_messages(map(message, offsets), 1)


def wrapper(*inner: int, at: int) -> bytes:
    return wrapper_of([message(offset) for offset in inner], 1, CompressionCodec.GZIP, at)


def test_fault_37_all_message_formats_in_one_answer() -> None:
    log = Log(answer(plain(0, 1) + wrapper(0, 1, at=3) + batch(4, 2)), answer(plain(6, 7)))
    with broker_with(log) as cluster:
        assert read(cluster, 0, 7) == [0, 1, 2, 3, 4, 5, 6]
    assert log.offsets == [0, 6]


def test_fault_37_a_wrapper_around_the_end_of_the_range() -> None:
    """Where it begins is not known before it is unpacked."""
    log = Log(answer(wrapper(5, 6, 7, at=17) + wrapper(0, at=18)))
    with broker_with(log) as cluster:
        assert read(cluster, 10, 16) == [15, 16, 17]
    assert log.offsets == [10]


def test_fault_37_damaged_messages_behind_the_end_are_not_looked_at() -> None:
    damaged = bytearray(plain(0, 1, 2))
    damaged[-1] ^= 1
    with broker_with(Log(answer(bytes(damaged)))) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
        with pytest.raises(CorruptRecordError, match="of t-0 at offset 2: the CRC-32 "):
            read(cluster, 0, 3)


def test_fault_39_batches_that_are_all_behind_us() -> None:
    log = Log(answer(batch(0)))
    with broker_with(log) as cluster:
        with pytest.raises(ProtocolError, match="10 answers held only batches before that offset"):
            read(cluster, 5, 9)
    assert len(log.offsets) == 10


def test_fault_39_an_answer_without_the_partition() -> None:
    with broker_with(Log(FetchResponse(), FetchResponse(), answer(batch(0)))) as cluster:
        assert read(cluster, 0, 1) == [0]
    with broker_with(Log(FetchResponse())) as cluster:
        with pytest.raises(ProtocolError, match=r"Fetch of t-0 at offset 0 .*lacks the partition"):
            read(cluster, 0, 1, idle_ms=50)


def test_fault_31_damage_that_would_hide_a_batch() -> None:
    """Its last offset delta says that the batch is behind us; its checksum says otherwise."""
    damaged = bytearray(batch(10, 10))
    damaged[23:27] = (2).to_bytes(4, "big")  # last offset delta
    damaged[57:61] = (3).to_bytes(4, "big")  # records count
    with broker_with(Log(answer(bytes(damaged) + batch(20, 5)))) as cluster:
        with pytest.raises(CorruptRecordError, match="of t-0 at offset 10: the CRC-32C"):
            read(cluster, 15, 25)


@pytest.mark.parametrize(
    "records",
    [
        batch(0, 10) + batch(5, 10),
        batch(0) + batch(100),
        wrapper(0, at=9) + wrapper(0, at=5),
        wrapper(0, at=9) + wrapper(0, at=100),
        plain(0, 1, 2, 3 + (1 << 40)),
    ],
    ids=[
        "overlap",
        "behind the high watermark",
        "wrappers that overlap",
        "a wrapper behind the high watermark",
        "a message behind the high watermark",
    ],
)
def test_fault_31_base_offsets_that_cannot_be(records: bytes) -> None:
    with broker_with(Log(answer(records))) as cluster:
        with pytest.raises(CorruptRecordError, match=r"of t-0 at offset .*a batch begins there"):
            read(cluster, 0, 200)


def test_fault_24_topic_that_is_re_created_while_it_is_read() -> None:
    log = Log(answer(batch(0)), answer(error=ErrorCode.UNKNOWN_TOPIC_ID), answer(batch(1)))
    with broker_with(log) as cluster:
        range_ = fetch_range(cluster, OffsetRange(PARTITION, 0, 2), 5_000)
        next(range_)
        log.topic_id = uuid.UUID(int=8)
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*re-created"):
            next(range_)


def test_the_consumer_s_time_is_not_ours() -> None:
    """A slow consumer leaves the next call all of its time."""
    log = Log(answer(batch(0)), answer(error=ErrorCode.NOT_LEADER_OR_FOLLOWER), answer(batch(1)))
    with broker_with(log) as cluster:
        range_ = fetch_range(cluster, OffsetRange(PARTITION, 0, 2), 1_000)
        next(range_)
        time.sleep(1.1)
        assert [b.header.base_offset for b in next(range_).batches] == [1]


def test_empty_answers_that_come_at_once_are_not_asked_for_in_a_loop() -> None:
    log = Log(answer())
    with broker_with(log) as cluster:
        with pytest.raises(KafkaTimeoutError):
            read(cluster, 0, 1, idle_ms=100)
    assert len(log.offsets) <= 110  # at least 1 ms between two


def test_two_ranges_over_one_connection_get_their_own_answers() -> None:
    def fetch(request: FetchRequest, _version: int) -> FetchResponse:
        return answer(batch(request.topics[0].partitions[0].fetch_offset))

    with broker_with(fetch) as cluster:
        ranges = [fetch_range(cluster, OffsetRange(PARTITION, 0, 2), 5_000) for _ in range(2)]
        first = [next(range_).batches[0].header.base_offset for range_ in ranges]
        second = [next(range_).batches[0].header.base_offset for range_ in reversed(ranges)]
    assert (first, second) == ([0, 0], [1, 1])


def test_records_that_do_not_come() -> None:
    with broker_with(Log(answer())) as cluster:
        with pytest.raises(
            KafkaTimeoutError, match="Cannot fetch record for offset 0 of t-0 in 50 "
        ):
            read(cluster, 0, 1, idle_ms=50)


def test_a_batch_that_begins_before_the_position_brings_nothing_twice() -> None:
    """After an unclean election, or from a broker that batches anew, batches lie otherwise."""
    log = Log(answer(batch(0, 10)), answer(batch(5, 15)))
    with broker_with(log) as cluster:
        found = [
            record.offset
            for window, batches in fetch_range(cluster, OffsetRange(PARTITION, 2, 20), 5_000)
            for some in batches
            for record in decode_records(some)
            if window.from_offset <= record.offset < window.until_offset
        ]
    assert found == [*range(2, 20)]
    assert log.offsets == [2, 10]


def test_a_batch_behind_a_high_watermark_that_is_old_is_asked_for_again() -> None:
    """A broker notes its high watermark before it reads its log."""

    def stale(offset: int) -> FetchResponse:
        response = answer(batch(0) + batch(1))
        response.responses[0].partitions[0].high_watermark = offset
        return response

    with broker_with(Log(stale(1), answer(batch(1)))) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
    with broker_with(Log(stale(0), stale(2))) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
    with broker_with(Log(stale(0))) as cluster:
        with pytest.raises(CorruptRecordError, match="and the high watermark at 0"):
            read(cluster, 0, 2)
