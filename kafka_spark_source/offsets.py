"""Offsets of partitions: where a read starts and ends, and the JSON that options spell it in.

Pure: no I/O, no Spark, nothing that depends on what a cluster holds (that is `planning`'s).
Sources: `JsonUtils` and `KafkaOffsetRangeLimit` of Spark's Kafka connector. Where its JSON parser
lets something pass that cannot be meant (a partition named twice, an offset of 1.5 or -7), this
one refuses it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition

# The timestamps of ListOffsets that stand for the two ends of a log; Spark's JSON uses them too.
LATEST: Final = -1
EARLIEST: Final = -2

_MAX_OFFSET: Final = 2**63 - 1
_MAX_PARTITION: Final = 2**31 - 1
_LONGEST_QUOTE: Final = 500
_PARTITION_NUMBER: Final = re.compile("0|[1-9][0-9]{0,9}")

_ASSIGNMENT_EXAMPLE: Final = '{"topicA":[0,1],"topicB":[0,1]}'
_OFFSETS_EXAMPLE: Final = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'


@dataclass(frozen=True, slots=True)
class EarliestPosition:
    """The first record that each partition still holds."""

    def __str__(self) -> str:
        return "earliest"

    def offset_of(self, topic_partition: TopicPartition) -> int:  # noqa: ARG002
        """EARLIEST, for every partition."""
        return EARLIEST


@dataclass(frozen=True, slots=True)
class LatestPosition:
    """The end of each partition, as it is when the read is planned."""

    def __str__(self) -> str:
        return "latest"

    def offset_of(self, topic_partition: TopicPartition) -> int:  # noqa: ARG002
        """LATEST, for every partition."""
        return LATEST


@dataclass(frozen=True, slots=True)
class SpecificOffsets:
    """An offset, EARLIEST or LATEST for each partition, and for no others."""

    offsets: Mapping[TopicPartition, int]

    def __str__(self) -> str:
        return offsets_to_json(self.offsets)

    def offset_of(self, topic_partition: TopicPartition) -> int:
        """The offset, EARLIEST or LATEST; KeyError for a partition that is not named."""
        return self.offsets[topic_partition]


Position: TypeAlias = EarliestPosition | LatestPosition | SpecificOffsets

_NAMED_POSITIONS: Final[Mapping[str, Position]] = {
    str(position): position for position in (EarliestPosition(), LatestPosition())
}


def parse_position(option: str, text: str) -> Position:
    """Read `earliest`, `latest` (in any case) or a JSON of offsets.

    Args:
        option: The option's name, for the error.
        text: Its value.

    Raises:
        KafkaConfigError: It is none of the three.
    """
    named = _NAMED_POSITIONS.get(text.strip().lower())
    return named if named is not None else SpecificOffsets(parse_offsets(option, text))


def parse_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    """Read `{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}`: topic to partition to next offset.

    Args:
        option: The option's name, for the error.
        text: Its value.

    Raises:
        KafkaConfigError: It is no such JSON, or names something twice.
    """
    try:
        return {
            topic_partition: offset
            for topic, partitions in _read_object(text, "the value").items()
            for topic_partition, offset in _read_offsets(topic, partitions)
        }
    except (ValueError, RecursionError) as error:
        raise _not_as_expected(_OFFSETS_EXAMPLE, option, text, error) from error


def parse_assignment(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Read `{"topicA":[0,1],"topicB":[0,1]}`: the partitions to read of each topic.

    Args:
        option: The option's name, for the error.
        text: Its value.

    Returns:
        At least one partition, sorted by topic and number.

    Raises:
        KafkaConfigError: It is no such JSON, names something twice, or nothing at all.
    """
    nothing = f"No topicpartitions to assign as specified value for option '{option}' is "
    if not text.strip().startswith("{"):
        raise KafkaConfigError(
            f"{nothing}'{_quote(text)}': write for example {_ASSIGNMENT_EXAMPLE}"
        )
    try:
        assigned = [
            topic_partition
            for topic, numbers in _read_object(text, "the value").items()
            for topic_partition in _read_partitions(topic, numbers)
        ]
    except (ValueError, RecursionError) as error:
        raise _not_as_expected(_ASSIGNMENT_EXAMPLE, option, text, error) from error
    if not assigned:
        raise KafkaConfigError(
            f"{nothing}'{_quote(text)}': write for example {_ASSIGNMENT_EXAMPLE}"
        )
    return tuple(sorted(assigned))


def offsets_to_json(offsets: Mapping[TopicPartition, int]) -> str:
    """Write offsets as Spark's Python runner writes them, `{"t": {"0": 4, "10": 7}}`.

    Spark compares offsets as text, so topics and partition numbers always come sorted.
    """
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(topics)


def check_offset_limits(starting: Position, ending: Position) -> None:
    """Refuse two maps that contradict each other, before any broker is asked.

    Where one side is no map, or an offset is EARLIEST or LATEST, only the cluster can tell.
    Source: `KafkaSourceProvider.checkOffsetLimitValidity` of Spark's connector.

    Raises:
        KafkaConfigError: The maps name different partitions, or a start is behind its end.
    """
    if not (isinstance(starting, SpecificOffsets) and isinstance(ending, SpecificOffsets)):
        return
    different = starting.offsets.keys() ^ ending.offsets.keys()
    if different:
        raise KafkaConfigError(
            "The specified start offset and end offset should have the same topic-partitions: "
            f"name {join_partitions(different)} in both startingOffsets and endingOffsets, or in "
            "neither."
        )
    for topic_partition, start in sorted(starting.offsets.items()):
        end = ending.offsets[topic_partition]
        if start > end >= 0:
            raise KafkaConfigError(
                f"The specified start offset {start} is greater than the end offset {end} for "
                f"topic {topic_partition.topic} partition {topic_partition.partition}: lower "
                "startingOffsets or raise endingOffsets."
            )


def join_partitions(partitions: Iterable[TopicPartition]) -> str:
    """Name partitions in a sentence, sorted: `t-0, t-1, t-10`."""
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
        raise ValueError(f"{what} is no JSON object")  # noqa: TRY004 -- the text's type, not ours
    return value


def _read_offsets(topic: str, partitions: object) -> Iterable[tuple[TopicPartition, int]]:
    for number, offset in _as_object(partitions, f"what topic {json.dumps(topic)} maps to").items():
        if not _PARTITION_NUMBER.fullmatch(number) or int(number) > _MAX_PARTITION:
            raise ValueError(f"{json.dumps(number)} of topic {json.dumps(topic)} is no partition")
        topic_partition = TopicPartition(topic, int(number))
        # By type, because True is an int to isinstance.
        if type(offset) is not int or not EARLIEST <= offset <= _MAX_OFFSET:
            raise ValueError(
                f"for {topic_partition} it holds {json.dumps(offset)}, which is neither an offset "
                "nor -1 (latest) nor -2 (earliest)"
            )
        yield topic_partition, offset


def _read_partitions(topic: str, numbers: object) -> Iterable[TopicPartition]:
    if not isinstance(numbers, list):
        raise ValueError(f"what topic {json.dumps(topic)} maps to is no JSON array")  # noqa: TRY004
    seen = set()
    for number in numbers:
        if type(number) is not int or not 0 <= number <= _MAX_PARTITION:
            raise ValueError(f"{json.dumps(number)} of topic {json.dumps(topic)} is no partition")
        if number in seen:
            raise ValueError(f"partition {number} of topic {json.dumps(topic)} occurs twice")
        seen.add(number)
        yield TopicPartition(topic, number)


def _not_as_expected(example: str, option: str, text: str, error: Exception) -> KafkaConfigError:
    reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
    return KafkaConfigError(
        f"Expected e.g. {example}, got {_quote(text)} as the value of option '{option}': {reason}"
    )


def _quote(text: str) -> str:
    line = " ".join(text.split())  # Spark may show only the last line of an error
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}..."
