"""Kafka Connect's semantic types: the name that its schemas give to a type, and parameters.

A `long` that is named `io.debezium.time.MicroTimestamp` is a moment in microseconds. Converters of
Connect keep the names in the schemas that they write; formats find them there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, path_of


class Semantic(NamedTuple):
    """The semantic type of a value.

    Attributes:
        name: As in Connect's schema.
        parameters: The parameters there, for example the scale of a decimal.
    """

    name: str
    parameters: Mapping[str, str]


# The names of the fields that lead to a part; items of lists and values of maps as in `errors`.
Path: TypeAlias = tuple[str, ...]
# The path of each part -> its semantic type; None for a part that is only what its type is.
Semantics: TypeAlias = Mapping[Path, Semantic | None]


def semantic_in(name: Any, parameters: Any) -> Semantic | None:
    """The semantic type of a schema's own name and parameters; None if it has no name."""
    if not isinstance(name, str):
        return None
    given = parameters if isinstance(parameters, dict) else {}
    return Semantic(name, {str(key): str(each) for key, each in given.items()})


class ConnectType(NamedTuple):
    """A type as payloads have it, with the semantic types of its parts."""

    type: pa.DataType
    semantics: Semantics


def type_at(data_type: pa.DataType, path: Path) -> pa.DataType | None:
    """The type of the part of a type; None if it has no such part."""
    for name in path:
        if pa.types.is_struct(data_type) and data_type.get_field_index(name) >= 0:
            data_type = data_type.field(name).type
        elif pa.types.is_list(data_type) and name == ITEMS:
            data_type = data_type.value_type
        elif pa.types.is_map(data_type) and name == VALUES:
            data_type = data_type.item_type
        else:
            return None
    return data_type


def shown(path: Path) -> str:
    """A path as errors name it."""
    return reduce(path_of, path, "")
