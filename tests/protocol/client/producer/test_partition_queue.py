"""The batches of one partition: what waits, what is under way, what came back."""

from __future__ import annotations

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.producer.partition_queue import Line
from kafka_protocol.client.producer.producer_id import ProducerId
from kafka_protocol.errors import BrokerConnectionError, BrokerError, ErrorCode, KafkaError
from kafka_protocol.records.batch import contents_of, header_of, read_batches
from kafka_protocol.records.record import decode_records
from tests.fakes.log import batch_of

WHO = ProducerId(7, 3)
LOST = BrokerConnectionError("lost")
REFUSED = BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "Produce")


def line_of(*batches: tuple[bytes, ...], next_sequence: int = 0) -> Line:
    line = Line(next_sequence=next_sequence)
    for values in batches:
        line.add(batch_of(*values), WHO)
    return line


def values_of(line: Line) -> list[bytes | None]:
    return [
        record.value
        for batch in line.waiting
        for found in read_batches(memoryview(batch.data))
        for record in decode_records(found)
    ]


def sequences_of(line: Line) -> list[int]:
    return [header_of(batch.data).base_sequence for batch in line.waiting]


def come_back(line: Line, *errors: KafkaError | None) -> None:
    for _ in errors:
        line.send_first(1)
    for error in errors:
        if error is None:
            line.acknowledge_first()
        else:
            line.return_first(error)
    line.restore()


def test_sequences_count_records_and_begin_anew_behind_the_last() -> None:
    line = line_of((b"a", b"b"), (b"c", b"d", b"e"), (b"f",), next_sequence=2**31 - 3)
    assert sequences_of(line) == [2**31 - 3, 2**31 - 1, 2]


def test_what_came_back_goes_first_and_in_its_order() -> None:
    line = line_of((b"a",), (b"b",), (b"c",), (b"d",), (b"e",))
    come_back(line, REFUSED, None, REFUSED, LOST)
    assert values_of(line) == [b"a", b"c", b"d", b"e"]
    assert sequences_of(line) == [0, 2, 3, 4]


def test_what_nobody_answered_for_is_in_doubt_for_good() -> None:
    line = line_of((b"a",), (b"b",))
    come_back(line, REFUSED, LOST)
    assert [batch.is_in_doubt for batch in line.waiting] == [False, True]
    come_back(line, REFUSED, REFUSED)
    assert [batch.is_in_doubt for batch in line.waiting] == [False, True]


def test_a_batch_that_is_split_keeps_its_place_and_its_sequences() -> None:
    line = line_of((b"a",), (b"b", b"c", b"d"), (b"e",))
    come_back(line, None)
    before = sum(len(batch.data) for batch in line.waiting)
    line.waiting[0].deadline = deadline = Deadline.after(60_000)
    added = line.split_first(WHO)
    assert [batch.deadline for batch in line.waiting] == [deadline, deadline, None]
    assert added == sum(len(batch.data) for batch in line.waiting) - before
    assert values_of(line) == [b"b", b"c", b"d", b"e"]
    assert sequences_of(line) == [1, 2, 4]
    assert line.split_first(WHO) is None
    line.add(batch_of(b"f"), WHO)
    assert sequences_of(line)[-1] == 5


def test_another_producer_begins_with_0() -> None:
    line = line_of((b"a", b"b"), (b"c",), next_sequence=40)
    line.renumber(ProducerId(8, 0))
    assert sequences_of(line) == [0, 2]
    assert {header_of(batch.data).producer_id for batch in line.waiting} == {8}


def test_contents_are_written_as_the_batch_of_them() -> None:
    batch = batch_of(b"a", b"b")
    for producer in (WHO, None):
        whole, contents = Line(), Line()
        assert contents.add(contents_of(batch), producer) == whole.add(batch, producer)
        assert contents.waiting[0].data == whole.waiting[0].data
        assert contents.next_sequence == whole.next_sequence


def test_without_a_producer_a_batch_stays_as_it_is() -> None:
    line = Line()
    line.add(batch_of(b"a"), None)
    assert line.waiting[0].data == batch_of(b"a")
    assert line.next_sequence == 0
