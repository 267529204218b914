"""The reader and writer of each struct and version, built from the declaration at first use.

A reader is `read(buf, pos) -> (value, pos)` over a `memoryview` of the whole message, a writer
`write(out, value)` that appends pieces; see `primitives`. They are closures over the fields of the
version, in order, without lookups per message. This module must not know any API, nor headers:
`framing` adds the headers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar

from kafka_protocol.errors import DecodeError, EncodeError, KafkaError, UnsupportedVersionError
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.primitives import Out, Reader, Writer
from kafka_protocol.wire.schema import Field, Message, Shape, StructMeta, default_of, describe

M = TypeVar("M", bound=Message)


class _Codec(NamedTuple):
    """Reader and writer of one wire type in one form."""

    read: Reader[Any]
    write: Writer[Any]


_PLAIN: Final = {
    "bool": _Codec(p.read_boolean, p.write_boolean),
    "int8": _Codec(p.read_int8, p.write_int8),
    "int16": _Codec(p.read_int16, p.write_int16),
    "uint16": _Codec(p.read_uint16, p.write_uint16),
    "int32": _Codec(p.read_int32, p.write_int32),
    "uint32": _Codec(p.read_uint32, p.write_uint32),
    "int64": _Codec(p.read_int64, p.write_int64),
    "float64": _Codec(p.read_float64, p.write_float64),
    "uuid": _Codec(p.read_uuid, p.write_uuid),
}
_CLASSIC: Final = _PLAIN | {
    "string": _Codec(p.read_nullable_string, p.write_nullable_string),
    "bytes": _Codec(p.read_nullable_bytes, p.write_nullable_bytes),
    "records": _Codec(p.read_nullable_bytes, p.write_nullable_bytes),
}
_COMPACT: Final = _PLAIN | {
    "string": _Codec(p.read_compact_nullable_string, p.write_compact_nullable_string),
    "bytes": _Codec(p.read_compact_nullable_bytes, p.write_compact_nullable_bytes),
    "records": _Codec(p.read_compact_nullable_bytes, p.write_compact_nullable_bytes),
}
_ARRAY_LENGTH: Final = {
    False: _Codec(p.read_array_length, p.write_array_length),
    True: _Codec(p.read_compact_length, p.write_compact_length),
}


def read_message(cls: type[M], version: int, body: memoryview) -> M:
    """Decode a message's body, without its header. Payload fields of the result are views of it.

    Raises:
        DecodeError: The bytes are not such a message. Bytes after it are ignored, as Java does.
        UnsupportedVersionError: The class has no such version.
    """
    read = _message_codec(cls, version).read
    try:
        message: M = read(body, 0)[0]
    except KafkaError as error:
        raise DecodeError(f"{cls.__name__} v{version}: {error}") from error
    return message


def write_message(message: Message, version: int, out: Out) -> None:
    """Append the body of a message to `out`, as pieces; payloads are not copied.

    Raises:
        EncodeError: A value does not fit its field, or the version lacks a field that is set.
        UnsupportedVersionError: The class has no such version.
    """
    cls = type(message)
    write = _message_codec(cls, version).write
    try:
        write(out, message)
    except EncodeError as error:
        raise EncodeError(f"{cls.__name__} v{version}: {error}") from error


def _message_codec(cls: type[Message], version: int) -> _Codec:
    if version not in cls.versions:
        raise UnsupportedVersionError(f"{cls.__name__} has versions {cls.versions}, not {version}")
    return _struct_codec(cls, version, version in cls.flexible)


_codecs: dict[tuple[StructMeta, int, bool], _Codec] = {}


def _struct_codec(cls: StructMeta, version: int, is_flexible: bool) -> _Codec:
    """The codec of a struct, built once for each version; a race of threads is harmless."""
    codec = _codecs.get((cls, version, is_flexible))
    if codec is None:
        codec = _codecs[cls, version, is_flexible] = _build_struct(cls, version, is_flexible)
    return codec


def _build_struct(cls: StructMeta, version: int, is_flexible: bool) -> _Codec:
    present = [f for f in cls.__fields__ if version in f.versions]
    plain = [
        _BoundField(f, _field_codec(f, version, is_flexible)) for f in present if f.tag is None
    ]
    tagged = {
        f.tag: _BoundField(f, _field_codec(f, version, is_flexible))
        for f in sorted(present, key=lambda f: f.tag or 0)
        if f.tag is not None
    }
    absent = [f for f in cls.__fields__ if version not in f.versions]
    return _Codec(
        _struct_reader(cls, plain, tagged, absent, is_flexible),
        _struct_writer(plain, tagged, [f for f in absent if not f.ignorable], version, is_flexible),
    )


class _BoundField(NamedTuple):
    """A field with its codec for one version."""

    declared: Field
    codec: _Codec


def _struct_reader(
    cls: StructMeta,
    plain: list[_BoundField],
    tagged: dict[int, _BoundField],
    absent: list[Field],
    is_flexible: bool,
) -> Reader[Any]:
    readers = [(row.declared.name, row.codec.read) for row in plain]
    unset = [*absent, *(row.declared for row in tagged.values())]
    read_tags = _tagged_reader(tagged)
    new: Any = object.__new__

    def read(buf: memoryview, pos: int) -> tuple[Any, int]:
        value = new(cls)
        for name, read_field in readers:
            field_value, pos = read_field(buf, pos)
            setattr(value, name, field_value)
        for f in unset:
            setattr(value, f.name, default_of(f))
        if is_flexible:
            pos = read_tags(value, buf, pos)
        return value, pos

    return read


def _struct_writer(
    plain: list[_BoundField],
    tagged: dict[int, _BoundField],
    refused: list[Field],
    version: int,
    is_flexible: bool,
) -> Writer[Any]:
    writers = [(row.declared.name, row.codec.write) for row in plain]
    write_tags = _tagged_writer(tagged)

    def write(out: Out, value: Any) -> None:
        for f in refused:
            if getattr(value, f.name) != default_of(f):
                raise EncodeError(f"{f.name} is set, and version {version} has no such field")
        for name, write_field in writers:
            try:
                write_field(out, getattr(value, name))
            except EncodeError as error:
                raise EncodeError(f"{name}: {error}") from error
        if is_flexible:
            write_tags(out, value)

    return write


def _field_codec(declared: Field, version: int, is_flexible: bool) -> _Codec:
    shape = describe(declared.wire_type)
    is_nullable = version in declared.nullable
    codec = _value_codec(shape, version, is_flexible, declared.at_most)
    if declared.repeats:
        codec = _Codec(_remembering(codec.read), codec.write)
    if not is_nullable:
        return _not_null(codec, declared.name, shape)
    return codec if shape.struct is None else _nullable_struct(codec)


def _value_codec(
    shape: Shape, version: int, is_flexible: bool, at_most: int | None = None
) -> _Codec:
    """The codec of a primitive, a struct or an array."""
    if shape.primitive is not None:
        return (_COMPACT if is_flexible else _CLASSIC)[shape.primitive]
    if shape.struct is not None:
        return _struct_codec(shape.struct, version, is_flexible)
    inner = describe(shape.element)
    element = _not_null(_value_codec(inner, version, is_flexible), "an array's element", inner)
    bounds = _Bounds(max(1, _least_bytes(inner, version, is_flexible)), at_most)
    return _array(element, _ARRAY_LENGTH[is_flexible], bounds)


_LEAST_BYTES: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
_LEAST_LENGTH: Final = {"string": 2, "bytes": 4, "records": 4}


def _least_bytes(shape: Shape, version: int, is_flexible: bool) -> int:
    """The minimum size of a value in bytes."""
    if shape.primitive is not None:
        length = 1 if is_flexible else _LEAST_LENGTH.get(shape.primitive, 0)
        return _LEAST_BYTES.get(shape.primitive, length)
    if shape.struct is None:
        return 1 if is_flexible else 4
    tags = 1 if is_flexible else 0
    return tags + sum(
        _least_field_bytes(f, version, is_flexible)
        for f in shape.struct.__fields__
        if version in f.versions and f.tag is None
    )


def _least_field_bytes(declared: Field, version: int, is_flexible: bool) -> int:
    shape = describe(declared.wire_type)
    # The null of other types is a length, so it has the same minimum.
    if shape.struct is not None and version in declared.nullable:
        return 1
    return _least_bytes(shape, version, is_flexible)


class _Bounds(NamedTuple):
    """The limits of an array: the minimum bytes of an element, and the maximum count."""

    least_bytes: int
    at_most: int | None

    def check(self, count: int, bytes_left: int) -> None:
        """Reject an impossible count, before allocating memory for it."""
        if count > bytes_left // self.least_bytes:
            raise DecodeError(
                f"array of {count} elements of {self.least_bytes} bytes or more, with "
                f"{bytes_left} bytes left"
            )
        if self.at_most is not None and count > self.at_most:
            raise DecodeError(f"array of {count} elements, of {self.at_most} at the most")


def _array(element: _Codec, length: _Codec, bounds: _Bounds) -> _Codec:
    read_length, write_length = length
    read_element, write_element = element

    def read(buf: memoryview, pos: int) -> tuple[list[Any] | None, int]:
        count, pos = read_length(buf, pos)
        if count is None:
            return None, pos
        bounds.check(count, len(buf) - pos)
        values = []
        for _ in range(count):
            value, pos = read_element(buf, pos)
            values.append(value)
        return values, pos

    def write(out: Out, values: list[Any] | None) -> None:
        if values is None:
            write_length(out, None)
            return
        write_length(out, len(values))
        for value in values:
            write_element(out, value)

    return _Codec(read, write)


# Only these have an encoding of null; the other primitives need no check.
_CAN_BE_NULL: Final = frozenset({"string", "bytes", "records"})


def _not_null(codec: _Codec, name: str, shape: Shape) -> _Codec:
    if shape.primitive is not None and shape.primitive not in _CAN_BE_NULL:
        return codec
    read_any, write_any = codec

    def read(buf: memoryview, pos: int) -> tuple[Any, int]:
        value, pos = read_any(buf, pos)
        if value is None:
            raise DecodeError(f"{name} is null where that is not allowed")
        return value, pos

    def write(out: Out, value: Any) -> None:
        if value is None:
            raise EncodeError(f"{name} is None where that is not allowed")
        write_any(out, value)

    # A struct that is not nullable has no encoding of null, so its reader needs no check.
    return _Codec(read_any if shape.struct is not None else read, write)


def _nullable_struct(codec: _Codec) -> _Codec:
    """A struct after one byte: -1 for null, 1 for present (KIP-893)."""

    def read(buf: memoryview, pos: int) -> tuple[Any, int]:
        present, pos = p.read_int8(buf, pos)
        return codec.read(buf, pos) if present >= 0 else (None, pos)

    def write(out: Out, value: Any) -> None:
        p.write_int8(out, -1 if value is None else 1)
        if value is not None:
            codec.write(out, value)

    return _Codec(read, write)


def _remembering(read: Reader[Any]) -> Reader[Any]:
    """Read the same value as the last time if the same bytes are at the position."""
    last: tuple[bytes, Any] | None = None

    def read_again(buf: memoryview, pos: int) -> tuple[Any, int]:
        nonlocal last
        if last is not None:
            data, value = last
            end = pos + len(data)
            if bytes(buf[pos:end]) == data:  # much faster than to compare a view
                return value, end
        value, end = read(buf, pos)
        last = bytes(buf[pos:end]), value
        return value, end

    return read_again


# --- Tagged fields (KIP-482) -------------------------------------------------------------------


def _tagged_reader(known: dict[int, _BoundField]) -> Callable[[Any, memoryview, int], int]:
    """Reads known fields into the struct, and skips unknown ones of newer brokers."""

    def read(value: Any, buf: memoryview, pos: int) -> int:
        count, pos = p.read_unsigned_varint(buf, pos)
        for _ in range(count):
            tag, pos = p.read_unsigned_varint(buf, pos)
            size, pos = p.read_unsigned_varint(buf, pos)
            end = pos + size
            if end > len(buf):
                raise DecodeError(f"tagged field {tag} of {size} bytes with {len(buf) - pos} left")
            if tag in known:
                name = known[tag].declared.name
                field_value, after = known[tag].codec.read(buf[:end], pos)
                if after != end:
                    raise DecodeError(f"tagged field {name} is {after - pos} bytes, not {size}")
                setattr(value, name, field_value)
            pos = end
        return pos

    return read


def _tagged_writer(known: dict[int, _BoundField]) -> Callable[[Out, Any], None]:
    """Writes the fields whose value is not the default, by ascending tag."""

    def write(out: Out, value: Any) -> None:
        chosen = {
            tag: row
            for tag, row in known.items()
            if getattr(value, row.declared.name) != default_of(row.declared)
        }
        p.write_unsigned_varint(out, len(chosen))
        for tag, row in chosen.items():
            pieces: Out = []
            row.codec.write(pieces, getattr(value, row.declared.name))
            p.write_unsigned_varint(out, tag)
            p.write_unsigned_varint(out, sum(map(len, pieces)))
            out.extend(pieces)

    return write
