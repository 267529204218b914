"""Faults of records in a batch read: cut, too large, missing, aborted, in every format.

docs/faults.md lists the numbers.
"""

from __future__ import annotations

import json
from typing import Any

import crc32c
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafka_protocol.columnar.schema import record_schema
from kafka_protocol.errors import (
    CorruptRecordError,
    DataLossError,
    ErrorCode,
    KafkaTimeoutError,
    OutOfStepError,
    ProtocolError,
)
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.records.compression import CompressionCodec
from kafka_protocol.records.message import Message, encode_messages
from kafka_protocol.schema import VersionRange
from tests.fakes import faults, fetch_cases
from tests.fakes.batch_reading import (
    ABC,
    IN_THREE,
    ONE_BY_ONE,
    Rows,
    batches_beside,
    filled,
    plan,
    planned,
    read,
)
from tests.fakes.cluster import ScriptedCluster
from tests.fakes.log import START_MS, batch_of
from tests.fakes.reading import PARTITION
from tests.protocol.records.strategies import APPENDED_AT, wrapper_of

pytestmark = [pytest.mark.no_cover, pytest.mark.usefixtures("alone_and_in_a_group")]


def ends(start: int, until: int) -> dict[str, Any]:
    """Options for fixed offsets at both ends."""
    return {
        "startingOffsets": json.dumps({"t": {"0": start}}),
        "endingOffsets": json.dumps({"t": {"0": until}}),
    }


# --- Batches that are cut, or too large ----------------------------------------------------------


def test_fault_29_the_last_batch_is_cut_at_every_byte() -> None:
    cuts: list[int] = []
    with planned((b"a", b"b"), (b"c",), kafka_max_partition_fetch_bytes=10_000) as (cluster, task):
        cluster.spoil(FetchRequest, faults.records_cut_at(cuts))
        for length in range(len(batch_of(b"a", b"b") + batch_of(b"c"))):
            cuts.append(length)
            assert task.rows() == ABC
            assert not cuts


@pytest.mark.parametrize("version", [2, 3, 12, 18])
def test_fault_29_and_30_batches_larger_than_a_fetch(version: int) -> None:
    """Below v3 they are cut, and fetched again; from v3 on the first one is whole."""
    values = [b"%d" % number * 50 for number in range(8)]
    options = {"kafka_max_partition_fetch_bytes": 60, **ends(0, 8)}
    with filled(*((value,) for value in values)) as cluster:
        cluster.offer(FetchRequest, VersionRange(0, version))
        assert read(cluster.bootstrap_servers, **options) == [*enumerate(values)]


def test_fault_30_a_batch_larger_than_any_response() -> None:
    with filled((b"a",), (b"b" * 5_000,)) as cluster:
        cluster.offer(FetchRequest, VersionRange(0, 2))
        (task,) = plan(
            cluster.bootstrap_servers,
            kafka_max_partition_fetch_bytes=500,
            kafka_receive_message_max_bytes=3_000,
        )
        found: list[Rows] = []
        with pytest.raises(
            CorruptRecordError,
            match=r"of t-0 at offset 1: .*does not fit in kafka.receive.message.max.bytes \(3000",
        ):
            found += task.batches()


# --- Gaps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "start", "until", "values"),
    [
        (fetch_cases.hole, 0, 11, b"abck"),
        (fetch_cases.hole, 0, 7, b"abc"),
        (fetch_cases.hole, 3, 10, b""),
        (fetch_cases.headless, 0, 3, b""),
        (fetch_cases.headless, 0, 6, b"f"),
        (fetch_cases.short, 0, 5, b"abc"),
        (fetch_cases.short, 3, 5, b""),
        (fetch_cases.hollow, 0, 10, b"abc"),
        (fetch_cases.hollow, 3, 10, b""),
    ],
)
def test_fault_34_a_range_over_gaps_ends_at_its_end(
    make: Any, start: int, until: int, values: bytes
) -> None:
    for max_bytes in (1, 10_000):
        with filled() as cluster:
            make(cluster.log(PARTITION))
            options = {"kafka_max_partition_fetch_bytes": max_bytes, **ends(start, until)}
            found = read(cluster.bootstrap_servers, **options)
            assert b"".join(value or b"" for _, value in found) == values
            assert len(cluster.asked(FetchRequest)) <= 2 + batches_beside()


@pytest.mark.parametrize(
    "make", [fetch_cases.hole, fetch_cases.headless, fetch_cases.short, fetch_cases.hollow]
)
def test_fault_34_late_ends_are_after_the_gaps(make: Any) -> None:
    with filled() as cluster:
        make(cluster.log(PARTITION))
        found = read(cluster.bootstrap_servers)
        assert b"".join(value or b"" for _, value in found) in (b"abck", b"f", b"abc")


# --- Transactions --------------------------------------------------------------------------------


@pytest.mark.parametrize("max_bytes", [1, 150, 10_000])
def test_fault_35_aborted_records_are_hidden_from_any_range(max_bytes: int) -> None:
    with filled() as cluster:
        committed = fetch_cases.transactions(cluster.log(PARTITION))
        options = {
            "kafka_isolation_level": "read_committed",
            "kafka_max_partition_fetch_bytes": max_bytes,
        }
        servers = cluster.bootstrap_servers
        assert read(servers, **options) == committed
        assert read(servers, **options, minPartitions=16) == committed
        for start in range(0, 16, 3):
            expected = [row for row in committed if start <= row[0] < start + 7]
            assert read(servers, **options, **ends(start, min(16, start + 7))) == expected


def test_fault_35_read_uncommitted_sees_all_but_markers() -> None:
    with filled() as cluster:
        fetch_cases.transactions(cluster.log(PARTITION))
        for isolation in ({}, {"kafka_isolation_level": "read_uncommitted"}):
            found = read(cluster.bootstrap_servers, **ONE_BY_ONE, **isolation)
            assert [offset for offset, _ in found] == [0, 1, 2, 3, 4, 6, 7, 11, 12, 13, 15]


def test_fault_36_a_read_ends_at_an_open_transaction() -> None:
    committed = {"kafka_isolation_level": "read_committed"}
    with filled(*IN_THREE) as cluster:
        cluster.log(PARTITION).first_unstable_offset = 1
        servers = cluster.bootstrap_servers
        assert read(servers, **committed) == ABC[:1]
        assert read(servers) == ABC
        with pytest.raises(DataLossError, match=r"\[0, 3\).*t-0: the log holds \[0, 1\)"):
            plan(servers, **committed, **ends(0, 3))
        assert read(servers, **committed, **ends(0, 3), failOnDataLoss=False) == ABC[:1]


def test_fault_36_a_timeout_names_the_open_transaction() -> None:
    """The last stable offset of a new leader may be older."""
    options: dict[str, Any] = {
        "kafka_isolation_level": "read_committed",
        "kafkaConsumer.pollTimeoutMs": 200,
        **ends(0, 3),
    }
    with planned(*IN_THREE, **options) as (cluster, task):
        cluster.log(PARTITION).first_unstable_offset = 1
        batches = task.batches()
        assert next(batches) == ABC[:1]
        with pytest.raises(
            KafkaTimeoutError,
            match=r"offset 1 of t-0 .*open transaction holds the last stable offset at 1",
        ):
            next(batches)


# --- Formats -------------------------------------------------------------------------------------


def appended(batch: bytes) -> bytes:
    """A batch of magic 2 with LogAppendTime."""
    stamped = bytearray(batch)
    stamped[22] |= 0x08
    stamped[35:43] = APPENDED_AT.to_bytes(8, "big")
    stamped[17:21] = crc32c.crc32c(bytes(stamped[21:])).to_bytes(4, "big")
    return bytes(stamped)


def at(offset: int, batch: bytes) -> bytes:
    return offset.to_bytes(8, "big") + batch[8:]


def messages(*offsets: int) -> list[Message]:
    return [Message(offset, START_MS + offset, None, b"%d" % offset) for offset in offsets]


COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")

# Offset, timestamp and timestamp type of each row in a log with all formats.
OF_ALL_AGES = [
    *[(offset, -1, -1) for offset in (0, 1)],
    *[(offset, START_MS + offset, 0) for offset in (2, 3)],
    *[(offset, START_MS + offset - 4, 0) for offset in (4, 5, 7)],
    *[(offset, APPENDED_AT, 1) for offset in (8, 9)],
    *[(offset, START_MS, 0) for offset in (10, 11)],
    *[(offset, APPENDED_AT, 1) for offset in (12, 13)],
]
PIECES = [
    encode_messages(messages(0, 1), 0),
    encode_messages(messages(2, 3), 1),
    # Offsets relative to the wrapper, with a gap.
    wrapper_of(messages(0, 1, 3), 1, CompressionCodec.GZIP, 7),
    wrapper_of(messages(0, 1), 1, CompressionCodec.LZ4, 9, 0x08),
    at(10, batch_of(b"10", b"11")),
    at(12, appended(batch_of(b"12", b"13"))),
    at(14, batch_of(b"cut off"))[:-3],
]


def answering(cluster: ScriptedCluster, records: bytes) -> faults.Fault:
    """Every Fetch response holds these records of t-0."""
    topic_id = cluster.topics["t"].topic_id

    def change(response: FetchResponse) -> None:
        for topic in response.responses:
            if topic.topic_id == topic_id:
                topic.partitions[0].records = records

    return faults.changed(change)


@pytest.mark.parametrize(("start", "until"), [(0, 14), (1, 3), (5, 9), (6, 7), (9, 13), (12, 14)])
def test_fault_37_all_formats_in_one_response(start: int, until: int) -> None:
    with filled((b"",) * 14) as cluster:
        cluster.spoil(FetchRequest, answering(cluster, b"".join(PIECES)))
        (task,) = plan(cluster.bootstrap_servers, **ends(start, until))
        table = pa.Table.from_batches(task.arrow(), record_schema(COLUMNS))
        table = table.filter(pc.field("topic") == "t")
    expected = [row for row in OF_ALL_AGES if start <= row[0] < until]
    times = [time // 1000 for time in table["timestamp"].cast(pa.int64()).to_pylist()]
    types = table["timestampType"].to_pylist()
    assert [*zip(table["offset"].to_pylist(), times, types, strict=True)] == expected
    if start > 3:
        values = [b"%d" % (offset - start_of(offset)) for offset, _, _ in expected]
        assert table["value"].to_pylist() == values


def start_of(offset: int) -> int:
    """The offset to subtract: the value of a message in a wrapper is its relative offset."""
    return {4: 4, 5: 4, 7: 4, 8: 8, 9: 8}.get(offset, 0)


@pytest.mark.parametrize(("damaged", "offset"), [(0, 1), (1, 3), (2, 7), (3, 9), (4, 10), (5, 12)])
def test_fault_31_a_flipped_bit_in_any_format_is_an_error(damaged: int, offset: int) -> None:
    """The error has the offset of the damaged batch, wrapper or message."""
    pieces = [*PIECES]
    broken = bytearray(pieces[damaged])
    broken[-1] ^= 0x04
    pieces[damaged] = bytes(broken)
    with planned((b"",) * 14, **ends(0, 14)) as (cluster, task):
        cluster.spoil(FetchRequest, answering(cluster, b"".join(pieces)))
        for _ in range(2):
            found: list[Rows] = []
            with pytest.raises(CorruptRecordError, match=rf"of t-0 at offset {offset}: the CRC"):
                found += task.batches()
            assert not found


# --- Sessions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", fetch_cases.SESSION_ERRORS)
def test_fault_38_session_errors_lead_to_a_full_fetch(error: ErrorCode) -> None:
    with planned(*IN_THREE) as (cluster, task):
        refused = faults.only(2, faults.refusing_all(error))
        cluster.spoil(FetchRequest, lambda handler: faults.in_turn(handler, refused(handler)))
        assert task.rows() == ABC
        assert all(request.topics for _, request, _ in cluster.asked(FetchRequest))


# --- Responses with the wrong partitions ---------------------------------------------------------


@pytest.mark.parametrize("version", [4, 12, 13, 18])
@pytest.mark.parametrize(
    "change",
    [
        fetch_cases.twice,
        fetch_cases.topic_twice,
        fetch_cases.other_partition_first,
        fetch_cases.other_topic_first,
    ],
)
def test_fault_39_unrequested_partitions_are_ignored(change: Any, version: int) -> None:
    with filled(*IN_THREE) as cluster:
        cluster.offer(FetchRequest, VersionRange(0, version))
        cluster.offer(MetadataRequest, VersionRange(0, 9 if version < 13 else 13))
        cluster.spoil(FetchRequest, faults.changed(change))
        assert read(cluster.bootstrap_servers, **ONE_BY_ONE) == ABC


@pytest.mark.parametrize(
    "change", [fetch_cases.nothing, fetch_cases.no_partition, fetch_cases.only_another_topic]
)
def test_fault_39_a_missing_partition_is_fetched_again(change: Any) -> None:
    with planned(*IN_THREE, **{"kafkaConsumer.pollTimeoutMs": 200}) as (cluster, task):
        cluster.spoil(FetchRequest, faults.only(3, faults.changed(change)))
        assert task.rows() == ABC
        cluster.spoil(FetchRequest, faults.changed(change))
        with pytest.raises(
            OutOfStepError, match=r"Fetch of \S+-0 at offset 0 .*lacks the partition"
        ):
            task.rows()


def offsets_twice(response: ListOffsetsResponse) -> None:
    response.topics *= 2


def no_offsets(response: ListOffsetsResponse) -> None:
    response.topics.clear()


@pytest.mark.parametrize("change", [offsets_twice, no_offsets])
@pytest.mark.parametrize("starting", ["earliest", '{"t":{"0":0}}'])
def test_fault_39_listed_offsets_twice_or_not_at_all(change: Any, starting: str) -> None:
    with filled(*IN_THREE) as cluster:
        cluster.spoil(ListOffsetsRequest, faults.only(2, faults.changed(change)))
        (task,) = plan(cluster.bootstrap_servers, startingOffsets=starting)
        cluster.spoil(ListOffsetsRequest, faults.only(2, faults.changed(change)))
        assert task.rows() == ABC


def test_fault_39_responses_without_progress_are_an_error() -> None:
    with planned(*IN_THREE, **ends(1, 3)) as (cluster, task):
        cluster.spoil(FetchRequest, answering(cluster, batch_of(b"a")))
        with pytest.raises(ProtocolError, match="Fetch of t-0 at offset 1"):
            task.rows()
        assert len(cluster.asked(FetchRequest)) <= 10 + batches_beside()
