"""Create, alter and delete a topic, and read its configurations. Not an admin client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerError
from kafka_protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafka_protocol.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_protocol.wire.schema import Request

_CreatableTopic = CreateTopicsRequest.CreatableTopic

_ConfigResult = DescribeConfigsResponse.DescribeConfigsResult.DescribeConfigsResourceResult

_TOPIC: Final = 2  # a resource type of DescribeConfigs
# Sources of a value in DescribeConfigs.
_NO_SOURCE: Final = -1
_SET_FOR_TOPIC: Final = 1
_HAS_SYNONYMS: Final = 1  # the version of DescribeConfigs

# Operations of IncrementalAlterConfigs.
_SET: Final = 0
_DELETE: Final = 1


class NewTopic(NamedTuple):
    """A topic to create; `configs` are Kafka's topic configurations."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    configs: Mapping[str, str] = {}


class TopicConfig(NamedTuple):
    """A configuration of a topic.

    Attributes:
        is_set: Whether it was set for the topic itself.
        inherited: The value that the topic would have without that, from the broker's
            configuration; None if brokers do not return it (below 1.1).
    """

    name: str
    value: str | None
    is_set: bool
    inherited: str | None = None


def create_topic(cluster: Cluster, new: NewTopic, deadline: Deadline) -> None:
    """Create a topic and return when brokers know it.

    Raises:
        BrokerError: The cluster refused, for example with TOPIC_ALREADY_EXISTS.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    topic = _CreatableTopic(
        name=new.name,
        num_partitions=new.partitions,
        replication_factor=new.replication_factor,
        configs=[
            _CreatableTopic.CreatableTopicConfig(name=key, value=value)
            for key, value in new.configs.items()
        ],
    )

    def create(controller: Broker) -> None:
        request = CreateTopicsRequest(
            topics=[topic], timeout_ms=deadline.broker_timeout_ms(cluster.config)
        )
        response = controller.request(request, CreateTopicsResponse, deadline)
        for result in response.topics:
            context = f"CreateTopics {new.name!r} on {controller}"
            _check(result.error_code, context, result.error_message)

    _with_controller(cluster, CreateTopicsRequest, create, deadline)
    cluster.settled_topics([new.name], deadline)


def delete_topic(cluster: Cluster, name: str, deadline: Deadline) -> None:
    """Delete a topic; brokers may serve it for a moment longer.

    Raises:
        BrokerError: The cluster refused, or has no such topic.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """

    def delete(controller: Broker) -> None:
        # Below v6 the names are in another field.
        version = controller.choose(DeleteTopicsRequest)
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=name)] if version >= 6 else [],
            topic_names=[name],
            timeout_ms=deadline.broker_timeout_ms(cluster.config),
        )
        response = controller.request(request, DeleteTopicsResponse, deadline)
        for result in response.responses:
            context = f"DeleteTopics {name!r} on {controller}"
            _check(result.error_code, context, result.error_message)

    _with_controller(cluster, DeleteTopicsRequest, delete, deadline)
    cluster.forget(name)


def create_partitions(
    cluster: Cluster, topic: str, count: int, deadline: Deadline, *, validate_only: bool = False
) -> None:
    """Give a topic more partitions, `count` in all, and return when brokers know them.

    `validate_only` asks brokers whether they would do it.

    Raises:
        BrokerError: The cluster refused: with INVALID_PARTITIONS if the topic has as many already,
            perhaps from an earlier try whose response was lost.
        UnsupportedVersionError: The brokers are older than 1.0.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    wanted = CreatePartitionsRequest.CreatePartitionsTopic(
        name=topic, count=count, assignments=None
    )

    def create(controller: Broker) -> None:
        request = CreatePartitionsRequest(
            topics=[wanted],
            timeout_ms=deadline.broker_timeout_ms(cluster.config),
            validate_only=validate_only,
        )
        response = controller.request(request, CreatePartitionsResponse, deadline)
        for result in response.results:
            context = f"CreatePartitions of {topic!r} on {controller}"
            _check(result.error_code, context, result.error_message)

    _with_controller(cluster, CreatePartitionsRequest, create, deadline)
    if not validate_only:
        cluster.forget(topic)
        cluster.settled_topics([topic], deadline)


def alter_topic_configs(
    cluster: Cluster,
    topic: str,
    changes: Mapping[str, str | None],
    deadline: Deadline,
    *,
    validate_only: bool = False,
) -> None:
    """Set, or with None reset, some configurations of a topic. Does not touch the others.

    With `validate_only` brokers only check the request.

    Raises:
        BrokerError: The cluster refused, for example with INVALID_CONFIG.
        UnsupportedVersionError: The brokers are older than 2.3: their AlterConfigs replaces all
            configurations of a topic, so a change by another client in between would be lost.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
    request = IncrementalAlterConfigsRequest(
        resources=[
            Resource(
                resource_type=_TOPIC,
                resource_name=topic,
                configs=[
                    Resource.AlterableConfig(
                        name=name,
                        config_operation=_DELETE if value is None else _SET,
                        value=value,
                    )
                    for name, value in changes.items()
                ],
            )
        ],
        validate_only=validate_only,
    )

    def alter(broker: Broker, setup: Deadline) -> None:
        response = broker.request(request, IncrementalAlterConfigsResponse, setup)
        for result in response.responses:
            context = f"IncrementalAlterConfigs of topic {topic!r} on {broker}"
            _check(result.error_code, context, result.error_message)

    cluster.with_any_broker(alter, deadline)


def topic_config(cluster: Cluster, topic: str, name: str, deadline: Deadline) -> str | None:
    """The value of one configuration of a topic; None where brokers know no such configuration.

    Raises:
        BrokerError, UnsupportedVersionError, KafkaError: As from `topic_configs`.
    """
    configs = topic_configs(cluster, topic, [name], deadline)
    return next((config.value for config in configs if config.name == name), None)


def topic_configs(
    cluster: Cluster, topic: str, names: Sequence[str] | None, deadline: Deadline
) -> list[TopicConfig]:
    """Configurations of a topic by name, or all of them (None).

    Raises:
        BrokerError: The topic does not exist, or the principal lacks DESCRIBE_CONFIGS on it.
        UnsupportedVersionError: The brokers are older than 0.11.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=_TOPIC,
        resource_name=topic,
        configuration_keys=None if names is None else list(names),
    )

    def describe(broker: Broker, setup: Deadline) -> list[TopicConfig]:
        version = broker.choose(DescribeConfigsRequest)
        request = DescribeConfigsRequest(
            resources=[resource], include_synonyms=version >= _HAS_SYNONYMS
        )
        response = broker.request(request, DescribeConfigsResponse, setup)
        for result in response.results:
            context = f"DescribeConfigs of topic {topic!r} on {broker}"
            _check(result.error_code, context, result.error_message)
        return [
            TopicConfig(config.name, config.value, _is_set(config), _inherited(config))
            for result in response.results
            for config in result.configs
        ]

    return cluster.with_any_broker(describe, deadline)


def _is_set(config: _ConfigResult) -> bool:
    # Version 0 has no sources, and only says which values are defaults.
    source = config.config_source
    return not config.is_default if source == _NO_SOURCE else source == _SET_FOR_TOPIC


def _inherited(config: _ConfigResult) -> str | None:
    synonyms = (each.value for each in config.synonyms if each.source != _SET_FOR_TOPIC)
    return next(synonyms, None)


def _with_controller(
    cluster: Cluster, request: type[Request], call: Callable[[Broker], None], deadline: Deadline
) -> None:
    """Call with the controller; again where it moved or could not be reached."""
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    retry.until_done(lambda: call(cluster.controller(request, deadline)))


def _check(code: int, context: str, message: str | None) -> None:
    if code:
        raise BrokerError(code, context, message)
