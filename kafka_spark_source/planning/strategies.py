"""Strategies to choose topics and partitions, and how options spell them.

Pure: no I/O, no partitions of a cluster. Source: `ConsumerStrategy` of Spark's connector.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.topic_names import check_topic_name
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import parse_assignment

_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
# Java reads "[" and "&&" inside a character class as union and intersection; Python takes them
# literally, so such a pattern would compile and then match other topics.
_CLASS_IN_CLASS: Final = re.compile(r"\[\^?\]?[^\]]*(\[|&&)")


@dataclass(frozen=True, slots=True)
class Subscribe:
    """All partitions of these topics."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    """All partitions of the topics whose names contain a match of a regular expression."""

    pattern: str

    def matches(self, topic: str) -> bool:
        """Whether the name contains a match: `top` matches `my-topic`."""
        return re.search(self.pattern, topic) is not None


@dataclass(frozen=True, slots=True)
class Assign:
    """These partitions, sorted, and no others."""

    partitions: tuple[TopicPartition, ...]


Strategy: TypeAlias = Subscribe | SubscribePattern | Assign


def topics_of(strategy: Strategy) -> list[str]:
    """The topics that a strategy names, sorted; empty for a pattern."""
    return [] if isinstance(strategy, SubscribePattern) else names_of(strategy)


def selects_topic(strategy: Strategy, topic: str) -> bool:
    """Whether a strategy reads a topic of this name, now or once it exists."""
    if isinstance(strategy, SubscribePattern):
        return strategy.matches(topic)
    return topic in names_of(strategy)


def names_of(strategy: Strategy) -> list[str]:
    """The topic names of a strategy, sorted; of a pattern, the pattern itself."""
    match strategy:
        case Subscribe(topics):
            return sorted(topics)
        case SubscribePattern(pattern):
            return [pattern]
        case Assign(partitions):
            return sorted({tp.topic for tp in partitions})


def selects(strategy: Strategy, topic_partition: TopicPartition) -> bool:
    """Whether a strategy chooses a partition, if that exists."""
    match strategy:
        case Subscribe(topics):
            return topic_partition.topic in topics
        case SubscribePattern():
            return strategy.matches(topic_partition.topic)
        case Assign(partitions):
            return topic_partition in partitions


def parse_subscribe(option: str, text: str) -> Subscribe:
    """Read `topicA,topicB`; blanks around names and repeated names are ignored.

    Raises:
        KafkaConfigError: There is no name, or one that no topic can have.
    """
    topics = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if not topics:
        raise KafkaConfigError(
            f"No topics to subscribe to as specified value for option '{option}' is '{text}': name "
            "at least one topic, several with commas between them."
        )
    for topic in topics:
        check_topic_name(option, topic)
    return Subscribe(topics)


def parse_subscribe_pattern(option: str, text: str) -> SubscribePattern:
    """Read a regular expression that Java and Python understand alike.

    Raises:
        KafkaConfigError: It is empty, invalid, or uses Java syntax that Python's `re` lacks.
    """
    pattern = text.strip()
    if not pattern:
        raise KafkaConfigError(
            f"Pattern to subscribe is empty as specified value for option '{option}' is '{text}': "
            "write a regular expression, for example orders-.*"
        )
    try:
        _compile(pattern)
    except (re.error, ValueError, OverflowError, RecursionError, Warning) as error:
        raise KafkaConfigError(
            f"Option '{option}' must be a regular expression that Python's re module understands, "
            f"got '{pattern}': {error}. (Syntax that only Java has, such as "
            "\\p{Alpha}, (?<name>...) or [a-z&&[^b]], must be written differently.)"
        ) from error
    return SubscribePattern(pattern)


def _compile(pattern: str) -> None:
    if _CLASS_IN_CLASS.search(_ESCAPED.sub("..", pattern)):
        raise ValueError("a character class holds another one or &&")
    with warnings.catch_warnings():
        # Python warns of patterns whose meaning may change in a later version.
        warnings.simplefilter("error")
        re.compile(pattern)


def parse_assign(option: str, text: str) -> Assign:
    """Read `{"topicA":[0,1],"topicB":[0,1]}`.

    Raises:
        KafkaConfigError: As from `parse_assignment`, or no topic can have a name.
    """
    assigned = Assign(parse_assignment(option, text))
    for topic in names_of(assigned):
        check_topic_name(option, topic)
    return assigned
