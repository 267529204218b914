"""Logs with gaps and transactions, and spoiled Fetch responses, for the tests of reads.

Used against the client and against Spark's side; nothing here reads or asserts.
"""

from __future__ import annotations

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.records.transactions import ABORT, COMMIT
from tests.fakes.log import PartitionLog, batch_of, in_transaction
from tests.simulation.kafka.batches import emptied, placed, thinned

Topic = FetchResponse.FetchableTopicResponse

SESSION_ERRORS = [
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
]


# --- Logs -----------------------------------------------------------------------------------------


def hole(log: PartitionLog) -> None:
    """Without offsets 3 to 9 and their batches."""
    log.append_at(0, batch_of(b"a", b"b", b"c"))
    log.append_at(10, batch_of(b"k"))


def headless(log: PartitionLog) -> None:
    """Without offsets 0 to 4, though the log starts at 0."""
    log.append_at(5, batch_of(b"f"))


def short(log: PartitionLog) -> None:
    """The last batch lost offsets 3 and 4."""
    whole = placed(batch_of(b"a", b"b", b"c", b"d", b"e"), 0, epoch=0)
    log.append_at(0, thinned(whole, whole.records()[:3]).data)


def hollow(log: PartitionLog) -> None:
    """The last batch has only its header."""
    log.append_at(0, batch_of(b"a", b"b", b"c"))
    log.append_at(3, emptied(placed(batch_of(*[b"d"] * 7), 3, epoch=0)).data)


def transactions(log: PartitionLog) -> list[tuple[int, bytes]]:
    """Transactions of three producers; returns the rows that read_committed sees."""
    log.append(in_transaction(1, b"a0", b"a1"))  # 0, 1
    log.append(in_transaction(2, b"b0"))  # 2
    log.append(batch_of(b"plain"))  # 3
    log.append(in_transaction(1, b"a2"))  # 4
    log.end_transaction(1, ABORT)  # 5
    log.append(in_transaction(1, b"c0"))  # 6: a new transaction
    log.append(in_transaction(2, b"b1"))  # 7
    log.end_transaction(2, COMMIT)  # 8
    log.end_transaction(1, COMMIT)  # 9
    log.end_transaction(3, ABORT)  # 10: without records
    log.append(in_transaction(2, b"d0", b"d1", b"d2"))  # 11 to 13
    log.end_transaction(2, ABORT)  # 14
    log.append(batch_of(b"end"))  # 15
    return [(2, b"b0"), (3, b"plain"), (6, b"c0"), (7, b"b1"), (15, b"end")]


# --- Responses ------------------------------------------------------------------------------------


def twice(response: FetchResponse) -> None:
    response.responses[0].partitions *= 2


def other_topic_first(response: FetchResponse) -> None:
    """The same partition of a topic that was not requested."""
    other = Topic(topic="other")
    other.topic_id = response.responses[0].topic_id.__class__(int=99)
    other.partitions = [Topic.PartitionData(high_watermark=9, records=batch_of(b"no", b"no"))]
    response.responses.insert(0, other)


def nothing(response: FetchResponse) -> None:
    response.responses.clear()


def no_partition(response: FetchResponse) -> None:
    response.responses[0].partitions.clear()


def only_another_topic(response: FetchResponse) -> None:
    other_topic_first(response)
    del response.responses[1]
