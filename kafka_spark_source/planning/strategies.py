"""Which topics and partitions to read: the three ways to say it, and how each is spelt.

Pure: what a cluster holds is not known here. Source: `ConsumerStrategy` of Spark's connector.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import parse_assignment

_ESCAPED: Final = re.compile(r"\\.", re.DOTALL)
# Java reads "[" and "&&" inside a character class as union and intersection; Python takes them
# literally, so such a pattern would compile and then match other topics.
_CLASS_IN_CLASS: Final = re.compile(r"\[\^?\]?[^\]]*(\[|&&)")


@dataclass(frozen=True, slots=True)
class Subscribe:
    """All partitions of the topics named."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubscribePattern:
    """All partitions of the topics that a regular expression finds itself in."""

    pattern: str

    def matches(self, topic: str) -> bool:
        """Whether the pattern occurs in the name: a search, `top` is found in `my-topic`."""
        return re.search(self.pattern, topic) is not None


@dataclass(frozen=True, slots=True)
class Assign:
    """The partitions named, sorted, and no others."""

    partitions: tuple[TopicPartition, ...]


Strategy: TypeAlias = Subscribe | SubscribePattern | Assign


def names_of(strategy: Strategy) -> list[str]:
    """The topics that a strategy names, sorted; a pattern stands for itself."""
    match strategy:
        case Subscribe(topics):
            return sorted(topics)
        case SubscribePattern(pattern):
            return [pattern]
        case Assign(partitions):
            return sorted({tp.topic for tp in partitions})


def parse_subscribe(option: str, text: str) -> Subscribe:
    """Read `topicA,topicB`; blanks around the names do not count, nor do repetitions.

    Raises:
        KafkaConfigError: No name is left.
    """
    topics = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if not topics:
        raise KafkaConfigError(
            f"No topics to subscribe to as specified value for option '{option}' is '{text}': name "
            "at least one topic, several with commas between them."
        )
    return Subscribe(topics)


def parse_subscribe_pattern(option: str, text: str) -> SubscribePattern:
    """Read a regular expression that Java and Python understand alike.

    Raises:
        KafkaConfigError: It is empty, invalid, or in a syntax of Java's that Python's `re` lacks.
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
            f"got '{pattern}': {error}. (What only Java's syntax has, such as \\p{{Alpha}}, "
            "(?<name>...) or [a-z&&[^b]], has to be written differently.)"
        ) from error
    return SubscribePattern(pattern)


def _compile(pattern: str) -> None:
    if _CLASS_IN_CLASS.search(_ESCAPED.sub("..", pattern)):
        raise ValueError("a character class holds another one or &&")
    with warnings.catch_warnings():
        # Python warns where it might one day read a pattern in another way than today.
        warnings.simplefilter("error")
        re.compile(pattern)


def parse_assign(option: str, text: str) -> Assign:
    """Read `{"topicA":[0,1],"topicB":[0,1]}`; see `offsets.parse_assignment` for its errors."""
    return Assign(parse_assignment(option, text))
