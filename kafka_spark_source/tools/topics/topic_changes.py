"""Changes of a topic: more partitions, other configurations. Brokers check them first."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.admin import (
    TopicConfig,
    alter_topic_configs,
    create_partitions,
    topic_configs,
)
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import (
    BrokerError,
    KafkaConfigError,
    KafkaError,
    UnsupportedVersionError,
)
from kafka_protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_protocol.options.nearest_name import did_you_mean

PARTITIONS: Final = "partitions"


class Change(NamedTuple):
    """A setting with its old and its new value.

    Attributes:
        setting: "partitions", or the name of a configuration.
        before: None if brokers do not return it.
        after: None if it will be a default that brokers do not return.
        was_set: Whether the old value was set for the topic itself.
        is_set: The same of the new one.
    """

    setting: str
    before: str | None
    after: str | None
    was_set: bool = True
    is_set: bool = True

    @property
    def has_effect(self) -> bool:
        """Whether anything is different afterwards."""
        is_default = not self.was_set and not self.is_set
        return not is_default and (self.before, self.was_set) != (self.after, self.is_set)


class Alteration(NamedTuple):
    """Changes that brokers would make: nothing is changed yet."""

    topic: str
    changes: tuple[Change, ...]

    @property
    def partitions(self) -> int | None:
        """The new number of partitions; None if it stays."""
        counts = [each.after for each in self.changes if each.setting == PARTITIONS]
        return int(counts[0] or 0) if counts else None

    @property
    def configs(self) -> dict[str, str | None]:
        """The new configurations; None for one that goes back to its default."""
        return {
            each.setting: each.after if each.is_set else None
            for each in self.changes
            if each.setting != PARTITIONS
        }


def plan_alteration(
    cluster: Cluster,
    topic: str,
    partitions: int | None,
    configs: Mapping[str, str | None],
    deadline: Deadline,
) -> Alteration:
    """Find the old values, and let brokers check the new ones.

    Args:
        cluster: The cluster.
        topic: The topic.
        partitions: How many it will have; None to leave them.
        configs: The new configurations; None takes back that one was set for the topic.
        deadline: When the brokers must have responded.

    Raises:
        KafkaConfigError: There is no such configuration, or the topic has as many partitions.
        UnsupportedVersionError: The brokers are too old.
        BrokerError: There is no such topic, or brokers refuse the change.
        BrokerConnectionError, KafkaTimeoutError: No broker can be reached.
    """
    metadata = cluster.settled_topics([topic], deadline)[topic]
    if metadata.error_code:
        raise BrokerError(metadata.error_code, f"Metadata of the topic {topic!r}")
    changes = []
    if partitions is not None:
        before = len(metadata.partitions)
        _check_partitions(topic, before, partitions, is_internal=metadata.is_internal)
        changes.append(Change(PARTITIONS, str(before), str(partitions)))
    if configs:
        _check_release(cluster, deadline)
        known = {each.name: each for each in topic_configs(cluster, topic, None, deadline)}
        changes += [_change(known, name, value) for name, value in configs.items()]
    planned = Alteration(topic, tuple(each for each in changes if each.has_effect))
    _send(cluster, planned, deadline, validate_only=True)
    return planned


def alter(cluster: Cluster, planned: Alteration, deadline: Deadline) -> None:
    """Make the changes: configurations first, which can be changed back.

    Raises:
        KafkaError: As from `plan_alteration`. Says what was changed, if anything was.
    """
    _send(cluster, planned, deadline, validate_only=False)


def _send(
    cluster: Cluster, planned: Alteration, deadline: Deadline, *, validate_only: bool
) -> None:
    topic, configs, partitions = planned.topic, planned.configs, planned.partitions
    if configs:
        alter_topic_configs(cluster, topic, configs, deadline, validate_only=validate_only)
    if partitions is None:
        return
    try:
        create_partitions(cluster, topic, partitions, deadline, validate_only=validate_only)
    except KafkaError as error:
        if configs and not validate_only:
            raise KafkaError(
                f"The configurations of {topic!r} were changed, and partitions were not added: "
                f"{error}"
            ) from error
        raise


def _check_release(cluster: Cluster, deadline: Deadline) -> None:
    """Check that configurations can be changed one by one, as `kafka-configs.sh` requires it."""
    try:
        cluster.with_any_broker(
            lambda broker, _: broker.choose(IncrementalAlterConfigsRequest), deadline
        )
    except UnsupportedVersionError as error:
        raise UnsupportedVersionError(
            f"{error}. The API of older brokers replaces all configurations of a topic, and could "
            "undo a change that somebody else makes at the same time"
        ) from error


def _change(known: Mapping[str, TopicConfig], name: str, value: str | None) -> Change:
    if name not in known:
        raise KafkaConfigError(
            f"{name!r} is not a configuration of topics: {_nearest(name, known)}"
        )
    before = known[name]
    is_set = value is not None
    after = value if is_set else before.inherited
    return Change(name, before.value, after, before.is_set, is_set)


def _nearest(name: str, known: Collection[str]) -> str:
    otherwise = "`pykafka topics describe TOPIC -o json` shows which ones are set"
    return did_you_mean(name, {each: each for each in known}, otherwise=otherwise)


def _check_partitions(topic: str, before: int, after: int, *, is_internal: bool) -> None:
    if is_internal:
        raise KafkaConfigError(
            f"{topic!r} is a topic of Kafka's own, which finds records by its number of "
            "partitions: it must keep them."
        )
    if after < before:
        raise KafkaConfigError(
            f"{topic!r} has {before} partitions, and Kafka can only add some: create another "
            "topic, and copy the records."
        )
