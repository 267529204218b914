"""Refuses topics that brokers do not know, or do not show, and asks which topic was meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError
from kafka_protocol.options.nearest_name import did_you_mean

# The errors of brokers for a wrong name. A principal who may not describe all topics gets the error
# about missing rights, whether there is such a topic or not.
_OF_NAMES: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
)
# The question is worth no long wait.
_LIST_MS: Final = 5_000


def check_known(cluster: Cluster, error_codes: Mapping[str, int], deadline: Deadline) -> None:
    """Check that brokers answered for topics without an error.

    Only after an error the topics are listed that the principal may describe.

    Args:
        cluster: The cluster.
        error_codes: Topic -> its code in a Metadata response.
        deadline: When this must have ended.

    Raises:
        BrokerError: A topic does not exist, or may not be described.
    """
    for name, code in error_codes.items():
        if code:
            meant = _nearest(cluster, name, deadline) if code in _OF_NAMES else ""
            raise BrokerError(code, f"Metadata of the topic {name!r}{meant}")


def _nearest(cluster: Cluster, name: str, deadline: Deadline) -> str:
    """The question for the topic with the nearest name; empty if there is none, or no answer."""
    try:
        listed = cluster.topics(None, deadline.capped_at(_LIST_MS))
    except KafkaError:
        return ""
    question = did_you_mean(name, {each: each for each in listed if each != name})
    return f" ({question})" if question else ""
