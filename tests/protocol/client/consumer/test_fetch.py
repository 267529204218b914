"""Ranges, with a scripted broker: responses that a real broker does not send at will."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from kafka_protocol.client.clock import Deadline
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
from kafka_protocol.schema import Request
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from tests.fakes import faults
from tests.fakes.broker import Close, Handler, ScriptedBroker
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.protocol.records.batches import batch_of
from tests.protocol.records.strategies import wrapper_of

PARTITION = TopicPartition("t", 0)
TOPIC_ID = uuid.UUID(int=7)

Topic = MetadataResponse.MetadataResponseTopic
PartitionData = FetchResponse.FetchableTopicResponse.PartitionData


def batch(base_offset: int, count: int = 1) -> bytes:
    records = [Record(number, 1, None, b"%d" % (base_offset + number)) for number in range(count)]
    return batch_of(*records, base_offset=base_offset)


def fetched(records: bytes = b"", error: ErrorCode = ErrorCode.NONE) -> FetchResponse:
    data = PartitionData(error_code=int(error), high_watermark=100, records=records)
    topic = FetchResponse.FetchableTopicResponse(topic="t", topic_id=TOPIC_ID, partitions=[data])
    return FetchResponse(responses=[topic])


def topic_with(topic_id: uuid.UUID) -> Topic:
    partition = Topic.MetadataResponsePartition(leader_id=1, leader_epoch=5)
    return Topic(name="t", topic_id=topic_id, partitions=[partition])


class Script:
    """Responds to Fetch from a list: each element once, the last one for ever."""

    def __init__(self, *responses: FetchResponse | Exception) -> None:
        self.responses = list(responses)
        self.offsets: list[int] = []
        self.sizes: list[int] = []
        self.topic_id = TOPIC_ID

    def __call__(self, request: FetchRequest, _version: int) -> FetchResponse:
        requested = request.topics[0].partitions[0]
        self.offsets.append(requested.fetch_offset)
        self.sizes.append(requested.partition_max_bytes)
        chosen = self.responses[min(len(self.offsets), len(self.responses)) - 1]
        if isinstance(chosen, Exception):
            raise chosen
        return chosen


@contextmanager
def broker_with(
    script: Callable[[Any, int], Any], bounds: tuple[int, int] = (0, 100)
) -> Iterator[Cluster]:
    def metadata(_request: MetadataRequest, _version: int) -> MetadataResponse:
        address = fake.address
        return MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(
                    node_id=1, host=address.host, port=address.port
                )
            ],
            topics=[topic_with(getattr(script, "topic_id", TOPIC_ID))],
        )

    def list_offsets(request: ListOffsetsRequest, _version: int) -> ListOffsetsResponse:
        position = request.topics[0].partitions[0].timestamp
        found = ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse(
            offset=bounds[0] if position == -2 else bounds[1]
        )
        return ListOffsetsResponse(
            topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="t", partitions=[found])]
        )

    handlers: dict[type[Request], Handler] = {
        MetadataRequest: metadata,
        ListOffsetsRequest: list_offsets,
        FetchRequest: script,
    }
    with ScriptedBroker(handlers) as fake:
        cluster = Cluster(
            ClientConfig(
                bootstrap_servers=(fake.address,),
                retry_backoff_ms=1,
                retry_backoff_max_ms=5,
                max_partition_fetch_bytes=1_000,
                max_response_bytes=10_000,
            )
        )
        with closing(cluster):
            # The times of reads are too short for a connection on a busy machine.
            leader, _ = cluster.leader(PARTITION, Deadline.after(30_000))
            cluster.broker(leader.node_id, Deadline.after(30_000))
            yield cluster


def read(cluster: Cluster, start: int, stop: int, idle_ms: int = 5_000) -> list[int]:
    batches: list[RecordBatch] = []
    for _, some in fetch_range(cluster, OffsetRange(PARTITION, start, stop), idle_ms):
        assert some
        batches += some
    return [record.offset for found in batches for record in decode_records(found)]


def test_the_next_fetch_is_sent_before_batches_are_yielded() -> None:
    script = Script(fetched(batch(0, 3) + batch(3)), fetched(batch(4, 2)))
    with broker_with(script) as cluster:
        range_ = fetch_range(cluster, OffsetRange(PARTITION, 0, 6), 5_000)
        assert [b.header.base_offset for b in next(range_).batches] == [0, 3]
        assert [b.header.base_offset for b in next(range_).batches] == [4]
        assert [*range_] == []
    assert script.offsets == [0, 4]


def test_nothing_is_fetched_behind_the_end() -> None:
    script = Script(fetched(batch(0, 3)))
    with broker_with(script) as cluster:
        assert read(cluster, 1, 3) == [0, 1, 2]
    assert script.offsets == [1]


@pytest.mark.parametrize(
    "error",
    faults.errors(
        "NOT_LEADER_OR_FOLLOWER UNKNOWN_TOPIC_OR_PARTITION FENCED_LEADER_EPOCH "
        "UNKNOWN_LEADER_EPOCH UNKNOWN_TOPIC_ID KAFKA_STORAGE_ERROR OFFSET_NOT_AVAILABLE "
        "UNKNOWN_SERVER_ERROR REQUEST_TIMED_OUT"
    ),
)
def test_fault_16_17_and_40_retriable_errors_are_retried(error: ErrorCode) -> None:
    script = Script(
        fetched(batch(0)), fetched(error=error), fetched(error=error), fetched(batch(1))
    )
    with broker_with(script) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
    assert script.offsets == [0, 1, 1, 1]


def test_fault_04_a_broken_connection_is_replaced() -> None:
    script = Script(fetched(batch(0)), Close(), fetched(batch(1)))
    with broker_with(script) as cluster:
        assert read(cluster, 0, 2) == [0, 1]


def test_a_lasting_error_names_partition_offset_and_broker() -> None:
    script = Script(fetched(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    with broker_with(script) as cluster, sleeps_take_no_time():
        with pytest.raises(
            BrokerError, match=r"^Fetch of t-0 at offset 0 to broker 1 \(.*NOT_LEADER"
        ):
            read(cluster, 0, 2, idle_ms=2_000)


def test_fault_26_an_authorization_error_is_not_retried() -> None:
    script = Script(fetched(error=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with broker_with(script) as cluster:
        with pytest.raises(BrokerError, match=r"TOPIC_AUTHORIZATION_FAILED.*READ"):
            read(cluster, 0, 2)
    assert script.offsets == [0]


def test_fault_27_an_offset_out_of_range() -> None:
    with broker_with(
        Script(fetched(error=ErrorCode.OFFSET_OUT_OF_RANGE)), bounds=(40, 60)
    ) as cluster:
        with pytest.raises(OffsetOutOfRangeError, match=r"offset 3 of t-0 .*\[40, 60\)"):
            read(cluster, 3, 50)


def test_fault_27_out_of_range_from_a_stale_leader_is_checked() -> None:
    script = Script(fetched(error=ErrorCode.OFFSET_OUT_OF_RANGE), fetched(batch(3)))
    with broker_with(script) as cluster:
        assert read(cluster, 3, 4) == [3]


def test_fault_30_max_bytes_grow_until_a_batch_is_complete() -> None:
    whole = batch(0, 40)
    script = Script(fetched(whole[:100]), fetched(whole[:200]), fetched(whole))
    with broker_with(script) as cluster:
        assert len(read(cluster, 0, 40)) == 40
    assert script.sizes == [1_000, 2_000, 4_000]


def test_fault_30_a_batch_that_never_fits() -> None:
    with broker_with(Script(fetched(batch(0, 40)[:100]))) as cluster:
        with pytest.raises(
            CorruptRecordError, match=r"t-0 at offset 0: .*receive\.message\.max\.bytes"
        ):
            read(cluster, 0, 40)


def test_fault_31_flipped_byte() -> None:
    damaged = bytearray(batch(0))
    damaged[-1] ^= 1
    with broker_with(Script(fetched(bytes(damaged)))) as cluster:
        for _ in range(2):
            with pytest.raises(CorruptRecordError, match="of t-0 at offset 0: the CRC-32C"):
                read(cluster, 0, 1)


def test_damage_behind_the_end_of_the_range_is_ignored() -> None:
    damaged = bytearray(batch(1))
    damaged[-1] ^= 1
    with broker_with(Script(fetched(batch(0) + bytes(damaged)))) as cluster:
        assert read(cluster, 0, 1) == [0]


def test_a_batch_behind_the_range_and_the_high_watermark() -> None:
    """A broker reads the high watermark before the log."""
    with broker_with(Script(fetched(batch(98, 2) + batch(100)))) as cluster:
        assert read(cluster, 98, 100) == [98, 99]


def test_fault_34_the_end_of_the_range_is_compacted_away() -> None:
    script = Script(fetched(batch(0)), fetched(batch(80)))
    with broker_with(script) as cluster:
        assert read(cluster, 0, 50) == [0]
    assert script.offsets == [0, 1]


def message(offset: int) -> Message:
    return Message(offset, 1, None, b"%d" % offset)


def plain(*offsets: int) -> bytes:
    return encode_messages(map(message, offsets), 1)


def wrapper(*inner: int, at: int) -> bytes:
    return wrapper_of([message(offset) for offset in inner], 1, CompressionCodec.GZIP, at)


def test_fault_37_all_message_formats_in_one_response() -> None:
    script = Script(fetched(plain(0, 1) + wrapper(0, 1, at=3) + batch(4, 2)), fetched(plain(6, 7)))
    with broker_with(script) as cluster:
        assert read(cluster, 0, 7) == [0, 1, 2, 3, 4, 5, 6]
    assert script.offsets == [0, 6]


def test_fault_37_a_wrapper_around_the_end_of_the_range() -> None:
    """Its first offset is known only after decompression."""
    script = Script(fetched(wrapper(5, 6, 7, at=17) + wrapper(0, at=18)))
    with broker_with(script) as cluster:
        assert read(cluster, 10, 16) == [15, 16, 17]
    assert script.offsets == [10]


def test_fault_37_damaged_messages_behind_the_range_are_ignored() -> None:
    damaged = bytearray(plain(0, 1, 2))
    damaged[-1] ^= 1
    with broker_with(Script(fetched(bytes(damaged)))) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
        with pytest.raises(CorruptRecordError, match="of t-0 at offset 2: the CRC-32 "):
            read(cluster, 0, 3)


def test_fault_39_only_batches_before_the_position() -> None:
    script = Script(fetched(batch(0)))
    with broker_with(script) as cluster:
        with pytest.raises(
            ProtocolError, match="10 responses held only batches before that offset"
        ):
            read(cluster, 5, 9)
    assert len(script.offsets) == 10


def test_fault_39_a_response_without_the_partition() -> None:
    with broker_with(Script(FetchResponse(), FetchResponse(), fetched(batch(0)))) as cluster:
        assert read(cluster, 0, 1) == [0]
    with broker_with(Script(FetchResponse())) as cluster, sleeps_take_no_time():
        with pytest.raises(ProtocolError, match=r"Fetch of t-0 at offset 0 .*lacks the partition"):
            read(cluster, 0, 1, idle_ms=2_000)


def test_fault_31_a_damaged_last_offset_hides_no_batch() -> None:
    """Its last offset delta is before the position, and its checksum is wrong."""
    damaged = bytearray(batch(10, 10))
    damaged[23:27] = (2).to_bytes(4, "big")  # last offset delta
    damaged[57:61] = (3).to_bytes(4, "big")  # records count
    with broker_with(Script(fetched(bytes(damaged) + batch(20, 5)))) as cluster:
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
        "overlapping batches",
        "batch behind the high watermark",
        "overlapping wrappers",
        "wrapper behind the high watermark",
        "message behind the high watermark",
    ],
)
def test_fault_31_impossible_base_offsets(records: bytes) -> None:
    with broker_with(Script(fetched(records))) as cluster:
        with pytest.raises(CorruptRecordError, match=r"of t-0 at offset .*a batch begins there"):
            read(cluster, 0, 200)


def test_fault_24_the_topic_is_re_created_during_a_read() -> None:
    script = Script(fetched(batch(0)), fetched(error=ErrorCode.UNKNOWN_TOPIC_ID), fetched(batch(1)))
    with broker_with(script) as cluster:
        range_ = fetch_range(cluster, OffsetRange(PARTITION, 0, 2), 5_000)
        next(range_)
        script.topic_id = uuid.UUID(int=8)
        with pytest.raises(DataLossError, match=r"PARTITIONS_DELETED.*re-created"):
            next(range_)


def test_the_caller_s_time_does_not_count_as_idle() -> None:
    """A slow caller leaves the next call all of its time."""
    script = Script(
        fetched(batch(0)), fetched(error=ErrorCode.NOT_LEADER_OR_FOLLOWER), fetched(batch(1))
    )
    with broker_with(script) as cluster, sleeps_take_no_time() as pass_seconds:
        range_ = fetch_range(cluster, OffsetRange(PARTITION, 0, 2), 5_000)
        next(range_)
        pass_seconds(5.1)
        assert [b.header.base_offset for b in next(range_).batches] == [1]


def test_immediate_empty_responses_are_not_polled_in_a_loop() -> None:
    script = Script(fetched())
    with broker_with(script) as cluster, sleeps_take_no_time():
        with pytest.raises(KafkaTimeoutError):
            read(cluster, 0, 1, idle_ms=1_000)
    assert len(script.offsets) <= 1_010  # at least 1 ms between two requests


def test_two_ranges_over_one_connection_get_their_own_responses() -> None:
    def fetch(request: FetchRequest, _version: int) -> FetchResponse:
        return fetched(batch(request.topics[0].partitions[0].fetch_offset))

    with broker_with(fetch) as cluster:
        ranges = [fetch_range(cluster, OffsetRange(PARTITION, 0, 2), 5_000) for _ in range(2)]
        first = [next(range_).batches[0].header.base_offset for range_ in ranges]
        second = [next(range_).batches[0].header.base_offset for range_ in reversed(ranges)]
    assert (first, second) == ([0, 0], [1, 1])


def test_missing_records_time_out() -> None:
    with broker_with(Script(fetched())) as cluster, sleeps_take_no_time():
        with pytest.raises(
            KafkaTimeoutError, match="Cannot fetch record for offset 0 of t-0 in 2000 "
        ):
            read(cluster, 0, 1, idle_ms=2_000)


def test_a_batch_before_the_position_yields_no_offset_twice() -> None:
    """After an unclean election batches may have other bounds."""
    script = Script(fetched(batch(0, 10)), fetched(batch(5, 15)))
    with broker_with(script) as cluster:
        found = [
            record.offset
            for window, batches in fetch_range(cluster, OffsetRange(PARTITION, 2, 20), 5_000)
            for some in batches
            for record in decode_records(some)
            if window.from_offset <= record.offset < window.until_offset
        ]
    assert found == [*range(2, 20)]
    assert script.offsets == [2, 10]


def test_a_batch_behind_a_stale_high_watermark_is_fetched_again() -> None:
    """A broker reads the high watermark before the log."""

    def stale(offset: int) -> FetchResponse:
        response = fetched(batch(0) + batch(1))
        response.responses[0].partitions[0].high_watermark = offset
        return response

    with broker_with(Script(stale(1), fetched(batch(1)))) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
    with broker_with(Script(stale(0), stale(2))) as cluster:
        assert read(cluster, 0, 2) == [0, 1]
    with broker_with(Script(stale(0))) as cluster:
        with pytest.raises(CorruptRecordError, match="and the high watermark at 0"):
            read(cluster, 0, 2)
