"""The JSON of partitions and offsets in options and checkpoints.

Pure: no I/O, no Spark, no offsets of a cluster. Source: `JsonUtils` of Spark's Kafka connector.
Unlike Spark's parser it refuses a partition named twice, an offset of 1.5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeGuard, TypeVar

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition

# The special timestamps of ListOffsets for both ends of a log; Spark's JSON uses them too.
LATEST: Final = -1
EARLIEST: Final = -2

K = TypeVar("K")
V = TypeVar("V")

_MAX_LONG: Final = 2**63 - 1
_MAX_PARTITION: Final = 2**31 - 1
_LONGEST_QUOTE: Final = 500
_PARTITION_NUMBER: Final = re.compile("0|[1-9][0-9]{0,9}")

_ASSIGNMENT_EXAMPLE: Final = '{"topicA":[0,1],"topicB":[0,1]}'


def parse_topics(
    option: str, text: str, example: str, entries: Callable[[str, object], Iterable[tuple[K, V]]]
) -> dict[K, V]:
    """Read a JSON object with topics as keys.

    `entries` makes entries of the result from a topic and its value, or raises ValueError. The
    error of a wrong text shows `example`, a correct one.

    Raises:
        KafkaConfigError: The text is not such JSON, or has a name twice.
    """
    try:
        return {
            key: value
            for topic, mapped in _read_object(text, "the value").items()
            for key, value in entries(topic, mapped)
        }
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise not_as_expected(example, option, text, reason) from error


def partitions_of(topic: str, mapped: object) -> Iterable[tuple[TopicPartition, object]]:
    """The partitions of a topic and their values, from JSON such as `{"0":23,"1":-1}`.

    Raises:
        ValueError: `mapped` is not an object, or a key is not a partition.
    """
    for number, value in _as_object(mapped, f"the value of topic {json.dumps(topic)}").items():
        if not _PARTITION_NUMBER.fullmatch(number) or int(number) > _MAX_PARTITION:
            raise ValueError(
                f"{json.dumps(number)} of topic {json.dumps(topic)} is not a partition"
            )
        yield TopicPartition(topic, int(number)), value


def is_long(value: object, lowest: int) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from `lowest` to Java's largest long."""
    # isinstance would accept True.
    return type(value) is int and lowest <= value <= _MAX_LONG


def parse_assignment(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Read `{"topicA":[0,1],"topicB":[0,1]}`: at least one partition, sorted by topic and number.

    Raises:
        KafkaConfigError: The text is not such JSON, has a name twice, or has no partition.
    """
    assigned: dict[TopicPartition, None] = {}
    if text.strip().startswith("{"):
        assigned = parse_topics(option, text, _ASSIGNMENT_EXAMPLE, _read_partitions)
    if not assigned:
        raise KafkaConfigError(
            f"No topicpartitions to assign as specified value for option '{option}' is "
            f"'{_quote(text)}': write for example {_ASSIGNMENT_EXAMPLE}"
        )
    return tuple(sorted(assigned))


def offsets_to_log(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Offsets as JSON for Spark's offset log.

    Sorted by topic and partition, because Spark compares offsets as text.
    """
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return topics


def offsets_from_log(logged: object) -> dict[TopicPartition, int]:
    """Offsets from Spark's offset log, written by `offsets_to_log` or by Spark's own connector.

    Raises:
        KafkaConfigError: They are not Kafka offsets: the checkpoint belongs to another source.
    """
    try:
        return {
            topic_partition: _as_offset(offset, topic_partition)
            for topic, mapped in _as_object(logged, "the offset").items()
            for topic_partition, offset in partitions_of(topic, mapped)
        }
    except ValueError as error:
        raise KafkaConfigError(
            f"The checkpoint holds {_quote(json.dumps(logged))}, which are not offsets of Kafka "
            f"({error}): use a checkpointLocation of this query's own."
        ) from error


def _as_offset(value: object, topic_partition: TopicPartition) -> int:
    if not is_long(value, 0):
        raise ValueError(
            f"for {topic_partition} it holds {json.dumps(value)}, which is not an offset"
        )
    return value


def join_partitions(partitions: Iterable[TopicPartition]) -> str:
    """Partitions for an error text, sorted: `t-0, t-1, t-10`."""
    return ", ".join(map(str, sorted(partitions)))


def _read_object(text: str, what: str) -> dict[str, object]:
    return _as_object(json.loads(text, object_pairs_hook=_without_duplicates), what)


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    read: dict[str, object] = {}
    for name, value in pairs:
        if name in read:
            raise ValueError(f"{json.dumps(name)} occurs twice")
        read[name] = value
    return read


def _as_object(value: object, what: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")  # noqa: TRY004 -- the JSON's type
    return value


def _read_partitions(topic: str, numbers: object) -> Iterable[tuple[TopicPartition, None]]:
    if not isinstance(numbers, list):
        raise ValueError(f"the value of topic {json.dumps(topic)} is not a JSON array")  # noqa: TRY004
    seen = set()
    for number in numbers:
        if type(number) is not int or not 0 <= number <= _MAX_PARTITION:
            raise ValueError(
                f"{json.dumps(number)} of topic {json.dumps(topic)} is not a partition"
            )
        if number in seen:
            raise ValueError(f"partition {number} of topic {json.dumps(topic)} occurs twice")
        seen.add(number)
        yield TopicPartition(topic, number), None


def not_as_expected(example: str, option: str, text: str, reason: str) -> KafkaConfigError:
    """The error of an option whose text is not like the example."""
    return KafkaConfigError(
        f"Expected e.g. {example}, got {_quote(text)} as the value of option '{option}': {reason}"
    )


def _quote(text: str) -> str:
    line = " ".join(text.split())  # Spark may show only an error's last line
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}..."
