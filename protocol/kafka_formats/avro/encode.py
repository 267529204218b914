"""Arrow columns -> payloads of Avro, all rows at once.

Each value of a schema becomes an element of a binary array. A record joins its fields' elements.
Lists and nullable values need no copy: their elements are other slices of the same bytes.

Source: Apache Avro 1.12, "Binary Encoding"; Spark's `to_avro` for types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import bounds_of, fields_of
from kafka_formats.arrow.decimals import (
    MAX_BYTES,
    NOT_A_DECIMAL,
    cast_decimals,
    does_not_fit,
    scaled_of,
    size_of,
    with_scale,
)
from kafka_formats.avro.logical import Logical
from kafka_formats.avro.schema import (
    Array,
    Enum,
    Fixed,
    Map,
    Primitive,
    RecordSchema,
    Recursive,
    Schema,
    Union,
    kind_of,
)
from kafka_formats.avro.types import arrow_type, member_name, members_of, raw_branches
from kafka_formats.errors import ITEMS, VALUES, PayloadError, SchemaError, about, path_of
from kafka_protocol.columnar.arrays.arrow_memory import (
    array_of_bytes,
    bools_of,
    is_valid,
    numbers_of,
)
from kafka_protocol.columnar.arrays.slices import lengths, varint_array
from kafka_protocol.columnar.writing.joining import Field, join_fields

Longs = npt.NDArray[np.int64]

_DECIMAL_BYTES: Final = 16
_MILLIS: Final = frozenset({"timestamp-millis", "local-timestamp-millis"})


def encode(schema: Schema, values: pa.Array) -> pa.BinaryArray:
    """Encode values, one payload each.

    Args:
        schema: The writer's schema.
        values: Structs for records, with fields of the same names in any order; lists of items;
            maps with strings as keys; a struct with a member for each type of a wide union.

    Raises:
        SchemaError: The type of a column does not fit. Names the field.
        PayloadError: A value does not fit. Names the field.
    """
    return _encode(schema, values, "")


def _encode(schema: Schema, values: pa.Array, path: str) -> pa.BinaryArray:
    if values.null_count and kind_of(schema) not in {"union", "null"}:
        raise PayloadError(path, f"a null cannot be written as {kind_of(schema)}")
    return _ENCODERS[type(schema)](schema, values, path)


def _joined(pieces: Sequence[pa.Array], count: int) -> pa.BinaryArray:
    """The pieces of each row, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    if not pieces or not count:
        return _binary(np.zeros(count + 1, dtype=np.int32), b"")
    rows = np.arange(count)
    data, starts = join_fields(count, [Field(piece, rows) for piece in pieces])
    return _binary(starts, data)


def _binary(offsets: npt.NDArray[Any], data: Any) -> pa.BinaryArray:
    narrow = np.ascontiguousarray(offsets, dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(offsets) - 1, [None, pa.py_buffer(narrow), pa.py_buffer(data)]
    )


def _refuse_unless(fits: bool, schema: Schema, values: pa.Array, path: str) -> None:
    if not fits:
        raise SchemaError(about(path, f"{values.type} cannot be written as {kind_of(schema)}"))


# --- Values without parts ------------------------------------------------------------------------


def _primitive(schema: Primitive, values: pa.Array, path: str) -> pa.BinaryArray:
    fits, write = _PRIMITIVES[schema.name]
    _refuse_unless(fits(schema, values.type), schema, values, path)
    return write(schema, values, path)


def _null(_schema: Primitive, values: pa.Array, _path: str) -> pa.BinaryArray:
    return _joined([], len(values))


def _boolean(_schema: Primitive, values: pa.Array, _path: str) -> pa.BinaryArray:
    return _of_size(bools_of(values).view(np.uint8))


def _integer(schema: Primitive, values: pa.Array, _path: str) -> pa.BinaryArray:
    physical = values.cast(pa.int32()) if pa.types.is_date(values.type) else values
    numbers = numbers_of(physical.cast(pa.int64()))
    is_millis = schema.logical is not None and schema.logical.name in _MILLIS
    return varint_array(numbers // 1_000 if is_millis else numbers)


def _float(_schema: Primitive, values: pa.Array, _path: str) -> pa.BinaryArray:
    return _of_size(numbers_of(values.cast(pa.float32())).astype("<f4"))


def _double(_schema: Primitive, values: pa.Array, _path: str) -> pa.BinaryArray:
    return _of_size(numbers_of(values.cast(pa.float64())).astype("<f8"))


def _of_size(numbers: npt.NDArray[Any]) -> pa.BinaryArray:
    size = numbers.itemsize
    offsets = np.arange(0, size * len(numbers) + 1, size)
    return _binary(offsets, np.ascontiguousarray(numbers).view(np.uint8))


def _bytes(schema: Primitive, values: pa.Array, path: str) -> pa.BinaryArray:
    if wide := _wide(schema):
        values = _wide_decimals(wide, values, None, path)
    elif pa.types.is_decimal(values.type):
        values = _decimals(schema, values, path)
    binary = values.cast(pa.binary())
    return _joined([varint_array(lengths(binary)), binary], len(binary))


def _fixed(schema: Fixed, values: pa.Array, path: str) -> pa.BinaryArray:
    wide, is_decimal = _wide(schema), _is_decimal(schema, values.type)
    fits = is_decimal or pa.types.is_binary(values.type) or (wide and _is_number(values.type))
    _refuse_unless(bool(fits), schema, values, path)
    binary = _decimals(schema, values, path) if is_decimal else values
    if wide:
        binary = _wide_decimals(wide, values, schema.size, path)
    if (lengths(binary) != schema.size).any():
        raise PayloadError(path, f"a value of {schema.name} does not have {schema.size} bytes")
    return binary


def _enum(schema: Enum, values: pa.Array, path: str) -> pa.BinaryArray:
    _refuse_unless(pa.types.is_string(values.type), schema, values, path)
    symbols = array_of_bytes([*map(str.encode, schema.symbols)], pa.string())
    number = pc.index_in(values, symbols)
    if number.null_count:
        raise PayloadError(path, f"a value is not a symbol of {schema.name}")
    return varint_array(numbers_of(number).astype(np.int64))


def _decimals(schema: Primitive | Fixed, values: pa.Array, path: str) -> pa.BinaryArray:
    """Big-endian numbers, of the size of a fixed type or as short as they can be."""
    to = arrow_type(schema)
    decimals = cast_decimals(values, to)
    if decimals is None:
        raise PayloadError(path, f"a decimal {does_not_fit(to.precision, to.scale)}")
    digits = numbers_of(decimals).view(np.uint8).reshape(-1, _DECIMAL_BYTES)[:, ::-1]
    size = np.full(len(decimals), schema.size if isinstance(schema, Fixed) else 0)
    if isinstance(schema, Primitive):
        size = _shortest(digits)
    elif schema.size > _DECIMAL_BYTES:
        sign = np.where(digits[:, :1] >= 0x80, 0xFF, 0).astype(np.uint8)
        digits = np.hstack([sign.repeat(schema.size - _DECIMAL_BYTES, axis=1), digits])
    used = np.arange(digits.shape[1]) >= digits.shape[1] - size[:, None]
    return _binary(np.append(0, np.cumsum(size)), np.ascontiguousarray(digits[used]))


def _wide(schema: Primitive | Fixed) -> Logical | None:
    """The logical type of decimals that are wider than Arrow's."""
    return schema.logical if schema.logical is not None and schema.logical.is_text else None


def _is_number(to: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(to) or pa.types.is_string(to))


def _wide_decimals(
    logical: Logical, values: pa.Array, size: int | None, path: str
) -> pa.BinaryArray:
    """Big-endian numbers of decimals or of their texts, one by one; binary as it is."""
    if pa.types.is_binary(values.type):
        sizes = lengths(values)
        if ((sizes == 0) | (sizes > MAX_BYTES)).any():
            raise PayloadError(path, NOT_A_DECIMAL)
        return values
    rows = []
    for each in values.to_pylist():
        value = scaled_of(each)
        if value is None:
            raise PayloadError(path, NOT_A_DECIMAL)
        number = with_scale(value, logical.scale, logical.precision)
        if number is None or (size is not None and size_of(number) > size):
            reason = does_not_fit(logical.precision, logical.scale)
            raise PayloadError(path, f"a decimal {reason}")
        rows.append(number.to_bytes(size or size_of(number), "big", signed=True))
    return array_of_bytes(rows)


def _shortest(digits: npt.NDArray[np.uint8]) -> Longs:
    """The least bytes that hold each number and its sign."""
    filling = np.where(digits[:, :1] >= 0x80, 0xFF, 0)
    differs = digits != filling
    first = np.where(differs.any(axis=1), differs.argmax(axis=1), _DECIMAL_BYTES - 1)
    # The first byte that differs may have the bit of the other sign.
    flips = (digits[np.arange(len(digits)), first] ^ filling[:, 0]) >= 0x80
    sizes: Longs = _DECIMAL_BYTES - first + flips
    return sizes


def _is_decimal(schema: Primitive | Fixed, to: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(arrow_type(schema)) and pa.types.is_decimal(to))


def _fits_integer(schema: Primitive, to: pa.DataType) -> bool:
    name = schema.logical.name if schema.logical else ""
    if name == "date":
        return bool(pa.types.is_date32(to))
    if "timestamp" in name and not name.endswith("nanos"):
        return bool(pa.types.is_timestamp(to)) and to.unit == "us"
    limit = 32 if schema.name == "int" else 64
    return bool(pa.types.is_signed_integer(to)) and to.bit_width <= limit


def _fits_float(schema: Primitive, to: pa.DataType) -> bool:
    limit = 32 if schema.name == "float" else 64
    return bool(pa.types.is_floating(to)) and to.bit_width <= limit


def _fits_bytes(schema: Primitive, to: pa.DataType) -> bool:
    if _wide(schema):
        return _is_number(to) or bool(pa.types.is_binary(to))
    is_decimal = pa.types.is_decimal(arrow_type(schema))
    return bool(pa.types.is_decimal(to) if is_decimal else pa.types.is_binary(to))


_Fits = Callable[[Primitive, pa.DataType], bool]
_Write = Callable[[Primitive, pa.Array, str], pa.BinaryArray]
_PRIMITIVES: Final[Mapping[str, tuple[_Fits, _Write]]] = {
    "null": (lambda _, to: pa.types.is_null(to), _null),
    "boolean": (lambda _, to: pa.types.is_boolean(to), _boolean),
    "int": (_fits_integer, _integer),
    "long": (_fits_integer, _integer),
    "float": (_fits_float, _float),
    "double": (_fits_float, _double),
    "bytes": (_fits_bytes, _bytes),
    "string": (lambda _, to: pa.types.is_string(to), _bytes),
}


# --- Values with parts ---------------------------------------------------------------------------


def _record(schema: RecordSchema, values: pa.Array, path: str) -> pa.BinaryArray:
    _refuse_unless(pa.types.is_struct(values.type), schema, values, path)
    names = [field.name for field in values.type]
    wanted = [field.name for field in schema.fields]
    where = f" in {path!r}" if path else ""
    if unknown := sorted(set(names) - set(wanted)):
        raise SchemaError(f"the schema has no field {unknown[0]!r}{where}")
    if missing := [name for name in wanted if name not in names]:
        raise SchemaError(f"the column has no field {missing[0]!r}{where}")
    columns = fields_of(values)
    pieces = [
        _encode(field.schema, columns[field.name], path_of(path, field.name))
        for field in schema.fields
    ]
    return _joined(pieces, len(values))


def _array(schema: Array, values: pa.Array, path: str) -> pa.BinaryArray:
    _refuse_unless(pa.types.is_list(values.type), schema, values, path)
    bounds = bounds_of(values)
    return _blocks(
        bounds, _encode(schema.items, _within(bounds, values.values), path_of(path, ITEMS))
    )


def _map(schema: Map, values: pa.Array, path: str) -> pa.BinaryArray:
    _refuse_unless(pa.types.is_map(values.type), schema, values, path)
    bounds = bounds_of(values)
    keys = _encode(Primitive("string"), _within(bounds, values.keys), path_of(path, VALUES))
    items = _encode(schema.values, _within(bounds, values.items), path_of(path, VALUES))
    return _blocks(bounds, _joined([keys, items], len(keys)))


def _within(bounds: Longs, items: pa.Array) -> pa.Array:
    """The items of lists with these bounds: a slice of lists has a part of the items."""
    return items.slice(bounds[0], bounds[-1] - bounds[0])


def _blocks(bounds: Longs, items: pa.BinaryArray) -> pa.BinaryArray:
    """One block of items for each list that has any, and the end of blocks."""
    count = np.diff(bounds)
    body = _binary(bounds_of(items)[bounds - bounds[0]], items.buffers()[2] or b"")
    end = _of_size(np.zeros(len(count), dtype=np.uint8))
    # The number 0 is the end of blocks.
    header = _where(count > 0, varint_array(count[count > 0]))
    return _joined([header, body, end], len(count))


def _union(schema: Union, values: pa.Array, path: str) -> pa.BinaryArray:
    """The number of the branch, and its value."""
    kinds = [kind_of(branch) for branch in schema.branches]
    members = members_of(schema)
    if values.null_count and "null" not in kinds:
        raise PayloadError(path, "a null cannot be written as a union without null")
    number = np.full(len(values), kinds.index("null") if "null" in kinds else -1, dtype=np.int64)
    pieces = []
    columns = _members(members, schema, values, path) if members else [values]
    for branch, column in zip(members or _single(schema), columns, strict=True):
        is_given = is_valid(column)
        number[is_given] = kinds.index(kind_of(branch))
        pieces.append(_where(is_given, _encode(branch, column.drop_null(), path)))
    if (number < 0).any():
        raise PayloadError(path, "a union has no value")
    return _joined([varint_array(number), *pieces], len(values))


def _single(schema: Union) -> list[Schema]:
    """The widest of the types that are shown as one; null if there is no other."""
    plain = [branch for branch in raw_branches(schema).branches if kind_of(branch) != "null"]
    if not plain:
        return [*schema.branches]
    return plain if len(plain) < 2 else [max(plain, key=lambda each: kind_of(each) in _WIDE)]


_WIDE: Final = frozenset({"long", "double"})


def _members(
    members: Sequence[Schema], schema: Union, values: pa.Array, path: str
) -> list[pa.Array]:
    _refuse_unless(pa.types.is_struct(values.type), schema, values, path)
    names = [member_name(number) for number in range(len(members))]
    given_names = [field.name for field in values.type]
    if sorted(given_names) != sorted(names):
        raise SchemaError(
            about(path, f"a union has the members {', '.join(names)}, not {', '.join(given_names)}")
        )
    by_name = fields_of(values)
    columns = [by_name[name] for name in names]
    given = sum(is_valid(column).astype(int) for column in columns)
    if (np.asarray(given) > 1).any():
        raise PayloadError(path, "a union has several values")
    return columns


def _where(is_given: npt.NDArray[np.bool_], values: pa.BinaryArray) -> pa.BinaryArray:
    """The values of the rows that have one; no bytes for others."""
    if len(values) == len(is_given):
        return values
    bounds = np.append(0, np.cumsum(is_given))
    return _binary(bounds_of(values)[bounds], values.buffers()[2] or b"")


def _recursive(schema: Recursive, values: pa.Array, path: str) -> pa.BinaryArray:
    """As deep as the column, except for a null or an empty list."""
    return _encode(schema.record, values, path)


_ENCODERS: Final[Mapping[type[Schema], Callable[[Any, pa.Array, str], pa.BinaryArray]]] = {
    Primitive: _primitive,
    Fixed: _fixed,
    Enum: _enum,
    Array: _array,
    Map: _map,
    RecordSchema: _record,
    Union: _union,
    Recursive: _recursive,
}
