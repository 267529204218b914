"""The shape of a type, in a JSON Schema or a DDL alike, one level at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape(Generic[T]):
    """One of four: a value without parts, a struct, an array or a map with string keys.

    Attributes:
        leaf: The type of a value without parts.
        fields: The fields of a struct.
        items: The items of an array.
        values: The values of a map.
        left_open: The kinds of values for which other types fit as well, as the schema does not
            give one: by default they are read as a string, their JSON text, or as a map.
    """

    leaf: pa.DataType | None = None
    fields: Mapping[str, T] | None = None
    items: T | None = None
    values: T | None = None
    left_open: frozenset[str] = frozenset()


class KnownType(Protocol[T]):
    """The type that a schema has.

    Attributes:
        root: All of it.
    """

    root: T

    def shape(self, part: T, path: str) -> Shape[T]:
        """What a part is. Raises SchemaError, which names the field of the path."""

    def type_of(self, part: T, path: str) -> pa.DataType:
        """The whole type of a part. Raises SchemaError, which names the field of the path."""


class KnownArrowType:
    """A type that is known as a whole."""

    def __init__(self, root: pa.DataType) -> None:
        self.root = root

    def shape(self, part: pa.DataType, _path: str) -> Shape[pa.DataType]:
        """What a part is."""
        if pa.types.is_struct(part):
            return Shape(fields={field.name: field.type for field in part})
        if pa.types.is_list(part):
            return Shape(items=part.value_type)
        if pa.types.is_map(part) and pa.types.is_string(part.key_type):
            return Shape(values=part.item_type)
        return Shape(leaf=part)

    def type_of(self, part: pa.DataType, _path: str) -> pa.DataType:
        """The part itself."""
        return part


def kinds_of(data_type: pa.DataType) -> frozenset[str]:
    """The kinds of JSON's values that a type is written as, except null."""
    return next((kinds for matches, kinds in _KINDS if matches(data_type)), frozenset())


_NUMBER: Final = frozenset({"integer", "fraction"})
_STRING: Final = frozenset({"string"})
_KINDS: Final[tuple[tuple[Callable[[pa.DataType], bool], frozenset[str]], ...]] = (
    (pa.types.is_struct, frozenset({"object"})),
    (pa.types.is_map, frozenset({"object"})),
    (pa.types.is_list, frozenset({"array"})),
    (pa.types.is_boolean, frozenset({"boolean"})),
    (pa.types.is_signed_integer, frozenset({"integer"})),
    (pa.types.is_floating, _NUMBER),
    (lambda each: pa.types.is_decimal(each) and each.scale == 0, frozenset({"integer"})),
    (pa.types.is_decimal, _NUMBER),
    (pa.types.is_string, _STRING),
    (pa.types.is_binary, _STRING),
    (pa.types.is_date32, _STRING),
    (pa.types.is_timestamp, _STRING),
)
