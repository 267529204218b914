"""Topics: created, deleted, and how one is configured. Not an admin client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.clock import Deadline, Retry
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerError, KafkaError
from kafka_protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from kafka_protocol.schema import Request

T = TypeVar("T")

_CreatableTopic = CreateTopicsRequest.CreatableTopic


class NewTopic(NamedTuple):
    """What a topic is to be; `configs` are Kafka's topic configurations."""

    name: str
    partitions: int = 1
    replication_factor: int = 1
    configs: Mapping[str, str] = {}


def create_topic(cluster: Cluster, new: NewTopic, deadline: Deadline) -> None:
    """Create a topic and return when brokers know it.

    Raises:
        BrokerError: The cluster refused; TOPIC_ALREADY_EXISTS, for one.
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

    def ask(controller: Broker) -> None:
        request = CreateTopicsRequest(
            topics=[topic], timeout_ms=deadline.broker_timeout_ms(cluster.config)
        )
        response = controller.request(request, CreateTopicsResponse, deadline)
        for answer in response.topics:
            _check(
                answer.error_code,
                f"CreateTopics {new.name!r} on {controller}",
                answer.error_message,
            )

    _with_controller(cluster, CreateTopicsRequest, ask, deadline)
    cluster.settled_topics([new.name], deadline)


def delete_topic(cluster: Cluster, name: str, deadline: Deadline) -> None:
    """Delete a topic; brokers may go on serving it for a moment.

    Raises:
        BrokerError: The cluster refused, or has no such topic.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """

    def ask(controller: Broker) -> None:
        # Below v6 names stand in a list of their own; a version ignores what it lacks.
        versions = controller.choose(DeleteTopicsRequest)
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=name)] if versions >= 6 else [],
            topic_names=[name],
            timeout_ms=deadline.broker_timeout_ms(cluster.config),
        )
        response = controller.request(request, DeleteTopicsResponse, deadline)
        for answer in response.responses:
            _check(
                answer.error_code, f"DeleteTopics {name!r} on {controller}", answer.error_message
            )

    _with_controller(cluster, DeleteTopicsRequest, ask, deadline)
    cluster.forget(name)


def topic_config(cluster: Cluster, topic: str, name: str, deadline: Deadline) -> str | None:
    """What one of a topic's configurations is set to; None where it has no such one.

    Raises:
        BrokerError: There is no such topic, or the principal lacks DESCRIBE_CONFIGS on it.
        UnsupportedVersionError: The brokers are older than 0.11.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=_TOPIC, resource_name=topic, configuration_keys=[name]
            )
        ]
    )

    def ask(broker: Broker, setup: Deadline) -> str | None:
        response = broker.request(request, DescribeConfigsResponse, setup)
        for answer in response.results:
            context = f"DescribeConfigs of topic {topic!r} on {broker}"
            _check(answer.error_code, context, answer.error_message)
        found = (config for answer in response.results for config in answer.configs)
        return next((config.value for config in found if config.name == name), None)

    return cluster.ask_anyone(ask, deadline)


_TOPIC: Final = 2  # a resource type of DescribeConfigs


def _with_controller(
    cluster: Cluster, request: type[Request], ask: Callable[[Broker], T], deadline: Deadline
) -> T:
    """Ask the controller, again where it moved or could not be reached."""
    retry = Retry(cluster.config, deadline, cluster.config.connection_setup_timeout_ms)
    while True:
        try:
            return ask(cluster.controller(request, deadline))
        except KafkaError as error:
            retry.wait_after(error)


def _check(code: int, context: str, message: str | None) -> None:
    if code:
        raise BrokerError(code, context, message)
