"""Start and end positions of a read: a closed set of types, and how options spell them.

Pure: no I/O, no Spark, no offsets of a cluster; `batch` turns positions into offsets.
Source: `KafkaOffsetRangeLimit` and `KafkaSourceProvider` of Spark's Kafka connector; relative
positions are ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import (
    EARLIEST,
    LATEST,
    is_long,
    join_partitions,
    not_as_expected,
    parse_topics,
    partitions_of,
)


@dataclass(frozen=True, slots=True)
class Timestamp:
    """The first record with a timestamp of `ms` (since 1970) or later."""

    ms: int


@dataclass(frozen=True, slots=True)
class Ago:
    """The first record of the last `ms` milliseconds before the read is planned."""

    ms: int


@dataclass(frozen=True, slots=True)
class BeforeLatest:
    """`count` offsets before the end of the log, or the log's start if it holds fewer."""

    count: int


@dataclass(frozen=True, slots=True)
class Committed:
    """The committed offset of a consumer group, or the log's start if it has no offset."""


# Start or end of one partition: an offset, EARLIEST, LATEST, or one of these types.
Bound: TypeAlias = int | Timestamp | Ago | BeforeLatest | Committed

# Keys are partitions, or topics for all of their partitions.
Bounds: TypeAlias = Mapping[TopicPartition | str, Bound]


@dataclass(frozen=True, slots=True)
class Everywhere:
    """The same bound for all partitions."""

    bound: Bound

    def bound_of(self, topic_partition: TopicPartition) -> Bound:  # noqa: ARG002
        """The bound of a partition."""
        return self.bound


@dataclass(frozen=True, slots=True)
class SpecificOffsets:
    """A bound for each of these partitions or topics, and for no others."""

    bounds: Bounds

    def bound_of(self, topic_partition: TopicPartition) -> Bound:
        """The bound of a partition; KeyError if it has no bound."""
        if topic_partition.topic in self.bounds:
            return self.bounds[topic_partition.topic]
        return self.bounds[topic_partition]


@dataclass(frozen=True, slots=True)
class SpecificTimestamps:
    """A timestamp for each of these partitions, and for no others."""

    bounds: Bounds

    def bound_of(self, topic_partition: TopicPartition) -> Bound:
        """The timestamp of a partition; KeyError if it has no timestamp."""
        return self.bounds[topic_partition]


Position: TypeAlias = Everywhere | SpecificOffsets | SpecificTimestamps

FROM_EARLIEST: Final = Everywhere(EARLIEST)
TO_LATEST: Final = Everywhere(LATEST)

_WORDS: Final[Mapping[str, Bound]] = {"earliest": EARLIEST, "latest": LATEST, "group": Committed()}
_SHOWN_WORDS: Final = {word: word for word in _WORDS}
_FORMS: Final = "earliest, latest, latest-100, -10m, or such JSON"
_UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
# At most 18 digits, so that every number fits 64 bits.
_AGO: Final = re.compile(rf"-([0-9]{{1,9}})\s*({'|'.join(_UNITS_MS)})")
_BEFORE_LATEST: Final = re.compile(r"latest\s*-\s*([0-9]{1,18})")

_OFFSETS_EXAMPLE: Final = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
_TIMESTAMPS_EXAMPLE: Final = (
    '{"topicA":{"0":1760000000000,"1":1760000000000},"topicB":{"0":1760000000000}}'
)


def parse_position(option: str, text: str) -> Everywhere | SpecificOffsets:
    """Read `earliest`, `latest`, `group`, a relative position, or a JSON of offsets.

    Relative positions are `-10m` (the last ten minutes; also ms, s, h, d) and `latest-100` (a
    hundred offsets before the end). JSON spells them as strings, and -1 and -2 as numbers. Words
    may be in any case.

    Raises:
        KafkaConfigError: The text is not one of these.
    """
    bound = _read_word(text)
    if bound is not None:
        return Everywhere(bound)
    if not text.lstrip().startswith("{"):
        reason = did_you_mean(text.strip().lower(), _SHOWN_WORDS, otherwise=f"write {_FORMS}")
        raise not_as_expected(_OFFSETS_EXAMPLE, option, text, reason)
    return SpecificOffsets(parse_topics(option, text, _OFFSETS_EXAMPLE, _read_bounds))


def parse_timestamp(option: str, text: str) -> Everywhere:
    """Read milliseconds since 1970.

    Raises:
        KafkaConfigError: The text is not such a number.
    """
    digits = text.strip()
    if not re.fullmatch("[0-9]{1,19}", digits) or not is_long(int(digits), 0):
        raise KafkaConfigError(
            f"Expected a single long value, got {text} as the value of option '{option}': write "
            "milliseconds since 1970, for example 1760000000000."
        )
    return Everywhere(Timestamp(int(digits)))


def parse_timestamps(option: str, text: str) -> SpecificTimestamps:
    """Read `{"topicA":{"0":1760000000000}}`: topic to partition to milliseconds since 1970.

    Raises:
        KafkaConfigError: The text is not such JSON, or has a name twice.
    """
    return SpecificTimestamps(parse_topics(option, text, _TIMESTAMPS_EXAMPLE, _read_timestamps))


def check_limits(starting: Position, ending: Position) -> None:
    """Refuse two maps of the same kind that contradict each other, before any request is sent.

    The offsets of EARLIEST, LATEST and relative positions are not known here.
    Source: `KafkaSourceProvider.checkOffsetLimitValidity` of Spark's connector.

    Raises:
        KafkaConfigError: The maps name different partitions, or a start is after its end.
    """
    if isinstance(starting, Everywhere) or type(starting) is not type(ending):
        return
    noun, options = _KINDS[type(starting)]
    different = _named_once(starting.bounds, ending.bounds)
    if different:
        raise KafkaConfigError(
            f"The specified start {noun} and end {noun} should have the same topic-partitions: "
            f"name {join_partitions(different)} in both {' and '.join(options)}, or in neither."
        )
    for key, bound in starting.bounds.items():
        start, end = _comparable(bound), _comparable(ending.bounds.get(key, LATEST))
        if (
            isinstance(key, TopicPartition)
            and start is not None
            and end is not None
            and start > end
        ):
            raise KafkaConfigError(
                f"The specified start {noun} {start} is greater than the end {noun} {end} for "
                f"topic {key.topic} partition {key.partition}: lower {options[0]} or raise "
                f"{options[1]}."
            )


def bounds_of(position: Position) -> Collection[Bound]:
    """Every bound of a position."""
    return [position.bound] if isinstance(position, Everywhere) else position.bounds.values()


def has_bound_for(position: Position, topic_partition: TopicPartition) -> bool:
    """Whether a position has a bound for a partition."""
    if isinstance(position, Everywhere):
        return True
    return topic_partition in position.bounds or topic_partition.topic in position.bounds


def needs_group_offsets(position: Position) -> bool:
    """Whether any bound of a position is a consumer group's committed offset."""
    return any(isinstance(bound, Committed) for bound in bounds_of(position))


_KINDS: Final = {
    SpecificOffsets: ("offset", ("startingOffsets", "endingOffsets")),
    SpecificTimestamps: ("timestamp", ("startingOffsetsByTimestamp", "endingOffsetsByTimestamp")),
}


def _named_once(starting: Bounds, ending: Bounds) -> list[TopicPartition]:
    """The partitions that one side names and the other does not, not even by their topic."""
    whole = {key for key in (*starting, *ending) if isinstance(key, str)}
    once = starting.keys() ^ ending.keys()
    return [key for key in once if isinstance(key, TopicPartition) and key.topic not in whole]


def _comparable(bound: Bound) -> int | None:
    """The bound as a number, if it is an offset or a timestamp."""
    value = bound.ms if isinstance(bound, Timestamp) else bound
    return value if isinstance(value, int) and value >= 0 else None


def _read_word(text: str) -> Bound | None:
    word = text.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    if match := _AGO.fullmatch(word):
        return Ago(int(match[1]) * _UNITS_MS[match[2]])
    if match := _BEFORE_LATEST.fullmatch(word):
        return BeforeLatest(int(match[1]))
    return None


def _read_bounds(topic: str, mapped: object) -> Iterable[tuple[TopicPartition | str, Bound]]:
    if isinstance(mapped, str):  # SPARK-58774
        word = _read_word(mapped)
        if word is None:
            raise ValueError(
                f"topic {json.dumps(topic)} maps to {json.dumps(mapped)}, which is neither "
                f'"earliest" nor "latest", "latest-100" or "-10m"{_meant(mapped)}'
            )
        yield topic, word
        return
    for topic_partition, value in partitions_of(topic, mapped):
        bound = _read_word(value) if isinstance(value, str) else value
        if isinstance(bound, Ago | BeforeLatest | Committed) or is_long(bound, EARLIEST):
            yield topic_partition, bound
        else:
            raise ValueError(
                f"for {topic_partition} it holds {json.dumps(value)}, which is neither an offset "
                f"nor -1 (latest) nor -2 (earliest){_meant(value)}"
            )


def _meant(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return did_you_mean(value.strip().lower(), _SHOWN_WORDS, before="; ")


def _read_timestamps(topic: str, mapped: object) -> Iterable[tuple[TopicPartition | str, Bound]]:
    for topic_partition, value in partitions_of(topic, mapped):
        if not is_long(value, 0):
            raise ValueError(
                f"for {topic_partition} it holds {json.dumps(value)}, which is not a number of "
                "milliseconds since 1970"
            )
        yield topic_partition, Timestamp(value)
