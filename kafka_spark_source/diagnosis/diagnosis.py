"""Why a job cannot read or write: each step from here to its records, until one fails.

Nothing is changed, except for a new producer id, and an entry for a transactional id of the
diagnosis's own, if the job needs them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import committed_offsets
from kafka_protocol.client.cluster.metadata import request_metadata
from kafka_protocol.client.cluster.rights import Operation, group_rights, topic_rights
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.consumer.fetch import fetch_range
from kafka_protocol.client.producer.producer_id import new_producer_id
from kafka_protocol.client.producer.transactions import begin
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.records.fetch_response import PartitionData, TakenBatches, take_batches
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.diagnosis.broker_clock import clock_difference_ms
from kafka_spark_source.diagnosis.findings import Finding, Result, tried
from kafka_spark_source.diagnosis.reach import Listener, reach
from kafka_spark_source.diagnosis.sign_in import identity
from kafka_spark_source.planning.strategies import SubscribePattern
from kafka_spark_source.tools.records.peek import records_in
from kafka_spark_source.tools.topics.topics import ListedTopic, Partition, list_topics

# Timestamps that are further off move starting positions by time, and times of records.
_CLOCK_LIMIT_MS: Final = 2_000
# Brokers that are tried at the same time.
_AT_ONCE: Final = 16
# Topics of a pattern that are tried.
_MOST_TOPICS: Final = 20
# The transactional id that is tried has the prefix of the job's, as ACLs are by prefix.
_OWN_ID: Final = "doctor"
_NO_RECORD: Final = "no partition that may be read has a record"


class Job(NamedTuple):
    """The needs of a job.

    Attributes:
        reads: The topics that it reads.
        writes: The topics that it writes to.
        group: The consumer group whose offsets it reads or commits; None without a group.
        transactional_prefix: The prefix of an exactly-once write; None for other jobs.
        commit_log: The topic of its decisions.
        pattern: Matches the names of topics that it reads.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    group: str | None = None
    transactional_prefix: str | None = None
    commit_log: str | None = None
    pattern: SubscribePattern | None = None


def diagnose(config: ClientConfig, job: Job) -> Iterator[Finding]:
    """The steps of a job, in their order. Each has a time limit, so it ends."""
    bootstrap = [Listener(address, None, config) for address in config.bootstrap_servers]
    reached = []
    for listener in bootstrap:
        finding = None
        for finding in reach(listener):
            yield finding
        reached.append(finding is not None and finding.result is not Result.BAD)
    if not any(reached):
        return
    yield from identity(config)
    with closing(Cluster(config)) as cluster:
        responses: list[MetadataResponse] = []
        yield tried("cluster", "metadata", lambda: _describe(_ask(cluster, responses)))
        for response in responses:
            yield from _throttled(response)
            yield from _advertised(config, response)
            yield _clock(cluster)
            yield from _needs(cluster, job, {each.node_id: each.rack for each in response.brokers})


def _deadline(cluster: Cluster) -> Deadline:
    return Deadline.after(cluster.config.request_timeout_ms)


def _ask(cluster: Cluster, responses: list[MetadataResponse]) -> MetadataResponse:
    response = cluster.with_any_broker(
        lambda broker, setup: request_metadata(broker, [], setup), _deadline(cluster)
    )
    responses.append(response)
    return response


def _describe(response: MetadataResponse) -> str:
    controller = response.controller_id if response.controller_id >= 0 else "unknown"
    brokers = len(response.brokers)
    return f"{response.cluster_id or 'no id'}, brokers: {brokers}, controller: {controller}"


def _throttled(response: MetadataResponse) -> Iterator[Finding]:
    """A finding if the client exceeds a quota now (KIP-219)."""
    if response.throttle_time_ms > 0:
        detail = (
            f"brokers make this client wait for {response.throttle_time_ms} ms: it exceeds a quota "
            "of its user or client id, which slows down reads and writes, and fails none"
        )
        yield Finding("throttling", "cluster", Result.COSTLY, detail)


def _advertised(config: ClientConfig, response: MetadataResponse) -> Iterator[Finding]:
    """Every broker at the address that it advertises: a finding each, in the order of their ids."""
    listeners = [
        Listener(Address(broker.host, broker.port), broker.node_id, config, response.cluster_id)
        for broker in sorted(response.brokers, key=lambda each: each.node_id)
    ]
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for listener, steps in zip(listeners, threads.map(_all_steps, listeners), strict=True):
            last = steps[-1]
            if last.result is Result.BAD:
                detail = (
                    f"{last.step}: {last.detail}. It is the address that this broker advertises "
                    "(advertised.listeners), which must be reached from here"
                )
                yield Finding("advertised", str(listener), Result.BAD, detail)
            else:
                yield last._replace(step="advertised", detail="reached")


def _all_steps(listener: Listener) -> list[Finding]:
    return [*reach(listener)]


def _clock(cluster: Cluster) -> Finding:
    subject = "controller"
    try:
        difference_ms = clock_difference_ms(cluster, _deadline(cluster))
    except KafkaError as error:
        return Finding("clock", subject, Result.UNKNOWN, f"it does not report its time: {error}")
    if difference_ms is None:
        return Finding("clock", subject, Result.UNKNOWN, "it does not report its time")
    side = "ahead of" if difference_ms > 0 else "behind"
    detail = f"{abs(difference_ms)} ms {side} the clock here"
    if abs(difference_ms) <= _CLOCK_LIMIT_MS:
        return Finding("clock", subject, Result.GOOD, detail)
    advice = "set both by NTP: positions by time, and timestamps of records, are off by as much"
    return Finding("clock", subject, Result.COSTLY, f"{detail}; {advice}")


def _needs(cluster: Cluster, job: Job, racks: Mapping[int, str | None]) -> Iterator[Finding]:
    reads = [*job.reads]
    if job.pattern is not None:
        finding, matching = _matching(cluster, job.pattern)
        yield finding
        reads += matching
    for topic in dict.fromkeys((*reads, *job.writes)):
        wanted = {Operation.READ: topic in reads, Operation.WRITE: topic in job.writes}
        yield from _topic(cluster, topic, [each for each in wanted if wanted[each]], racks)
    if job.group is not None:
        yield _group(cluster, job.group)
    if job.writes and cluster.config.enable_idempotence:
        yield tried("producer id", "cluster", lambda: _new_id(cluster))
    if job.transactional_prefix is not None:
        yield _transactional(cluster, job.transactional_prefix)
    if job.commit_log is not None:
        yield from _commit_log(cluster, job.commit_log)


def _matching(cluster: Cluster, pattern: SubscribePattern) -> tuple[Finding, list[str]]:
    """The topics of a pattern, as far as they are tried."""
    try:
        response = cluster.with_any_broker(
            lambda broker, setup: request_metadata(broker, None, setup), _deadline(cluster)
        )
    except KafkaError as error:
        return Finding("pattern", pattern.pattern, Result.BAD, str(error)), []
    named = [each.name for each in response.topics if each.name and not each.is_internal]
    matching = sorted(name for name in named if pattern.matches(name))
    if not matching:
        detail = f"no name of the {len(named)} topics that the principal may describe matches"
        return Finding("pattern", pattern.pattern, Result.COSTLY, detail), []
    tried_too = "" if len(matching) <= _MOST_TOPICS else f", of which {_MOST_TOPICS} are tried"
    detail = f"topics: {len(matching)}{tried_too}"
    return Finding("pattern", pattern.pattern, Result.GOOD, detail), matching[:_MOST_TOPICS]


def _topic(
    cluster: Cluster, name: str, wanted: list[Operation], racks: Mapping[int, str | None]
) -> Iterator[Finding]:
    try:
        (topic,) = list_topics(cluster, [name], _deadline(cluster))
    except KafkaError as error:
        yield Finding("topic", name, Result.BAD, str(error))
        return
    yield _leaders(topic)
    yield _rights(name, wanted, lambda: topic_rights(cluster, name, _deadline(cluster)))
    if Operation.READ in wanted:
        yield _one_record(cluster, topic)
        if cluster.config.client_rack:
            yield _replica(cluster, topic, racks)


def _leaders(topic: ListedTopic) -> Finding:
    count = len(topic.partitions)
    leaderless = [each.partition for each in topic.partitions if each.leader is None]
    behind = [each.partition for each in topic.partitions if each.is_under_replicated]
    if leaderless:
        detail = f"{_numbers(leaderless)} of {count} have no leader: their brokers are down"
        return Finding("leaders", topic.name, Result.BAD, detail)
    if behind:
        detail = f"{_numbers(behind)} of {count} are under-replicated: a broker is down or slow"
        return Finding("leaders", topic.name, Result.COSTLY, detail)
    detail = "its partition has one" if count == 1 else f"each of {count} partitions has one"
    return Finding("leaders", topic.name, Result.GOOD, detail)


def _numbers(partitions: list[int]) -> str:
    shown = ", ".join(map(str, partitions[:10]))
    return f"partitions {shown}{', ...' if len(partitions) > 10 else ''}"


def _rights(
    name: str, wanted: list[Operation], ask: Callable[[], frozenset[Operation] | None]
) -> Finding:
    try:
        granted = ask()
    except KafkaError as error:
        return Finding("rights", name, Result.BAD, str(error))
    if granted is None:
        detail = "brokers do not show them; brokers before 2.3 cannot"
        return Finding("rights", name, Result.UNKNOWN, detail)
    lacking = [each.name for each in wanted if each not in granted]
    if lacking:
        detail = f"the principal lacks {', '.join(lacking)}: grant it on {name!r}"
        return Finding("rights", name, Result.BAD, detail)
    has = ", ".join(each.name for each in (Operation.DESCRIBE, *wanted))
    return Finding("rights", name, Result.GOOD, has)


def _one_record(cluster: Cluster, topic: ListedTopic) -> Finding:
    """Fetch the last record of a partition that has one, with its decompression."""
    partition = _filled(topic)
    if partition is None:
        return Finding("fetch", topic.name, Result.UNKNOWN, _NO_RECORD)
    wanted = _last_offset(partition)

    def fetch() -> str:
        for record in itertools.islice(records_in(cluster, [wanted], _deadline(cluster)), 1):
            return f"read {record.topic}-{record.partition} at offset {record.offset}"
        return f"{wanted} has no record, only a marker"

    return tried("fetch", topic.name, fetch)


def _filled(topic: ListedTopic) -> Partition | None:
    """The first partition that has records and may be read; None without one."""
    return next((p for p in topic.partitions if p.offsets and p.latest is not None), None)


def _last_offset(partition: Partition) -> OffsetRange:
    latest = partition.latest or 0
    return OffsetRange(TopicPartition(*partition[:2]), latest - 1, latest)


def _replica(cluster: Cluster, topic: ListedTopic, racks: Mapping[int, str | None]) -> Finding:
    """Whether the broker that serves a Fetch is in the rack of this client (KIP-392)."""
    rack, partition = cluster.config.client_rack, _filled(topic)
    if partition is None:
        return Finding("replica", topic.name, Result.UNKNOWN, f"rack {rack!r}: {_NO_RECORD}")
    served_by = [partition.leader]

    def take(data: PartitionData, rest: OffsetRange, *, check_crcs: bool) -> TakenBatches:
        if data.preferred_read_replica >= 0:
            served_by.append(data.preferred_read_replica)
        return take_batches(data, rest, check_crcs=check_crcs)

    wanted, wait_ms = _last_offset(partition), cluster.config.request_timeout_ms
    try:
        for _ in fetch_range(cluster, wanted, wait_ms, take=take):
            pass
    except KafkaError as error:
        return Finding("replica", topic.name, Result.BAD, str(error))
    node_id = served_by[-1]
    there = racks.get(-1 if node_id is None else node_id)
    detail = f"rack {rack!r}: broker {node_id} of rack {there!r} serves {wanted.topic_partition}"
    if there == rack:
        return Finding("replica", topic.name, Result.GOOD, detail)
    advice = (
        "bytes come from another rack, unless the partition has a replica in this one and brokers "
        "have replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector"
    )
    return Finding("replica", topic.name, Result.COSTLY, f"{detail}; {advice}")


def _group(cluster: Cluster, group: str) -> Finding:
    def ask() -> frozenset[Operation] | None:
        granted = group_rights(cluster, group, _deadline(cluster))
        if granted is None:
            committed_offsets(cluster, group, [], _deadline(cluster))
        return granted

    return _rights(group, [Operation.READ], ask)._replace(step="group")


def _new_id(cluster: Cluster) -> str:
    return f"{new_producer_id(cluster, _deadline(cluster)).producer_id}"


def _transactional(cluster: Cluster, prefix: str) -> Finding:
    own = f"{prefix}-{_OWN_ID}"

    def initialise() -> str:
        return f"producer {begin(cluster, own, _deadline(cluster)).producer_id}"

    return tried("transactional id", own, initialise)


def _commit_log(cluster: Cluster, topic: str) -> Iterator[Finding]:
    try:
        ((_, _, partitions),) = list_topics(cluster, [topic], _deadline(cluster))
    except BrokerError as error:
        if error.error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            yield Finding("commit log", topic, Result.BAD, str(error))
            return
        detail = "it does not exist yet: the first write creates it, and needs CREATE on it"
        yield Finding("commit log", topic, Result.UNKNOWN, detail)
        return
    except KafkaError as error:
        yield Finding("commit log", topic, Result.BAD, str(error))
        return
    replicas = min(len(each.replicas) for each in partitions)
    if replicas == 1 and len(cluster.node_ids) > 1:
        detail = "one replica: exactly-once writes stand still while its broker is down; add some"
        yield Finding("commit log", topic, Result.COSTLY, detail)
    else:
        yield Finding("commit log", topic, Result.GOOD, f"replicas: {replicas}")
    wanted = [Operation.READ, Operation.WRITE]
    yield _rights(topic, wanted, lambda: topic_rights(cluster, topic, _deadline(cluster)))
