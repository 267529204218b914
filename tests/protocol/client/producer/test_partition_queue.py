"""The batches of one partition: waiting, in flight, and returned."""

from __future__ import annotations

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.producer.partition_queue import PartitionQueue
from kafka_protocol.client.producer.producer_id import ProducerId
from kafka_protocol.errors import BrokerConnectionError, BrokerError, ErrorCode, KafkaError
from kafka_protocol.records.batch import contents_of, header_of, read_batches
from kafka_protocol.records.record import decode_records
from tests.fakes.log import batch_of

PRODUCER_ID = ProducerId(7, 3)
LOST = BrokerConnectionError("lost")
REFUSED = BrokerError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "Produce")


def queue_of(*batches: tuple[bytes, ...], next_sequence: int = 0) -> PartitionQueue:
    queue = PartitionQueue(next_sequence=next_sequence)
    for values in batches:
        queue.add(batch_of(*values), PRODUCER_ID)
    return queue


def values_of(queue: PartitionQueue) -> list[bytes | None]:
    return [
        record.value
        for batch in queue.waiting
        for found in read_batches(memoryview(batch.data))
        for record in decode_records(found)
    ]


def sequences_of(queue: PartitionQueue) -> list[int]:
    return [header_of(batch.data).base_sequence for batch in queue.waiting]


def send_and_return(queue: PartitionQueue, *errors: KafkaError | None) -> None:
    for _ in errors:
        queue.mark_first_sent(1)
    for error in errors:
        if error is None:
            queue.acknowledge_first()
        else:
            queue.return_first(error)
    queue.requeue_returned()


def test_fault_45_sequences_count_records_and_wrap() -> None:
    queue = queue_of((b"a", b"b"), (b"c", b"d", b"e"), (b"f",), next_sequence=2**31 - 3)
    assert sequences_of(queue) == [2**31 - 3, 2**31 - 1, 2]


def test_fault_42_what_is_sent_again_is_sent_alone() -> None:
    """The leader recognises the last five batches only: nothing may push it out of them."""
    queue = queue_of((b"a",), (b"b",), (b"c",), (b"d",))
    send_and_return(queue, None)
    for batch in [*queue.waiting][:2]:
        batch.deadline = Deadline.after(60_000)  # as the producer does with what it sends
    send_and_return(queue, LOST, LOST)
    queue.failures += 1
    queue.mark_first_sent(1)
    assert not queue.may_send_to(1)  # c, which was sent before
    queue.acknowledge_first()
    assert queue.may_send_to(1)
    queue.mark_first_sent(1)
    assert queue.may_send_to(1)  # d, which is new


def test_returned_batches_go_first_and_in_order() -> None:
    queue = queue_of((b"a",), (b"b",), (b"c",), (b"d",), (b"e",))
    send_and_return(queue, REFUSED, None, REFUSED, LOST)
    assert values_of(queue) == [b"a", b"c", b"d", b"e"]
    assert sequences_of(queue) == [0, 2, 3, 4]


def test_an_unknown_outcome_stays_unknown() -> None:
    queue = queue_of((b"a",), (b"b",))
    send_and_return(queue, REFUSED, LOST)
    assert [batch.may_be_appended for batch in queue.waiting] == [False, True]
    send_and_return(queue, REFUSED, REFUSED)
    assert [batch.may_be_appended for batch in queue.waiting] == [False, True]


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([], False),
        ([REFUSED], False),
        ([LOST], True),
        ([LOST, REFUSED], True),  # the copy before
        ([LOST, None], False),
    ],
)
def test_a_batch_without_a_response_may_still_arrive(
    results: list[KafkaError | None], expected: bool
) -> None:
    queue = queue_of((b"a",))
    for result in results:
        send_and_return(queue, result)
    assert queue.may_arrive == expected


def test_a_batch_in_flight_may_still_arrive() -> None:
    queue = queue_of((b"a",))
    queue.mark_first_sent(1)
    assert queue.may_arrive


def test_a_split_batch_keeps_its_place_and_sequences() -> None:
    queue = queue_of((b"a",), (b"b", b"c", b"d"), (b"e",))
    send_and_return(queue, None)
    before = sum(len(batch.data) for batch in queue.waiting)
    queue.waiting[0].deadline = deadline = Deadline.after(60_000)
    added = queue.split_first(PRODUCER_ID)
    assert [batch.deadline for batch in queue.waiting] == [deadline, deadline, None]
    assert added == sum(len(batch.data) for batch in queue.waiting) - before
    assert values_of(queue) == [b"b", b"c", b"d", b"e"]
    assert sequences_of(queue) == [1, 2, 4]
    assert queue.split_first(PRODUCER_ID) is None
    queue.add(batch_of(b"f"), PRODUCER_ID)
    assert sequences_of(queue)[-1] == 5


def test_another_producer_id_begins_with_sequence_0() -> None:
    queue = queue_of((b"a", b"b"), (b"c",), next_sequence=40)
    queue.renumber(ProducerId(8, 0))
    assert sequences_of(queue) == [0, 2]
    assert {header_of(batch.data).producer_id for batch in queue.waiting} == {8}


def test_contents_give_the_same_batch() -> None:
    batch = batch_of(b"a", b"b")
    for producer in (PRODUCER_ID, None):
        whole, contents = PartitionQueue(), PartitionQueue()
        assert contents.add(contents_of(batch), producer) == whole.add(batch, producer)
        assert contents.waiting[0].data == whole.waiting[0].data
        assert contents.next_sequence == whole.next_sequence


def test_without_a_producer_id_a_batch_is_unchanged() -> None:
    queue = PartitionQueue()
    queue.add(batch_of(b"a"), None)
    assert queue.waiting[0].data == batch_of(b"a")
    assert queue.next_sequence == 0
