"""What the suite has to know of a format: its capabilities, and how others write and read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

Row = Mapping[str, Any]
NAME: Final = "Order"
"""The name of the record, the message or the title."""


@dataclass(frozen=True)
class Form:
    """A format. Columns are described by Arrow types, of which it makes a schema.

    Attributes:
        name: The option `value.format`, and what tells it apart from others of that format.
        kind: In a registry; None if no registry has its schemas.
        schema: The text of the schema of columns; a name may be given.
        encode: A row as an encoder that is not ours writes it.
        parse: What a decoder that is not ours reads: equal for equal rows.
        read_as: The type that columns are read as: the same, but for what can be null.
        types: The types that it has, of `kinds.KINDS`.
        tree: A schema of the long `id`, and of `next`, which is the same again or null; empty if
            there is none.
        cut: What is said of a payload of `ANN` without its last byte.
        not_text: The same of one whose `who` is not UTF-8.
        misfit: What is said of a payload whose schema has a text as `id`; empty if nothing is.
        null_item: What is said of a null in `tags`, a list of texts that are not null; empty if it
            is written.
        suffix: The bytes between the id of a schema and a payload.
        needs_written_schema: Whether a payload is read with the schema that it was written with.
        resolves: Whether the schema of a payload must have each column that has no default.
        needs_no_schema: Whether the wanted type is schema enough.
        derived: The name of a schema that is made of a column; None if none is made.
        has_null_items: Whether items of lists and values of maps can be null.
        has_lists_in_lists: Whether a list can be an item of a list or a value of a map.
    """

    name: str
    kind: str | None
    schema: Callable[..., str]
    encode: Callable[[pa.StructType, Row], bytes]
    parse: Callable[[pa.StructType, bytes], Any]
    read_as: Callable[[pa.StructType], pa.StructType]
    types: frozenset[str]
    tree: str
    cut: str
    not_text: str
    misfit: str = ""
    null_item: str = ""
    suffix: bytes = b""
    needs_written_schema: bool = False
    resolves: bool = False
    needs_no_schema: bool = False
    derived: str | None = ""
    has_null_items: bool = True
    has_lists_in_lists: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def format(self) -> str:
        """The option `value.format`."""
        return self.name.partition(" ")[0]


def as_dicts(to: pa.DataType, value: Any) -> Any:
    """A value with dicts for the pairs of maps."""
    if value is None:
        return None
    if pa.types.is_struct(to):
        return {
            each.name: as_dicts(each.type, value[each.name]) for each in to if each.name in value
        }
    if pa.types.is_list(to):
        return [as_dicts(to.value_type, each) for each in value]
    if pa.types.is_map(to):
        return {key: as_dicts(to.item_type, each) for key, each in value}
    return value
