"""Random schemas of writers and of readers that are more or less compatible, and random payloads.

All comes from a seed. A reader's schema is the writer's with fields added, removed, renamed, made
repeated or not, packed or not, moved into a oneof, or of another type: nearly always one that
Protocol Buffers calls compatible. A payload is written byte by byte, so it also has what writers
rarely write: fields in any order, several times, packed or not; and it may be damaged.
"""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    Edition,
    FeatureSet,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaText

F = FieldDescriptorProto
SYNTAXES: Final = ("proto2", "proto3", "2023", "2024")
# Types that are written alike, so that one may become the other.
_ALIKE: Final = (
    (F.TYPE_INT32, F.TYPE_INT64, F.TYPE_UINT32, F.TYPE_UINT64, F.TYPE_BOOL, F.TYPE_ENUM),
    (F.TYPE_SINT32, F.TYPE_SINT64),
    (F.TYPE_STRING, F.TYPE_BYTES, F.TYPE_MESSAGE),
    (F.TYPE_FIXED32, F.TYPE_SFIXED32, F.TYPE_FLOAT),
    (F.TYPE_FIXED64, F.TYPE_SFIXED64, F.TYPE_DOUBLE),
    (F.TYPE_GROUP,),
)
_TYPES: Final = tuple(each for alike in _ALIKE for each in alike)
_VARINTS: Final = {*_ALIKE[0], *_ALIKE[1]}
_FOURS: Final = {*_ALIKE[3]}
_EIGHTS: Final = {*_ALIKE[4]}
_NUMBERS: Final = _VARINTS | _FOURS | _EIGHTS
_KEYS: Final = tuple(_NUMBERS - {F.TYPE_FLOAT, F.TYPE_DOUBLE, F.TYPE_ENUM} | {F.TYPE_STRING})
_FIELD_NUMBERS: Final = (*range(1, 9), 15, 16, 2047, 2048, 2**29 - 1)
# Messages contain only later ones, so that all have a type.
MESSAGES: Final = 4
ROOT: Final = "p.M0"


@dataclass(frozen=True)
class Field:
    """A field of a random message; `key` is the type of the keys of a map."""

    number: int
    name: str
    type: int
    message: int = 0
    enum: int = 0
    is_repeated: bool = False
    is_packed: bool = False
    is_explicit: bool = False
    is_required: bool = False
    has_default: bool = False
    key: int | None = None
    oneof: str | None = None


@dataclass(frozen=True)
class Schema:
    """Messages, each with its fields; enums, each with its numbers, some under another name."""

    syntax: str
    messages: tuple[tuple[Field, ...], ...]
    enums: tuple[tuple[int, ...], ...]
    is_enum_closed: bool
    renamed: frozenset[int] = frozenset()

    def text(self) -> SchemaText:
        """The schema as a descriptor set."""
        files = FileDescriptorSet(file=[_file(self)]).SerializeToString()
        return SchemaText(DESCRIPTOR_SET + base64.b64encode(files).decode(), message=ROOT)

    def __str__(self) -> str:
        return "\n".join(
            f"M{number} ({self.syntax}, enums {self.enums}): {fields}"
            for number, fields in enumerate(self.messages)
        )


def types_alike() -> Iterator[tuple[int, int]]:
    """Each two types that are written alike, but for messages."""
    for alike in _ALIKE:
        yield from product(*([each for each in alike if each not in _MESSAGE_TYPES],) * 2)


# --- Schemas -------------------------------------------------------------------------------------


def random_schema(rng: random.Random) -> Schema:
    """The schema of a writer."""
    syntax = rng.choice(SYNTAXES)
    closed = syntax == "proto2" or (syntax.isdigit() and rng.random() < 0.5)
    enums = tuple(
        (0, *rng.sample([1, 2, -1, 5, 2**31 - 1, -(2**31)], rng.randint(0, 3))) for _ in range(2)
    )
    messages = tuple(
        tuple(
            _random_field(rng, syntax, place, number)
            for number in sorted(rng.sample(_FIELD_NUMBERS, rng.randint(1, 6)))
        )
        for place in range(MESSAGES)
    )
    return Schema(syntax, messages, enums, is_enum_closed=closed)


def random_older(rng: random.Random, writer: Schema) -> Schema:
    """A schema to read the writer's payloads with, which differs in one thing, or in few."""
    reader = random_reader(rng, writer)
    changes = rng.choice([0.05, 0.2])
    is_other = [rng.random() < changes for _ in range(3)]
    messages = []
    for fields, others in zip(writer.messages, reader.messages, strict=True):
        by_number = {each.number: each for each in others}
        chosen = [
            by_number.pop(each.number, None) if rng.random() < changes else each for each in fields
        ]
        kept = tuple(each for each in chosen if each is not None)
        messages.append(kept or fields)
    older = replace(writer, messages=tuple(messages))
    if is_other[0]:
        pairs = zip(writer.enums, reader.enums, strict=True)
        kept_numbers = [tuple(each for each in new if each in old) for new, old in pairs]
        older = replace(older, enums=tuple(kept_numbers))
    if rng.random() < changes:
        older = replace(older, renamed=frozenset(rng.sample([1, 2, 5], 1)))
    # A closed enum of the writer stays closed: random payloads have numbers that it does not have.
    if is_other[1]:
        older = replace(older, is_enum_closed=writer.is_enum_closed or reader.is_enum_closed)
    is_other[2] = is_other[2] and not writer.is_enum_closed
    syntax = reader.syntax if is_other[2] else writer.syntax
    allowed = tuple(tuple(_allowed(each, syntax) for each in fields) for fields in older.messages)
    closed = syntax == "proto2" or (syntax.isdigit() and older.is_enum_closed)
    return replace(older, syntax=syntax, messages=allowed, is_enum_closed=closed)


def random_reader(rng: random.Random, writer: Schema) -> Schema:
    """A schema to read the writer's payloads with."""
    syntax = writer.syntax if rng.random() < 0.6 else rng.choice(SYNTAXES)
    closed = syntax == "proto2" or (syntax.isdigit() and rng.random() < 0.5)
    messages = tuple(
        _evolved(rng, syntax, place, fields) for place, fields in enumerate(writer.messages)
    )
    enums = tuple(
        tuple(dict.fromkeys((0, *(each for each in numbers if rng.random() < 0.7), 3)))
        for numbers in writer.enums
    )
    return Schema(syntax, messages, enums, closed)


def _random_field(rng: random.Random, syntax: str, place: int, number: int) -> Field:
    kinds = _TYPES if place < MESSAGES - 1 else [*{*_TYPES} - {F.TYPE_MESSAGE, F.TYPE_GROUP}]
    made = Field(
        number,
        f"f{number}",
        rng.choice(kinds),
        message=rng.randint(place + 1, MESSAGES - 1) if place < MESSAGES - 1 else 0,
        enum=rng.randint(0, 1),
        is_repeated=rng.random() < 0.3,
        is_packed=rng.random() < 0.5,
        is_explicit=rng.random() < 0.5,
        is_required=rng.random() < 0.05,
        has_default=rng.random() < 0.2,
        key=rng.choice(_KEYS) if rng.random() < 0.12 else None,
        oneof=rng.choice(["a", "b"]) if rng.random() < 0.3 else None,
    )
    return _allowed(made, syntax)


def _allowed(made: Field, syntax: str) -> Field:
    """The field with what its syntax allows."""
    if made.type == F.TYPE_GROUP and syntax == "proto3":
        made = replace(made, type=F.TYPE_MESSAGE)
    if made.key is not None:
        kind = F.TYPE_MESSAGE if made.type == F.TYPE_GROUP else made.type
        made = replace(made, type=kind, is_repeated=True)
    if made.is_repeated or made.oneof is not None or syntax == "proto3":
        made = replace(made, is_required=False)
    if made.is_repeated:
        made = replace(made, oneof=None, has_default=False)
    if made.oneof is not None:
        made = replace(made, is_explicit=True)
    can_have_default = syntax == "proto2" or (syntax.isdigit() and made.is_explicit)
    if not can_have_default or made.type in {F.TYPE_MESSAGE, F.TYPE_GROUP}:
        made = replace(made, has_default=False)
    return made


def _evolved(
    rng: random.Random, syntax: str, place: int, fields: Sequence[Field]
) -> tuple[Field, ...]:
    kept = [
        _changed(rng, syntax, place, each) for each in fields if rng.random() < 0.85 or place == 0
    ]
    free = sorted({*_FIELD_NUMBERS} - {each.number for each in fields})
    added = rng.sample(free, rng.randint(0, 2))
    new = [_random_field(rng, syntax, place, number) for number in added]
    # A message without fields is not in a column.
    return tuple(kept + new) or (_random_field(rng, syntax, place, 1),)


def _changed(rng: random.Random, syntax: str, place: int, old: Field) -> Field:
    new = old
    if rng.random() < 0.3:
        alike = next(each for each in _ALIKE if old.type in each)
        kinds = alike if rng.random() < 0.9 else _TYPES
        kind = rng.choice(
            [each for each in kinds if place < MESSAGES - 1 or each not in _MESSAGE_TYPES]
        )
        new = replace(new, type=kind)
    if rng.random() < 0.15:
        new = replace(new, is_repeated=not new.is_repeated, key=None)
    if rng.random() < 0.2:
        new = replace(new, is_packed=not new.is_packed, is_explicit=not new.is_explicit)
    if rng.random() < 0.15:
        new = replace(new, oneof=rng.choice([None, "a", "b"]))
    if rng.random() < 0.1:
        new = replace(new, has_default=not new.has_default)
    if rng.random() < 0.3:
        new = replace(new, name=f"renamed_{new.number}")
    return _allowed(new, syntax)


_MESSAGE_TYPES: Final = {F.TYPE_MESSAGE, F.TYPE_GROUP}


def _file(schema: Schema) -> FileDescriptorProto:
    file = FileDescriptorProto(name="p.proto", package="p", syntax=schema.syntax)
    if schema.syntax.isdigit():
        file.syntax = "editions"
        file.edition = Edition.Value(f"EDITION_{schema.syntax}")
    for place, numbers in enumerate(schema.enums):
        enum = file.enum_type.add(name=f"E{place}")
        for symbol, number in enumerate(numbers):
            other = "_renamed" if number in schema.renamed else ""
            enum.value.add(name=f"E{place}_{symbol}{other}", number=number)
        if schema.syntax.isdigit() and schema.is_enum_closed:
            enum.options.features.enum_type = FeatureSet.CLOSED
    for place, fields in enumerate(schema.messages):
        _add_message(file.message_type.add(name=f"M{place}"), schema, fields)
    return file


def _add_message(proto: DescriptorProto, schema: Schema, fields: Sequence[Field]) -> None:
    oneofs = [*dict.fromkeys(each.oneof for each in fields if each.oneof is not None)]
    for name in oneofs:
        proto.oneof_decl.add(name=name)
    for each in fields:
        new = proto.field.add(name=each.name, number=each.number)
        new.label = F.LABEL_REPEATED if each.is_repeated else F.LABEL_OPTIONAL
        if each.key is not None:
            entry = proto.nested_type.add(name=_entry_name(each.name))
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=F.LABEL_OPTIONAL, type=each.key)
            value = entry.field.add(name="value", number=2, label=F.LABEL_OPTIONAL)
            _set_type(value, each, schema)
            new.type, new.type_name = F.TYPE_MESSAGE, f".p.{proto.name}.{entry.name}"
            continue
        _set_type(new, each, schema)
        if each.oneof is not None:
            new.oneof_index = oneofs.index(each.oneof)
        _set_presence(new, each, schema)
    for each in fields:
        if schema.syntax == "proto3" and each.is_explicit and _is_plain(each):
            # protoc's way to write `optional`; such oneofs come last.
            own = next(field for field in proto.field if field.number == each.number)
            own.proto3_optional, own.oneof_index = True, len(proto.oneof_decl)
            proto.oneof_decl.add(name=f"_{each.name}")


def _is_plain(each: Field) -> bool:
    return each.oneof is None and not each.is_repeated and each.type not in _MESSAGE_TYPES


def _entry_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_")) + "Entry"


def _set_type(new: FieldDescriptorProto, each: Field, schema: Schema) -> None:
    new.type = each.type
    if each.type == F.TYPE_ENUM:
        new.type_name = f".p.E{each.enum}"
    elif each.type in _MESSAGE_TYPES:
        new.type_name = f".p.M{each.message}"
        if schema.syntax.isdigit() and each.type == F.TYPE_GROUP:
            new.type = F.TYPE_MESSAGE
            new.options.features.message_encoding = FeatureSet.DELIMITED


def _set_presence(new: FieldDescriptorProto, each: Field, schema: Schema) -> None:
    if each.has_default:
        new.default_value = _DEFAULTS.get(each.type, "1")
        if each.type == F.TYPE_ENUM:
            new.default_value = f"E{each.enum}_0"
    is_packed_or_not = each.is_repeated and each.type in _NUMBERS
    if schema.syntax.isdigit():
        features = new.options.features
        if is_packed_or_not:
            encodings = (FeatureSet.EXPANDED, FeatureSet.PACKED)
            features.repeated_field_encoding = encodings[each.is_packed]
        is_implicit = not each.is_explicit and _is_plain(each)
        if each.is_required:
            features.field_presence = FeatureSet.LEGACY_REQUIRED
        elif is_implicit and not (each.type == F.TYPE_ENUM and schema.is_enum_closed):
            features.field_presence = FeatureSet.IMPLICIT
    else:
        if is_packed_or_not:
            new.options.packed = each.is_packed
        if each.is_required:
            new.label = F.LABEL_REQUIRED


_DEFAULTS: Final = {F.TYPE_BOOL: "true", F.TYPE_FLOAT: "1.5", F.TYPE_DOUBLE: "inf"}


# --- Payloads ------------------------------------------------------------------------------------


def random_payload(
    rng: random.Random, schema: Schema, *, may_be_damaged: bool = True
) -> list[bytes]:
    """The fields of a payload, each with its tag; some payloads are damaged."""
    pieces = _pieces(rng, schema, 0)
    if may_be_damaged and rng.random() < 0.06 and pieces:
        place = rng.randrange(len(pieces))
        pieces[place] = _damaged(rng, pieces[place])
    return pieces


def _damaged(rng: random.Random, piece: bytes) -> bytes:
    at = rng.randrange(len(piece))
    if rng.random() < 0.5:
        return piece[:at]
    return piece[:at] + bytes([piece[at] ^ 1 << rng.randrange(8)]) + piece[at + 1 :]


def _pieces(rng: random.Random, schema: Schema, message: int) -> list[bytes]:
    pieces: list[bytes] = []
    for each in schema.messages[message]:
        if rng.random() < 0.75 or each.is_required:
            times = rng.choice([0, 1, 2, 3]) if each.is_repeated else rng.choice([1] * 9 + [2])
            pieces += _field_pieces(rng, schema, each, times)
    if rng.random() < 0.1:
        pieces.append(_unknown(rng))
    if rng.random() < 0.2:
        rng.shuffle(pieces)
    return pieces


def _field_pieces(rng: random.Random, schema: Schema, each: Field, times: int) -> list[bytes]:
    if each.key is not None:
        return [_entry(rng, schema, each) for _ in range(times)]
    if each.is_repeated and each.type in _NUMBERS and (rng.random() < 0.1) != each.is_packed:
        body = b"".join(_scalar(rng, schema, each.type, each.enum) for _ in range(times))
        return [_tag(each.number, 2) + _varint(len(body)) + body]
    return [_one(rng, schema, each) for _ in range(times)]


def _entry(rng: random.Random, schema: Schema, each: Field) -> bytes:
    assert each.key is not None
    key = _tag(1, _wire_type(each.key)) + _scalar(rng, schema, each.key, 0)
    value = _one(rng, schema, replace(each, number=2, key=None))
    parts = [part for part in (key, value) if rng.random() < 0.95]
    if rng.random() < 0.1:
        parts.reverse()
    if rng.random() < 0.03:
        parts.append(_unknown(rng))
    body = b"".join(parts)
    return _tag(each.number, 2) + _varint(len(body)) + body


def _one(rng: random.Random, schema: Schema, each: Field) -> bytes:
    if each.type == F.TYPE_GROUP:
        body = b"".join(_pieces(rng, schema, each.message))
        return _tag(each.number, 3) + body + _tag(each.number, 4)
    if each.type == F.TYPE_MESSAGE:
        body = b"".join(_pieces(rng, schema, each.message))
        return _tag(each.number, 2) + _varint(len(body)) + body
    return _tag(each.number, _wire_type(each.type)) + _scalar(rng, schema, each.type, each.enum)


def _wire_type(kind: int) -> int:
    if kind in _VARINTS:
        return 0
    return 1 if kind in _EIGHTS else 5 if kind in _FOURS else 2


def _scalar(rng: random.Random, schema: Schema, kind: int, enum: int) -> bytes:
    if kind == F.TYPE_ENUM and rng.random() < 0.8:
        return _varint(rng.choice(schema.enums[enum]) % 2**64)
    if kind in _VARINTS:
        bits = rng.choice([0, 1, 3, 7, 8, 14, 31, 32, 33, 63, 64])
        number = rng.getrandbits(bits) if bits else 0
        if kind == F.TYPE_BOOL and rng.random() < 0.9:
            number = rng.randint(0, 1)
        return _varint(-number % 2**64 if rng.random() < 0.3 else number, rng)
    if kind in _FOURS:
        return rng.choice([b"\x00" * 4, b"\x00\x00\x00\x80", rng.randbytes(4)])
    if kind in _EIGHTS:
        real = struct.pack("<d", rng.choice([-0.0, 1.5, float("nan"), float("inf")]))
        return rng.choice([b"\x00" * 8, real, rng.randbytes(8)])
    text = "".join(rng.choice("aé€😀\0") for _ in range(rng.choice([0, 0, 1, 2, 5]))).encode()
    if kind == F.TYPE_BYTES or rng.random() < 0.01:
        text = rng.randbytes(rng.choice([0, 1, 2, 9]))
    return _varint(len(text)) + text


def _unknown(rng: random.Random) -> bytes:
    number = rng.choice([100, 101, 2**20])
    return rng.choice(
        [
            _tag(number, 0) + _varint(rng.getrandbits(40)),
            _tag(number, 1) + rng.randbytes(8),
            _tag(number, 2) + b"\x03abc",
            _tag(number, 3) + _tag(1, 0) + b"\x05" + _tag(number, 4),
            _tag(number, 5) + rng.randbytes(4),
        ]
    )


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(number: int, rng: random.Random | None = None) -> bytes:
    """A number; sometimes with more bytes than it needs."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    if rng is not None and len(encoded) < 9 and rng.random() < 0.03:
        encoded[-1] |= 0x80
        encoded.append(0)
    return bytes(encoded)
