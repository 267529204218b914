"""Earliest, latest or timestamps -> offsets, for many partitions at once.

One ListOffsets per leader, all in flight together; partitions with a retriable error are requested
again, alone. Knows nothing of Spark's options: callers choose the positions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import is_
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker, SentRequest
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.exchange import Leaders, exchange, group_by_leader
from kafka_protocol.client.consumer.stale_leaders import is_lower_than_before, superseded
from kafka_protocol.client.consumer.topic_identity import is_unknown_topic
from kafka_protocol.errors import (
    BrokerConnectionError,
    BrokerError,
    ErrorCode,
    KafkaError,
    KafkaTimeoutError,
    OutOfStepError,
)
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
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.repeated_request import RepeatedRequest
from kafka_protocol.wire.schema import VersionRange

_CLIENT = -1  # the replica_id of clients
# Every log has these positions; for others it may have no record.
_IN_EVERY_LOG: Final = frozenset({EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP, LATEST_TIMESTAMP})
_STARTS: Final = frozenset({EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP})
_NO_RECORD: Final = -1


def list_offsets(
    cluster: Cluster, positions: Mapping[TopicPartition, int], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The offset of a position in each partition.

    A position is a timestamp in ms, or a special one such as the end (`messages.list_offsets`).

    The response of a leader counts only if no other broker knows a newer leader (`stale_leaders`).

    Returns:
        An offset for each partition; -1 where no record has this or a later timestamp. The latest
        is the last stable offset under isolation.level=read_committed.

    Raises:
        BrokerError: A partition stays unknown, the principal may not read it, or it
            stays without a leader.
        BrokerConnectionError, KafkaTimeoutError: A leader cannot be reached.
        UnsupportedVersionError: A leader is too old for such a position.
    """
    offsets: dict[TopicPartition, int] = {}
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    grace_ms = cluster.config.times.topic_grace_ms
    grace = Retry(cluster.config, deadline.capped_at(grace_ms), grace_ms)
    last = retry
    while missing := {tp: position for tp, position in positions.items() if tp not in offsets}:
        failures: dict[TopicPartition, KafkaError] = {}
        try:
            requests = _requests(cluster, missing, failures, deadline)
        except (BrokerConnectionError, KafkaTimeoutError) as failure:
            # A deadline that ends this try must not hide the error of the one before.
            if isinstance(failure, BrokerConnectionError) and not deadline.has_passed:
                raise
            last.wait(failure)
            continue
        for request, broker, response in _exchange(cluster, requests, failures, deadline):
            _sort_results(response, broker, request.positions, offsets, failures)
        failures |= _stale(cluster, requests.values(), offsets, deadline)
        for topic_partition, error in failures.items():
            offsets.pop(topic_partition, None)
            cluster.forget_if_stale(error, topic_partition.topic)
        _raise_final(failures)
        if unknown := [error for error in failures.values() if is_unknown_topic(error)]:
            last = grace
            last.wait(unknown[0])
        elif failures:
            last = retry
            last.wait(next(iter(failures.values())))
    return offsets


def list_positions(
    cluster: Cluster, wanted: Mapping[TopicPartition, Collection[int]], deadline: Deadline
) -> dict[TopicPartition, dict[int, int]]:
    """The offsets of any number of positions in each partition.

    The number of requests grows with the brokers and with the positions of one partition, not
    with the partitions.

    Returns:
        For each partition: position -> offset, with -1 as from `list_offsets`.

    Raises:
        KafkaError: As from `list_offsets`.
    """
    offsets: dict[TopicPartition, dict[int, int]] = {tp: {} for tp in wanted}
    # Brokers refuse a request that names a partition twice, so each position is one more round.
    rest = {tp: sorted(set(positions), reverse=True) for tp, positions in wanted.items()}
    while positions := {tp: left.pop() for tp, left in rest.items() if left}:
        for topic_partition, offset in list_offsets(cluster, positions, deadline).items():
            offsets[topic_partition][positions[topic_partition]] = offset
    return offsets


def list_max_timestamps(
    cluster: Cluster, partitions: Collection[TopicPartition], deadline: Deadline
) -> dict[TopicPartition, int]:
    """The largest timestamp in each log, in ms, even if its record is deleted (KIP-734).

    Partitions are left out whose leaders are older than Kafka 3.0, or do not respond at once.
    """
    positions = dict.fromkeys(partitions, MAX_TIMESTAMP)
    failures: dict[TopicPartition, KafkaError] = {}
    offsets: dict[TopicPartition, int] = {}
    try:
        requests = _requests(cluster, positions, failures, deadline)
        results = _exchange(cluster, requests, failures, deadline)
        for request, broker, response in results:
            _sort_results(response, broker, request.positions, offsets, failures)
        failures |= _stale(cluster, requests.values(), offsets, deadline)
    except KafkaError:
        return {}
    timestamps = {
        TopicPartition(topic.name, result.partition_index): result.timestamp
        for _, _, response in results
        for topic in response.topics
        for result in topic.partitions
    }
    is_known = {tp for tp, offset in offsets.items() if offset >= 0} - failures.keys()
    return {tp: timestamps[tp] for tp in is_known}


def _stale(
    cluster: Cluster,
    requests: Iterable[_LeaderRequest],
    offsets: Mapping[TopicPartition, int],
    deadline: Deadline,
) -> dict[TopicPartition, KafkaError]:
    """The partitions whose offset may be out of date, each with an error to retry on.

    The start of a log is not asked twice: one that is too low is found by the Fetch there.
    """
    answered = {
        tp: led
        for request in requests
        for tp, led in request.led.items()
        if tp in offsets and request.positions[tp] not in _STARTS
    }
    if not answered:
        return {}
    newer = superseded(cluster, answered, deadline)
    level = cluster.config.isolation_level
    stale: dict[TopicPartition, KafkaError] = {}
    for request in requests:
        for tp in request.led.keys() & answered.keys():
            is_end = request.positions[tp] == LATEST_TIMESTAMP
            topic = answered[tp][1]
            if tp in newer:
                stale[tp] = BrokerError(
                    ErrorCode.FENCED_LEADER_EPOCH,
                    f"ListOffsets of {tp} to broker {answered[tp][0].node_id}, which is no longer "
                    "the leader, as another broker says",
                )
            elif is_end and is_lower_than_before(topic, tp.partition, level, offsets[tp]):
                stale[tp] = BrokerError(
                    ErrorCode.OFFSET_NOT_AVAILABLE,
                    f"ListOffsets of {tp} to broker {answered[tp][0].node_id}: the end "
                    f"{offsets[tp]} is lower than an earlier one",
                )
    return stale


def _raise_final(failures: Mapping[TopicPartition, KafkaError]) -> None:
    for error in failures.values():
        if not can_retry_read(error):
            raise error


def can_retry_read(error: KafkaError) -> bool:
    """Whether a read may be retried: also after UNKNOWN_SERVER_ERROR, as in Java's client."""
    return error.retriable or (
        isinstance(error, BrokerError) and error.error is ErrorCode.UNKNOWN_SERVER_ERROR
    )


class PolledOffsets(NamedTuple):
    """Offsets, which must not be changed. One poll's offsets with the same version are the same."""

    version: int
    offsets: Mapping[TopicPartition, int]


class OffsetsPoll:
    """Lists the same positions, as for `list_offsets`, again and again, at little cost.

    Requests are built once, for the leaders known then. After an error they are built again.
    """

    def __init__(self, cluster: Cluster, positions: Mapping[TopicPartition, int]) -> None:
        self._cluster = cluster
        self._positions = positions
        self._requests: dict[int, _LeaderRequest] | None = None
        self._responses: list[ListOffsetsResponse] = []
        self._polled = PolledOffsets(0, {})

    def __repr__(self) -> str:
        return f"<OffsetsPoll of {len(self._positions)} partitions>"

    def poll(self, deadline: Deadline) -> PolledOffsets:
        """The offset of each partition now.

        Raises:
            KafkaError: As from `list_offsets`, but an unknown partition is not waited for.
        """
        failures: dict[TopicPartition, KafkaError] = {}
        if self._requests is None:
            self._requests = _requests(self._cluster, self._positions, failures, deadline)
        results = _exchange(self._cluster, self._requests, failures, deadline)
        responses = [response for _, _, response in results]
        if not failures and _are_same(responses, self._responses):
            return self._polled
        offsets: dict[TopicPartition, int] = {}
        for request, broker, response in results:
            _sort_results(response, broker, request.positions, offsets, failures)
        if failures:
            self._requests, self._responses = None, []
            for topic_partition, error in failures.items():
                self._cluster.forget_if_stale(error, topic_partition.topic)
            _raise_final(failures)
            if unknown := [error for error in failures.values() if is_unknown_topic(error)]:
                raise unknown[0]
            missing = {tp: at for tp, at in self._positions.items() if tp not in offsets}
            return self._next(offsets | list_offsets(self._cluster, missing, deadline))
        before = self._polled.offsets
        lower = {tp for tp, offset in offsets.items() if offset < before.get(tp, offset)}
        if lower:
            # By a broker that was the leader, or the log was truncated: ask as for the first time.
            self._requests, responses = None, []
            again = {tp: self._positions[tp] for tp in lower}
            offsets |= list_offsets(self._cluster, again, deadline)
        self._responses = responses
        return self._next(offsets)

    def _next(self, offsets: Mapping[TopicPartition, int]) -> PolledOffsets:
        self._polled = PolledOffsets(self._polled.version + 1, offsets)
        return self._polled


def _are_same(
    responses: Sequence[ListOffsetsResponse], before: Sequence[ListOffsetsResponse]
) -> bool:
    """Whether they are the same objects, which a repeated request returns for the same bytes."""
    return len(responses) == len(before) and all(map(is_, responses, before))


class _LeaderRequest(NamedTuple):
    """The request for one leader, with the positions of its partitions."""

    request: RepeatedRequest[ListOffsetsRequest]
    needed: VersionRange
    positions: Mapping[TopicPartition, int]
    led: Leaders


def _requests(
    cluster: Cluster,
    positions: Mapping[TopicPartition, int],
    failures: dict[TopicPartition, KafkaError],
    deadline: Deadline,
) -> dict[int, _LeaderRequest]:
    """A request for each leader, by node id; partitions without a leader go to `failures`."""
    leaders, errors = group_by_leader(cluster, positions, deadline)
    failures |= errors
    return {
        node_id: _LeaderRequest(
            RepeatedRequest(_request(cluster, positions, led, deadline)),
            _needed(positions[tp] for tp in led),
            {tp: positions[tp] for tp in led},
            led,
        )
        for node_id, led in leaders.items()
    }


def _exchange(
    cluster: Cluster,
    requests: Mapping[int, _LeaderRequest],
    failures: dict[TopicPartition, KafkaError],
    deadline: Deadline,
) -> list[tuple[_LeaderRequest, Broker, ListOffsetsResponse]]:
    """Send all requests, then receive all responses; errors go to `failures`."""
    setup = deadline.capped_at(cluster.config.connection_setup_timeout_ms)
    left = len(requests)

    def send(node_id: int) -> SentRequest:
        nonlocal left
        share = setup.capped_at(setup.remaining_ms / left)
        left -= 1
        broker = cluster.broker(node_id, share)
        request, needed, *_ = requests[node_id]
        if broker.choose(ListOffsetsRequest, needed) >= _FIRST_WITH_TRANSACTIONS:
            request.request.isolation_level = ISOLATION_LEVELS[cluster.config.isolation_level]
        return broker.send(request, deadline, needed)

    exchanged = exchange(requests, send, ListOffsetsResponse, deadline)
    for node_id, error in (exchanged.unsent | exchanged.unanswered).items():
        failures |= dict.fromkeys(requests[node_id].positions, error)
    return [(requests[node_id], *each) for node_id, each in exchanged.responses.items()]


# Older brokers know no transactions; all their records are committed.
_FIRST_WITH_TRANSACTIONS: Final = 2


# The first version with each position; timestamps came with 0.10.1 (KIP-79).
_SINCE: Final = {
    LATEST_TIMESTAMP: 0,
    EARLIEST_TIMESTAMP: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
_TIMESTAMPS_SINCE: Final = 1  # point: segment-times


def _needed(positions: Iterable[int]) -> VersionRange:
    lowest = max(_SINCE.get(position, _TIMESTAMPS_SINCE) for position in positions)
    return VersionRange(lowest, ListOffsetsRequest.versions.highest)


def _request(
    cluster: Cluster, positions: Mapping[TopicPartition, int], led: Leaders, deadline: Deadline
) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition]] = {}
    for topic_partition, (leader, _) in led.items():
        topics.setdefault(topic_partition.topic, []).append(
            ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition(
                partition_index=topic_partition.partition,
                current_leader_epoch=leader.epoch,
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


def _sort_results(
    response: ListOffsetsResponse,
    broker: Broker,
    positions: Mapping[TopicPartition, int],
    offsets: dict[TopicPartition, int],
    failures: dict[TopicPartition, KafkaError],
) -> None:
    """Put the offsets of a response into `offsets`, and errors into `failures`."""
    results = {
        TopicPartition(topic.name, result.partition_index): result
        for topic in response.topics
        for result in topic.partitions
    }
    for topic_partition, position in positions.items():
        result = results.get(topic_partition)
        context = f"ListOffsets of {topic_partition} to {broker}"
        if result is None:
            failures[topic_partition] = OutOfStepError(
                f"{context}: the response lacks the partition"
            )
        elif result.error_code != ErrorCode.NONE:
            failures[topic_partition] = BrokerError(result.error_code, context)
        else:
            # v0 lists the offsets of segments, the newest first.
            old = result.old_style_offsets
            offset = old[0] if old else result.offset
            if offset < (0 if position in _IN_EVERY_LOG else _NO_RECORD):
                failures[topic_partition] = OutOfStepError(f"{context}: the offset is {offset}")
            else:
                offsets[topic_partition] = offset
