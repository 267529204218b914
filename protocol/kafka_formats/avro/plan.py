"""The plan to read payloads of one schema as the type of another: a tree, made once for the two.

`resolve` makes it; `decode` and `decode_one` read with it. Types are as in Spark's `from_avro`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa

from kafka_formats.arrow.decimals import ONE, Ratio

# The number of values of 64 bits above zero, which is the limit of numbers in another unit.
LONG_LIMIT: Final = 2**63


@dataclass(frozen=True, slots=True)
class Null:
    """No bytes; a null of the type."""

    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Number:
    """An int, long, float or double, as a number, a date or a timestamp.

    Attributes:
        type: The type to read as.
        written: Avro's name of the type that was written.
        ratio: How a written number becomes one in the unit of `type`; None for an integer that
            becomes a float or a double.
    """

    type: pa.DataType
    written: str
    ratio: Ratio | None = ONE


@dataclass(frozen=True, slots=True)
class Boolean:
    """A boolean."""

    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes or a string: of `size`, or with their length before them."""

    type: pa.DataType
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Symbol:
    """The number of a symbol; None for one that the reader does not know.

    `written` are the symbols of the writer, for errors.
    """

    type: pa.DataType
    symbols: Sequence[str | None]
    written: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Decimal:
    """A decimal in bytes, of `size` or with their length before them, written with another scale.

    `limit` is the least number that has too many digits.
    """

    type: pa.Decimal128Type
    size: int | None
    ratio: Ratio
    limit: int


@dataclass(frozen=True, slots=True)
class DecimalText:
    """A decimal that is wider than Arrow's, as a string with this scale."""

    type: pa.DataType
    size: int | None
    ratio: Ratio
    scale: int


@dataclass(frozen=True, slots=True)
class Step:
    """A written field: its name, and its place in the struct; None for one that is skipped."""

    name: str
    plan: AvroPlan
    place: int | None


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """A record; `constants` has the values of places that nothing was written for."""

    type: pa.StructType
    steps: Sequence[Step]
    constants: Mapping[int, Any]


@dataclass(frozen=True, slots=True)
class Items:
    """Blocks of items: an array, or a map with structs of key and value as items.

    Attributes:
        item_bytes: The least bytes of an item.
        most_empty: The most items, if they have no bytes: nothing else limits them.
    """

    type: pa.ListType | pa.MapType
    item: AvroPlan
    item_bytes: int
    most_empty: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The number of a branch, and its value; None for a branch that the reader has no place for.

    `names` has the names of the branches, for errors.
    """

    type: pa.DataType
    branches: Sequence[AvroPlan | None]
    names: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class BranchPlan:
    """A value that becomes one member of a struct, as Spark shows unions of several types."""

    type: pa.StructType
    member: int
    plan: AvroPlan


@dataclass(slots=True, eq=False)
class Again:
    """A record within itself. It is only skipped, however often it is there."""

    type: pa.DataType
    record: RecordPlan = field(init=False, repr=False)


AvroPlan: TypeAlias = (
    "Null | Number | Boolean | Bytes | Symbol | Decimal | DecimalText | RecordPlan | Items | Choice"
    " | BranchPlan | Again"
)

_NUMBER_BYTES: Final = {"int": 1, "long": 1, "float": 4, "double": 8}


def min_bytes(plan: AvroPlan) -> int:
    """The least bytes of a value. If they are 0, all values have none."""
    match plan:
        case Null():
            return 0
        case Number():
            return _NUMBER_BYTES[plan.written]
        case Bytes() | Decimal() | DecimalText():
            return 1 if plan.size is None else plan.size
        case RecordPlan():
            return sum(min_bytes(step.plan) for step in plan.steps)
        case BranchPlan():
            return min_bytes(plan.plan)
        case _:
            return 1
