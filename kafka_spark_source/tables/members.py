"""Which types the members of unions are that a table has: a property of the table. Pure.

A union of several types is a struct of `member0`, `member1`. A new version of the schema may have
the types in another order: then the same column would have values of another type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

MEMBERS: Final = "pykafka.unions"
"""The property."""

_NUMBERS: Final = {"int", "long", "float", "double"}

Members: TypeAlias = Mapping[str, Sequence[str]]
"""Path of a struct in the records -> the types of its fields."""


class Changed(NamedTuple):
    """A union whose members are other types than the table's."""

    path: str
    before: Sequence[str]
    now: Sequence[str]


def as_property(members: Members) -> dict[str, str]:
    """The property; none without unions."""
    return {MEMBERS: json.dumps(members, sort_keys=True)} if members else {}


def merged_members(noted: Mapping[str, str], members: Members) -> tuple[Members, Changed | None]:
    """The members of a table's properties and of a schema; and a union that contradicts."""
    before = _read(noted.get(MEMBERS, ""))
    for path, now in members.items():
        known = before.get(path, ())
        if not all(map(_may_be, known, now)):
            return before, Changed(path, known, now)
    longest = {path: max(before.get(path, ()), now, key=len) for path, now in members.items()}
    return {**before, **longest}, None


def _may_be(before: str, now: str) -> bool:
    """Whether a member is the same type, or a wider or narrower number."""
    return before == now or {before, now} <= _NUMBERS


def _read(text: str) -> Members:
    """The members of a property; somebody else may have altered it."""
    try:
        read = json.loads(text)
        return {str(path): [*map(str, types)] for path, types in read.items()}
    except (AttributeError, TypeError, ValueError):
        return {}
