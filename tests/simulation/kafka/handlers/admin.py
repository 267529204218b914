"""Topics and their configurations: created, described, changed and deleted."""

from __future__ import annotations

from typing import Any, Final

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.create_partitions import CreatePartitionsResponse
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_topics import DeleteTopicsResponse
from kafka_protocol.messages.describe_configs import DescribeConfigsResponse
from kafka_protocol.messages.incremental_alter_configs import IncrementalAlterConfigsResponse
from kafka_protocol.wire.primitives import ZERO_UUID
from tests.simulation.kafka.broker import Broker
from tests.simulation.kafka.call import Call
from tests.simulation.kafka.handlers.metadata import is_legal_name
from tests.simulation.kafka.images import TopicImage

_TOPIC: Final = 2  # a resource type
_DYNAMIC_TOPIC_CONFIG: Final = 1
_DEFAULT_CONFIG: Final = 5
_SET, _DELETE = 0, 1  # of IncrementalAlterConfigs

# Types of values in DescribeConfigs, for configurations that are no STRING.
_TYPE_STRING: Final = 2
_NUMBERS: Final = (3, 5)
_TYPES: Final = {
    "cleanup.policy": 7,
    "delete.retention.ms": 5,
    "max.message.bytes": 3,
    "min.insync.replicas": 3,
    "retention.bytes": 5,
    "retention.ms": 5,
    "segment.bytes": 3,
    "segment.ms": 5,
}


def _defaults(broker: Broker) -> dict[str, str]:
    return {
        "cleanup.policy": "delete",
        "delete.retention.ms": "86400000",
        "max.message.bytes": str(broker.settings.max_message_bytes),
        "message.timestamp.type": "CreateTime",
        "min.insync.replicas": str(broker.settings.min_insync_replicas),
        "retention.bytes": "-1",
        "retention.ms": "604800000",
        "segment.bytes": "1073741824",
        "segment.ms": "604800000",
    }


def _is_controller(broker: Broker) -> bool:
    """Whether requests for the controller are served: a KRaft broker forwards them."""
    return broker.release.has_kraft or broker.node == min(broker.image.live, default=-1)


# --- CreateTopics --------------------------------------------------------------------------------


def create_topics(call: Call) -> None:
    """Create topics; answered when this broker has heard of them."""
    broker = call.broker

    def create() -> None:
        results = [_created(call, wanted) for wanted in call.request.topics]
        broker.hear(lambda: call.respond(CreateTopicsResponse(topics=results)))

    broker.after(broker.draw(broker.settings.metadata), create)


def _created(call: Call, wanted: CreateTopicsRequest.CreatableTopic) -> Any:
    broker, controller = call.broker, call.broker.controller
    Result = CreateTopicsResponse.CreatableTopicResult
    partitions = 1 if wanted.num_partitions == -1 else wanted.num_partitions
    replication = wanted.replication_factor
    if replication == -1:
        replication = min(broker.settings.default_replication, len(controller.live))
    error = call.refusal(wanted.name)
    if error:
        pass
    elif not _is_controller(broker):
        error = ErrorCode.NOT_CONTROLLER
    elif not is_legal_name(wanted.name):
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif wanted.name in controller.topics:
        error = ErrorCode.TOPIC_ALREADY_EXISTS
    elif partitions < 1:
        error = ErrorCode.INVALID_PARTITIONS
    elif not 0 < replication <= len(controller.live):
        error = ErrorCode.INVALID_REPLICATION_FACTOR
    if error or call.request.validate_only:
        message = error.name if error else None
        return Result(name=wanted.name, error_code=int(error), error_message=message, configs=None)
    config = {each.name: each.value or "" for each in wanted.configs}
    topic = controller.create_topic(wanted.name, partitions, replication, config)
    return Result(
        name=wanted.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=partitions,
        replication_factor=replication,
        configs=None,
    )


# --- DeleteTopics --------------------------------------------------------------------------------


def delete_topics(call: Call) -> None:
    """Delete topics; other brokers may serve them for a moment longer."""
    broker = call.broker
    wanted = (
        [(state.name, state.topic_id) for state in call.request.topics]
        if call.version >= 6
        else [(name, ZERO_UUID) for name in call.request.topic_names]
    )

    def delete() -> None:
        results = [_deleted(call, name, topic_id) for name, topic_id in wanted]
        broker.hear(lambda: call.respond(DeleteTopicsResponse(responses=results)))

    broker.after(broker.draw(broker.settings.metadata), delete)


def _deleted(call: Call, name: str | None, topic_id: Any) -> Any:
    controller = call.broker.controller
    topics = controller.topics.values()
    found = next(
        (
            t
            for t in topics
            if (t.name == name if topic_id == ZERO_UUID else t.topic_id == topic_id)
        ),
        None,
    )
    error = call.refusal(name if found is None else found.name)
    if error:
        pass
    elif not _is_controller(call.broker):
        error = ErrorCode.NOT_CONTROLLER
    elif found is None:
        by_name = topic_id == ZERO_UUID
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if by_name else ErrorCode.UNKNOWN_TOPIC_ID
    else:
        controller.delete_topic(found.name)
    return DeleteTopicsResponse.DeletableTopicResult(
        name=found.name if found else name,
        topic_id=found.topic_id if found else topic_id,
        error_code=int(error),
        error_message=error.name if error else None,
    )


# --- CreatePartitions ----------------------------------------------------------------------------


def create_partitions(call: Call) -> None:
    """Add partitions; answered when this broker has heard of them."""
    broker = call.broker

    def create() -> None:
        results = [
            CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=wanted.name, error_code=int(_add_partitions(call, wanted))
            )
            for wanted in call.request.topics
        ]
        broker.hear(lambda: call.respond(CreatePartitionsResponse(results=results)))

    broker.after(broker.draw(broker.settings.metadata), create)


def _add_partitions(call: Call, wanted: Any) -> ErrorCode:
    controller = call.broker.controller
    topic = controller.topics.get(wanted.name)
    error = call.refusal(wanted.name)
    if not error and not _is_controller(call.broker):
        error = ErrorCode.NOT_CONTROLLER
    elif not error and topic is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif not error and topic is not None and wanted.count <= len(topic.partitions):
        error = ErrorCode.INVALID_PARTITIONS
    if not error and not call.request.validate_only:
        controller.add_partitions(wanted.name, wanted.count)
    return error


# --- DescribeConfigs -----------------------------------------------------------------------------


def describe_configs(call: Call) -> None:
    """The configuration of topics."""
    call.respond(
        DescribeConfigsResponse(
            results=[_described(call, resource) for resource in call.request.resources]
        )
    )


def _described(call: Call, resource: Any) -> Any:
    Result = DescribeConfigsResponse.DescribeConfigsResult
    topic = call.broker.image.topics.get(resource.resource_name)
    error = _resource_error(call, resource)
    return Result(
        error_code=int(error),
        error_message=error.name if error else None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[] if topic is None or error else _configs(call, topic, resource),
    )


def _resource_error(call: Call, resource: Any) -> ErrorCode:
    """The error for a resource that is no known topic."""
    error = call.refusal(resource.resource_name)
    if not error and resource.resource_type != _TOPIC:
        error = ErrorCode.INVALID_REQUEST
    elif not error and resource.resource_name not in call.broker.image.topics:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return error


def _configs(call: Call, topic: TopicImage, resource: Any) -> list[Any]:
    """Each value, where it comes from, and those that it hides."""
    Config = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult
    defaults = _defaults(call.broker)
    keys = resource.configuration_keys
    found = []
    for name in sorted({*defaults, *topic.config}):
        sources = {_DYNAMIC_TOPIC_CONFIG: topic.config, _DEFAULT_CONFIG: defaults}
        values = [(source, each[name]) for source, each in sources.items() if name in each]
        source, value = values[0]
        synonyms = [
            Config.DescribeConfigsSynonym(name=name, value=each, source=of) for of, each in values
        ]
        config = Config(
            name=name,
            value=value,
            read_only=False,
            is_default=call.version == 0 and source == _DEFAULT_CONFIG,
            config_source=source,
            is_sensitive=False,
            synonyms=synonyms if call.request.include_synonyms else [],
            config_type=_TYPES.get(name, _TYPE_STRING) if call.version >= 3 else 0,
            documentation=None,
        )
        if not keys or name in keys:
            found.append(config)
    return found


# --- IncrementalAlterConfigs ---------------------------------------------------------------------


def alter_configs(call: Call) -> None:
    """Set and delete configurations of topics, all of a topic or none of them."""
    broker = call.broker
    Response = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse

    def alter() -> None:
        responses = [
            Response(
                error_code=int(_altered(call, resource)),
                error_message=None,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in call.request.resources
        ]
        broker.hear(lambda: call.respond(IncrementalAlterConfigsResponse(responses=responses)))

    broker.after(broker.draw(broker.settings.metadata), alter)


def _altered(call: Call, resource: Any) -> ErrorCode:
    controller, known = call.broker.controller, _defaults(call.broker)
    error = _resource_error(call, resource)
    if error:
        return error
    config = dict(controller.topics[resource.resource_name].config)
    for each in resource.configs:
        if each.name not in known:
            return ErrorCode.INVALID_CONFIG
        if each.config_operation == _DELETE:
            config.pop(each.name, None)
        elif each.config_operation == _SET and _is_valid(each.name, each.value):
            config[each.name] = each.value
        else:
            return ErrorCode.INVALID_CONFIG
    if not call.request.validate_only:
        controller.configure_topic(resource.resource_name, config)
    return ErrorCode.NONE


def _is_valid(name: str, value: str | None) -> bool:
    is_number = _TYPES.get(name, _TYPE_STRING) in _NUMBERS
    return bool(value) and (not is_number or (value or "").lstrip("-").isdigit())
