"""ApiVersions, Metadata, FindCoordinator: what every broker knows, as far as it has heard."""

from __future__ import annotations

import re
from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.find_coordinator import (
    GROUP,
    TRANSACTION,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.topic_partition import TopicPartition
from kafka_protocol.wire.primitives import ZERO_UUID
from kafka_protocol.wire.schema import VersionRange
from tests.simulation.kafka.addresses import endpoints
from tests.simulation.kafka.broker import Broker
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.coordinators import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, partition_of
from tests.simulation.kafka.images import NO_LEADER, PartitionImage, TopicImage

_LEGAL_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
TOPICS_OF_KEYS: Final = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTIONS_TOPIC}
_CREATES_ALWAYS_BELOW: Final = 4
_TRANSACTIONS_2: Final = ApiVersionsResponse.FinalizedFeatureKey(
    name="transaction.version", max_version_level=2, min_version_level=2
)


def is_legal_name(name: str) -> bool:
    return name not in (".", "..") and _LEGAL_NAME.fullmatch(name) is not None


def api_versions(call: Call, handled: frozenset[int]) -> None:
    """The APIs that the release has and that are handled here."""
    broker, request = call.broker, call.request
    known = handled | broker.offered
    served = {key: versions for key, versions in broker.versions.items() if key in known}
    if request is None:
        own = _range(ApiVersionsRequest.api_key, served[ApiVersionsRequest.api_key])
        has_own = broker.release.number >= (2, 4)  # KIP-511
        error = int(ErrorCode.UNSUPPORTED_VERSION)
        call.respond(ApiVersionsResponse(error_code=error, api_keys=[own] if has_own else []))
        return
    has_transactions_2 = broker.release.bumps_epochs and broker.settings.service.has_transactions_2
    error = int(call.refusal() or _identity_error(call))
    if error:
        call.respond(ApiVersionsResponse(error_code=error))
    else:
        call.respond(
            ApiVersionsResponse(
                api_keys=[_range(*each) for each in sorted(served.items())],
                finalized_features_epoch=1,
                finalized_features=[_TRANSACTIONS_2] if has_transactions_2 else [],
            )
        )


def _range(api_key: int, versions: VersionRange) -> Any:
    return ApiVersionsResponse.ApiVersion(
        api_key=api_key, min_version=versions.lowest, max_version=versions.highest
    )


def _identity_error(call: Call) -> ErrorCode:
    """Whether the client means another cluster or node (KIP-1242)."""
    request, broker = call.request, call.broker
    if (request.cluster_id is None) != (request.node_id < 0):
        return ErrorCode.INVALID_REQUEST
    meant = (request.cluster_id, request.node_id)
    is_meant = request.cluster_id is None or meant == (broker.settings.cluster_id, broker.node)
    return ErrorCode.NONE if is_meant else ErrorCode.REBOOTSTRAP_REQUIRED


# --- Metadata ------------------------------------------------------------------------------------


def metadata(call: Call) -> None:
    """The live brokers, and the requested topics."""
    broker, request = call.broker, call.request
    wants_all = request.topics is None or (call.version == 0 and not request.topics)
    if wants_all:
        topics = [_topic(call, topic) for _, topic in sorted(broker.image.topics.items())]
    else:
        topics = [_named(call, wanted) for wanted in request.topics]
    call.respond(
        MetadataResponse(
            brokers=endpoints(
                MetadataResponse.MetadataResponseBroker, broker.image.live, broker.settings
            ),
            cluster_id=broker.settings.cluster_id,
            controller_id=_controller(broker),
            topics=topics,
        )
    )


def _controller(broker: Broker) -> int:
    """The controller; a KRaft broker names any live one, which forwards."""
    live = broker.image.live
    if not live:
        return -1
    return broker.scheduler.random.choice(live) if broker.release.has_kraft else min(live)


def _named(
    call: Call, wanted: MetadataRequest.MetadataRequestTopic
) -> MetadataResponse.MetadataResponseTopic:
    broker, name = call.broker, wanted.name
    found = call.topic(name, wanted.topic_id)
    if found is not None:
        return _topic(call, found)
    Topic = MetadataResponse.MetadataResponseTopic
    if wanted.topic_id != ZERO_UUID:
        return Topic(
            error_code=int(ErrorCode.UNKNOWN_TOPIC_ID), name=None, topic_id=wanted.topic_id
        )
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if broker.release.has_kraft and not is_legal_name(name or ""):
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif broker.settings.creates_topics and (
        call.version < _CREATES_ALWAYS_BELOW or call.request.allow_auto_topic_creation
    ):
        error = ErrorCode.LEADER_NOT_AVAILABLE if call.version < 4 else error
        replication = min(broker.settings.default_replication, len(broker.controller.live))
        if name not in broker.controller.topics and replication:
            broker.controller.create_topic(name or "", 1, replication, {})
    return Topic(error_code=int(error), name=name)


def _topic(call: Call, topic: TopicImage) -> MetadataResponse.MetadataResponseTopic:
    refusal = call.refusal(topic.name)
    if refusal:
        return MetadataResponse.MetadataResponseTopic(error_code=int(refusal), name=topic.name)
    return MetadataResponse.MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id if call.broker.release.has_topic_ids else ZERO_UUID,
        is_internal=topic.is_internal,
        partitions=[
            _partition(call, number, partition) for number, partition in enumerate(topic.partitions)
        ],
    )


def _partition(call: Call, number: int, partition: PartitionImage) -> Any:
    live = call.broker.image.live
    # A broker that heard of a broker's end, and not yet of the new leader, names none.
    leader = partition.leader if partition.leader in live else NO_LEADER
    error = ErrorCode.NONE if leader != NO_LEADER else ErrorCode.LEADER_NOT_AVAILABLE
    offline = [node for node in partition.replicas if node not in live]
    if offline and not error and call.version == 0:
        error = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponse.MetadataResponseTopic.MetadataResponsePartition(
        error_code=int(error),
        partition_index=number,
        leader_id=leader,
        leader_epoch=partition.epoch,
        replica_nodes=[*partition.replicas],
        isr_nodes=[*partition.isr],
        offline_replicas=offline,
    )


# --- FindCoordinator -----------------------------------------------------------------------------


def find_coordinator(call: Call) -> None:
    """The leader of the partition that a key's state is in."""
    request = call.request
    has_many = call.version >= 4
    keys = request.coordinator_keys if has_many else [request.key]
    found = [_coordinator(call, key, request.key_type) for key in keys]
    if has_many:
        call.respond(FindCoordinatorResponse(coordinators=found))
        return
    only = found[0]
    call.respond(
        FindCoordinatorResponse(
            error_code=only.error_code,
            error_message=only.error_message,
            node_id=only.node_id,
            host=only.host,
            port=only.port,
        )
    )


def _coordinator(call: Call, key: str, key_type: int) -> FindCoordinatorResponse.Coordinator:
    node, error = _node_of(call.broker, key, key_type)
    error = call.refusal() or error
    host, port = ("", -1) if error else call.broker.settings.address_of(node)
    return FindCoordinatorResponse.Coordinator(
        key=key,
        node_id=-1 if error else node,
        host=host,
        port=port,
        error_code=int(error),
        error_message=error.name if error else None,
    )


def _node_of(broker: Broker, key: str, key_type: int) -> tuple[int, ErrorCode]:
    name = TOPICS_OF_KEYS.get(key_type)
    if name is None:
        return NO_LEADER, ErrorCode.INVALID_REQUEST
    topic = broker.image.topics.get(name)
    if topic is None:
        _create_internal(broker, name)
        return NO_LEADER, ErrorCode.COORDINATOR_NOT_AVAILABLE
    number = partition_of(key, len(topic.partitions))
    node = broker.leader_of(TopicPartition(name, number))
    if node not in broker.image.live:
        return NO_LEADER, ErrorCode.COORDINATOR_NOT_AVAILABLE
    return node, ErrorCode.NONE


def _create_internal(broker: Broker, name: str) -> None:
    """Create an internal topic, when the first client asks for a coordinator."""

    def create() -> None:
        controller = broker.controller
        if name not in controller.topics and controller.live:
            replication = min(broker.settings.default_replication, len(controller.live))
            controller.create_topic(
                name,
                broker.settings.coordinator_partitions,
                replication,
                {"cleanup.policy": "compact"},
                is_internal=True,
            )

    broker.after(broker.draw(broker.settings.metadata), create)
