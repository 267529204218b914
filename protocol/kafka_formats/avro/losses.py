"""The values of a writer's schema that a reader's cannot hold: new symbols, nulls, wider decimals.

Schema resolution does not refuse such schemas, since a payload need not have these values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from kafka_formats.avro.logical import Logical
from kafka_formats.avro.resolve import fits, places_of, why_unfit
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
from kafka_formats.avro.types import arrow_type, raw, raw_branches
from kafka_formats.errors import ITEMS, VALUES, SchemaError, path_of
from kafka_formats.payload.type_changes import Loss, is_held


def losses(writer: Schema, reader: Schema, path: str = "") -> Iterator[Loss]:
    """The parts of a writer's schema with values that are not read as they were written.

    Args:
        writer: The schema of payloads.
        reader: The schema to read as. Fields that it lacks do not count; it contains no record
            within itself.
        path: Where the two are.
    """
    if isinstance(writer, Recursive):
        # The reader's has an end.
        writer = writer.record
    if isinstance(writer, Union):
        for branch in writer.branches:
            yield from _of_one(branch, reader, path)
    else:
        yield from _of_one(writer, reader, path)


def _of_one(writer: Schema, reader: Schema, path: str) -> Iterator[Loss]:
    """The losses of a schema that is not a union."""
    if isinstance(writer, Recursive):
        writer = writer.record
    target = _branch_for(writer, reader, path) if isinstance(reader, Union) else reader
    if target is None or type(writer) is not type(target):
        yield _other_type(writer, reader, path)
        return
    compared: tuple[Schema, Schema] = (writer, target)
    if isinstance(reader, Union) and raw_branches(reader) is not reader:
        # The reader has written numbers.
        compared = (raw(writer), raw(target))
    kind_losses = [*_OF_SAME_KIND[type(writer)](*compared, path)]
    if not kind_losses and (reason := why_unfit(writer, reader, path)) is not None:
        # Resolution leaves such a branch of a union to the payloads that have it.
        kind_losses = [Loss(path, f"cannot be read: {reason}")]
    yield from kind_losses


def _branch_for(writer: Schema, reader: Union, path: str) -> Schema | None:
    """The branch that a value is read as; else one of the same kind, for the error."""
    same_kind_first = sorted(reader.branches, key=lambda each: kind_of(each) != kind_of(writer))
    for branch in same_kind_first:
        if fits(writer, branch, path):
            return branch
    return next((each for each in same_kind_first if kind_of(each) == kind_of(writer)), None)


def _other_type(writer: Schema, reader: Schema, path: str) -> Loss:
    if kind_of(writer) == "null":
        return Loss(path, "may be null")
    try:
        written, read = arrow_type(writer), arrow_type(reader)
    except SchemaError:
        return Loss(path, f"may be {kind_of(writer)}")
    if isinstance(reader, Union):
        return Loss(path, f"may be {kind_of(writer)}, which its union did not have")
    return Loss(path, written=written, read=read)


def _scalar(writer: Primitive | Fixed, reader: Primitive | Fixed, path: str) -> Iterator[Loss]:
    decimals = [_decimal(each.logical) for each in (writer, reader)]
    if not fits(writer, reader, path) or (None in decimals and decimals != [None, None]):
        yield _other_type(writer, reader, path)
    elif decimals[0] is not None and decimals[1] is not None:
        if not _is_wide_enough(decimals[1], decimals[0]):
            yield Loss(path, f"is {_shown(decimals[0])}, not {_shown(decimals[1])}")
    elif not _is_same_time(writer.logical, reader.logical):
        written, read = arrow_type(writer), arrow_type(reader)
        if not (is_held(written, read) or _is_text_as_bytes(written, read)):
            yield Loss(path, written=written, read=read)


def _is_text_as_bytes(written: pa.DataType, read: pa.DataType) -> bool:
    """Whether a text is read as its bytes: Avro writes both alike."""
    return bool(pa.types.is_string(written) and pa.types.is_binary(read))


def _decimal(logical: Logical | None) -> Logical | None:
    return logical if logical is not None and logical.name == "decimal" else None


def _is_wide_enough(read: Logical, written: Logical) -> bool:
    """Whether a decimal has all digits of another one. A text has as many as it needs."""
    before = read.precision - read.scale
    is_long_enough = read.is_text or before >= written.precision - written.scale
    return is_long_enough and read.scale >= written.scale


def _shown(decimal: Logical) -> str:
    return f"decimal({decimal.precision}, {decimal.scale})"


def _is_same_time(written: Logical | None, read: Logical | None) -> bool:
    """Whether both are microseconds in Spark: moments with a zone and without one."""
    return all(
        each is not None and each.name.endswith(("timestamp-millis", "timestamp-micros"))
        for each in (written, read)
    )


def _enum(writer: Enum, reader: Enum, path: str) -> Iterator[Loss]:
    if not fits(writer, reader, path):
        yield Loss(path, f"is the enum {writer.name}, not {reader.name}")
    # Also if the reader has a default: it would stand for each of them.
    new = [each for each in writer.symbols if each not in reader.symbols]
    if new:
        word = "symbol" if len(new) == 1 else "symbols"
        yield Loss(path, f"has the new {word} {', '.join(new)}")


def _array(writer: Array, reader: Array, path: str) -> Iterator[Loss]:
    return losses(writer.items, reader.items, path_of(path, ITEMS))


def _map(writer: Map, reader: Map, path: str) -> Iterator[Loss]:
    return losses(writer.values, reader.values, path_of(path, VALUES))


def _record(writer: RecordSchema, reader: RecordSchema, path: str) -> Iterator[Loss]:
    places = places_of(writer, reader)
    if places is None:
        yield Loss(path, f"is the record {writer.name}, not {reader.name}")
        return
    for field, place in zip(writer.fields, places, strict=True):
        if place is not None:
            yield from losses(field.schema, reader.fields[place].schema, path_of(path, field.name))


_OF_SAME_KIND: Final[Mapping[type[Schema], Callable[[Any, Any, str], Iterator[Loss]]]] = {
    Primitive: _scalar,
    Fixed: _scalar,
    Enum: _enum,
    Array: _array,
    Map: _map,
    RecordSchema: _record,
}
