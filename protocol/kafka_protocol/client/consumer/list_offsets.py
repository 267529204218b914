"""Earliest, latest or timestamps -> offsets, for many partitions at once.

One ListOffsets per leader, all in flight together; what fails for a reason that may pass is asked
again, alone. Which positions are wanted is the caller's business.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import is_
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker, Sent
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import TOPIC_GRACE_MS, Cluster
from kafka_protocol.client.consumer.topic_identity import is_doubtful
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, OutOfStepError
from kafka_protocol.messages.fetch import ISOLATION_LEVELS
from kafka_protocol.messages.list_offsets import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from kafka_protocol.schema import VersionRange
from kafka_protocol.topic_partition import TopicPartition

_CLIENT = -1  # replica_id of those who are no replica
# Every log has a beginning and an end; for other positions there may be no record.
_ALWAYS_THERE: Final = frozenset({EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP, LATEST_TIMESTAMP})
_NO_RECORD: Final = -1


def list_offsets(
    cluster: Cluster, positions: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The offset of one position in each partition.

    Args:
        cluster: Whom to ask.
        positions: A timestamp in ms, or one of `messages.list_offsets`' special ones.
        deadline: When to give up.

    Returns:
        An offset for each partition; -1 where no record is as young as the timestamp. The latest
        one is the last stable offset under isolation.level=read_committed.

    Raises:
        BrokerError: A partition has not been known for TOPIC_GRACE_MS, may not be read, or stays
            without a leader.
        BrokerConnectionError, KafkaTimeoutError: A leader cannot be reached.
        UnsupportedVersionError: A leader is too old for such a position.
    """
    found: dict[TopicPartition, int] = {}
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    grace = Retry(cluster.config, deadline.or_sooner(TOPIC_GRACE_MS), TOPIC_GRACE_MS)
    while missing := {tp: position for tp, position in positions.items() if tp not in found}:
        failures = _ask_leaders(cluster, missing, found, deadline)
        for topic_partition, error in failures.items():
            cluster.forget_after(error, topic_partition.topic)
        _raise_final(failures)
        if doubts := [error for error in failures.values() if is_doubtful(error)]:
            grace.wait(doubts[0])
        elif failures:
            retry.wait(next(iter(failures.values())))
    return found


def list_positions(
    cluster: Cluster, wanted: Mapping[TopicPartition, Collection[int]], deadline: Deadline
) -> dict[TopicPartition, dict[int, int]]:
    """The offsets of several positions in each partition.

    The number of requests grows with the brokers and with the positions of one partition, not
    with the partitions.

    Args:
        cluster: Whom to ask.
        wanted: Positions as for `list_offsets`, any number of them for each partition.
        deadline: When to give up.

    Returns:
        For each partition: position -> offset, with -1 as from `list_offsets`.

    Raises:
        KafkaError: As from `list_offsets`.
    """
    found: dict[TopicPartition, dict[int, int]] = {tp: {} for tp in wanted}
    # A request that names a partition twice is refused, so each position has a round of its own.
    rest = {tp: sorted(set(positions), reverse=True) for tp, positions in wanted.items()}
    while positions := {tp: left.pop() for tp, left in rest.items() if left}:
        for topic_partition, offset in list_offsets(cluster, positions, deadline).items():
            found[topic_partition][positions[topic_partition]] = offset
    return found


def _raise_final(failures: Mapping[TopicPartition, KafkaError]) -> None:
    for error in failures.values():
        if not may_pass(error):
            raise error


def may_pass(error: KafkaError) -> bool:
    """Whether to ask again; a broker that stumbled can be, without harm, as Java's client does."""
    is_stumble = isinstance(error, BrokerError) and error.error is ErrorCode.UNKNOWN_SERVER_ERROR
    return error.retriable or is_stumble


class OffsetsPoll:
    """Asks for the same position of the same partitions again and again, at little cost.

    Requests are built once, for the leaders that are known then. What fails is asked anew.

    Args:
        cluster: Whom to ask.
        positions: As for `list_offsets`.
    """

    def __init__(self, cluster: Cluster, positions: Mapping[TopicPartition, int]) -> None:
        self._cluster = cluster
        self._positions = positions
        self._questions: list[_Question] | None = None
        self._answers: list[ListOffsetsResponse] = []
        self._found: dict[TopicPartition, int] = {}

    def __repr__(self) -> str:
        return f"<OffsetsPoll of {len(self._positions)} partitions>"

    def ask(self, deadline: Deadline) -> Mapping[TopicPartition, int]:
        """The offset of each partition now; not to be changed.

        Raises:
            KafkaError: As from `list_offsets`.
        """
        failures: dict[TopicPartition, KafkaError] = {}
        if self._questions is None:
            self._questions = _questions(self._cluster, self._positions, failures, deadline)
        answers = _exchange(self._cluster, self._questions, failures, deadline)
        responses = [response for _, _, response in answers]
        if not failures and _are_same(responses, self._answers):
            return self._found
        found: dict[TopicPartition, int] = {}
        for question, broker, response in answers:
            _sort_answers(response, broker, question.positions, found, failures)
        if failures:
            self._questions, self._answers = None, []
            for topic_partition, error in failures.items():
                self._cluster.forget_after(error, topic_partition.topic)
            _raise_final(failures)
            missing = {tp: at for tp, at in self._positions.items() if tp not in found}
            return found | list_offsets(self._cluster, missing, deadline)
        self._answers, self._found = responses, found
        return found


def _are_same(
    answers: Sequence[ListOffsetsResponse], before: Sequence[ListOffsetsResponse]
) -> bool:
    """Whether they are the very same objects, which connections give for the same bytes."""
    return len(answers) == len(before) and all(map(is_, answers, before))


def _ask_leaders(
    cluster: Cluster,
    positions: Mapping[TopicPartition, int],
    found: dict[TopicPartition, int],
    deadline: Deadline,
) -> dict[TopicPartition, KafkaError]:
    """One round: put what is learnt into `found`, and return what failed."""
    failures: dict[TopicPartition, KafkaError] = {}
    questions = _questions(cluster, positions, failures, deadline)
    for question, broker, response in _exchange(cluster, questions, failures, deadline):
        _sort_answers(response, broker, question.positions, found, failures)
    return failures


class _Question(NamedTuple):
    """What one leader is asked."""

    node_id: int
    request: ListOffsetsRequest
    needed: VersionRange
    positions: Mapping[TopicPartition, int]


def _questions(
    cluster: Cluster,
    positions: Mapping[TopicPartition, int],
    failures: dict[TopicPartition, KafkaError],
    deadline: Deadline,
) -> list[_Question]:
    return [
        _Question(
            node_id,
            _request(cluster, positions, epochs, deadline),
            _needed(positions[tp] for tp in epochs),
            {tp: positions[tp] for tp in epochs},
        )
        for node_id, epochs in _group_by_leader(cluster, positions, failures, deadline).items()
    ]


def _exchange(
    cluster: Cluster,
    questions: Collection[_Question],
    failures: dict[TopicPartition, KafkaError],
    deadline: Deadline,
) -> list[tuple[_Question, Broker, ListOffsetsResponse]]:
    """Ask all leaders, then wait for all of them."""
    setup = deadline.or_sooner(cluster.config.connection_setup_timeout_ms)
    asked: list[tuple[_Question, Sent]] = []
    for i, question in enumerate(questions):
        share = setup.or_sooner(setup.remaining_ms / (len(questions) - i))
        try:
            broker = cluster.broker(question.node_id, share)
            if broker.choose(ListOffsetsRequest, question.needed) >= _KNOWS_TRANSACTIONS:
                question.request.isolation_level = ISOLATION_LEVELS[cluster.config.isolation_level]
            sent = broker.send(question.request, deadline, question.needed)
        except KafkaError as error:
            failures.update(dict.fromkeys(question.positions, error))
        else:
            asked.append((question, sent))
    answers = []
    for question, sent in asked:
        try:
            response = sent.broker.receive(sent, ListOffsetsResponse, deadline)
        except KafkaError as error:
            failures.update(dict.fromkeys(question.positions, error))
        else:
            answers.append((question, sent.broker, response))
    return answers


# Older brokers know no transactions; what they hold is committed.
_KNOWS_TRANSACTIONS: Final = 2


# The first version that understands a position; times of records came with 0.10.1 (KIP-79).
_SINCE: Final = {
    LATEST_TIMESTAMP: 0,
    EARLIEST_TIMESTAMP: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
_TIMES_SINCE: Final = 1


def _needed(positions: Iterable[int]) -> VersionRange:
    lowest = max(_SINCE.get(position, _TIMES_SINCE) for position in positions)
    return VersionRange(lowest, ListOffsetsRequest.versions.highest)


def _group_by_leader(
    cluster: Cluster,
    partitions: Iterable[TopicPartition],
    failures: dict[TopicPartition, KafkaError],
    deadline: Deadline,
) -> dict[int, dict[TopicPartition, int]]:
    """Leader -> its partitions with their leader epochs."""
    by_leader: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
    for topic_partition in partitions:
        try:
            leader, _ = cluster.leader(topic_partition, deadline)
        except BrokerError as error:
            failures[topic_partition] = error
        else:
            by_leader[leader.node_id][topic_partition] = leader.epoch
    return by_leader


def _request(
    cluster: Cluster,
    positions: Mapping[TopicPartition, int],
    epochs: Mapping[TopicPartition, int],
    deadline: Deadline,
) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition]] = {}
    for topic_partition, epoch in epochs.items():
        topics.setdefault(topic_partition.topic, []).append(
            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
                partition_index=topic_partition.partition,
                current_leader_epoch=epoch,
                timestamp=positions[topic_partition],
            )
        )
    return ListOffsetsRequest(
        replica_id=_CLIENT,
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        timeout_ms=deadline.broker_timeout_ms(cluster.config),
    )


def _sort_answers(
    response: ListOffsetsResponse,
    broker: Broker,
    positions: Mapping[TopicPartition, int],
    found: dict[TopicPartition, int],
    failures: dict[TopicPartition, KafkaError],
) -> None:
    answers = {
        TopicPartition(topic.name, answer.partition_index): answer
        for topic in response.topics
        for answer in topic.partitions
    }
    for topic_partition, position in positions.items():
        answer = answers.get(topic_partition)
        context = f"ListOffsets of {topic_partition} to {broker}"
        if answer is None:
            failures[topic_partition] = OutOfStepError(f"{context}: the answer lacks the partition")
        elif answer.error_code != ErrorCode.NONE:
            failures[topic_partition] = BrokerError(answer.error_code, context)
        else:
            # v0 lists offsets of segments, the newest first.
            old = answer.old_style_offsets
            offset = old[0] if old else answer.offset
            if offset < (0 if position in _ALWAYS_THERE else _NO_RECORD):
                failures[topic_partition] = OutOfStepError(f"{context}: the offset is {offset}")
            else:
                found[topic_partition] = offset
