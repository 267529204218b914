"""What a read makes of headers, and what the headers of a dead letter tell. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

Header = TypeVar("Header", bound=tuple[str | bytes, bytes | None])
Headers = tuple[tuple[str, bytes | None], ...]

_PLACE: Final = tuple(f"__connect.errors.{name}" for name in ("topic", "partition", "offset"))
_TIMESTAMP: Final = "__pykafka.errors.timestamp"


class Origin(NamedTuple):
    """Where the record of a dead letter was, its own headers, and its timestamp in ms."""

    topic: str
    partition: int
    offset: int
    headers: Headers
    timestamp: int


def by_name(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Headers as a column of the type map has them: of several with one name the last."""
    last = {name: number for number, (name, _) in enumerate(headers)}
    return tuple(headers[number] for number in sorted(last.values()))


def origin_of(headers: Headers) -> Origin:
    """What the headers of a dead letter tell: those that were added begin with the topic.

    The record itself may have had such headers.

    Raises:
        ValueError: It is not a dead letter.
    """
    names = [name for name, _ in headers]
    if _PLACE[0] not in names:
        raise ValueError(f"a dead letter without the header {_PLACE[0]}: {names}")
    first = len(names) - 1 - names[::-1].index(_PLACE[0])
    added = dict(headers[first:])
    topic, partition, offset = ((added.get(each) or b"-1").decode() for each in _PLACE)
    timestamp = int(added.get(_TIMESTAMP) or b"-2")
    return Origin(topic, int(partition), int(offset), headers[:first], timestamp)
