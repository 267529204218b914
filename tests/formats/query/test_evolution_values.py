"""A value of a newer schema is read as it was written, or the query stops: for each format.

Random schemas of writers, of readers that are more or less like them, and values. The witness is a
read with the writer's own schema: what both schemas have must be equal then.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import SchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.payload.type_changes import new_fields
from kafka_formats.protobuf.descriptors import message_in
from kafka_formats.query.formats import FORMATS
from tests.formats.avro.resolution.maker import Maker
from tests.formats.protobuf.evolution import (
    Schema,
    random_older,
    random_payload,
    random_schema,
)
from tests.formats.protobuf.messages import message_class
from tests.formats.suite.kinds import KINDS
from tests.formats.suite.of_json import JSON_SCHEMA
from tests.formats.times import as_numbers

_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
HELD, STOPS, SAME = "held", "stops", "the same schema stops nothing"


def why_it_stops(format_: Format, written: SchemaText, read: SchemaText) -> str | None:
    """Why a query stops at payloads of a newer schema, as `Evolution` finds it."""
    own = FORMATS[format_]
    to = own.type_of(read)
    try:
        if lacking := [*new_fields(own.type_of(written), to)]:
            return f"lacks {lacking[0][0]}"
        if losses := [*own.losses(written, read, to)]:
            return str(losses[0])
        own.decoder_factory(read, to, lambda _: written).for_schema(1)
    except SchemaError as error:
        return str(error)
    return None


def rows_of(
    format_: Format, written: SchemaText, read: SchemaText, payloads: list[bytes]
) -> list[Any]:
    """The values of payloads; `...` for a broken one."""
    own = FORMATS[format_]
    frame = b"\0\0\0\0\1"
    index = b"\0" if format_ is Format.PROTOBUF else b""
    decoder = own.decoder_factory(read, own.type_of(read), lambda _: written).for_schema(1)
    given = pa.array([frame + index + each for each in payloads], pa.binary())
    values, is_broken = decoder.decode(given, len(frame))
    rows = as_numbers(values)
    return [... if broken else row for broken, row in zip(is_broken.tolist(), rows, strict=True)]


def is_equal(written: Any, read: Any, unit: float = 1) -> bool:
    """Whether what both values have is equal. A field that only one has does not count.

    Numbers may also differ by a unit: 1 ms of a day is read as 1,000 us.
    """
    written, read = _member(written), _member(read)
    if isinstance(written, dict) and isinstance(read, dict):
        return all(
            is_equal(written[each], read[each], unit) for each in written.keys() & read.keys()
        )
    if isinstance(written, (list, tuple)) and isinstance(read, (list, tuple)):
        pairs = zip(written, read, strict=False)
        return len(written) == len(read) and all(is_equal(*pair, unit) for pair in pairs)
    if isinstance(written, float) and isinstance(read, float):
        return repr(written) == repr(read)
    if {type(written), type(read)} == {str, Decimal} or _is_with_zeros(written, read):
        return Decimal(written) == Decimal(read)
    if isinstance(written, str) and isinstance(read, bytes):
        return written.encode() == read
    is_in_unit = type(written) is type(read) is int and read == written * unit
    return is_in_unit or (bool(written == read) and type(read) in {type(written), float, int})


def _is_with_zeros(written: Any, read: Any) -> bool:
    """Whether both are texts of numbers: decimals beyond 38 digits, which may get zeros."""
    texts = (written, read)
    return all(isinstance(each, str) and _NUMBER.fullmatch(each) for each in texts)


def _member(value: Any) -> Any:
    """The value of a union that Spark shows as a struct."""
    if isinstance(value, dict) and value and all(each.startswith("member") for each in value):
        return next((each for each in value.values() if each is not None), None)
    return value


def compare(
    format_: Format, written: SchemaText, read: SchemaText, payloads: list[bytes]
) -> Iterator[str]:
    """The outcome of each payload; fails for one that is read as something else."""
    assert why_it_stops(format_, written, written) is None, SAME
    reason = why_it_stops(format_, written, read)
    if reason is not None:
        yield from [STOPS] * len(payloads)
        return
    rows = zip(
        payloads,
        rows_of(format_, written, written, payloads),
        rows_of(format_, written, read, payloads),
        strict=True,
    )
    units = _units(format_, written, read)
    for payload, own, other in rows:
        if own is not ... and not (other is ... and len(units) > 1):
            assert other is not ... and any(is_equal(own, other, unit) for unit in units), (
                f"payload {payload.hex()}\nwritten {own}\nread    {other}\n{written}\n{read}"
            )
            yield HELD


def _units(format_: Format, written: SchemaText, read: SchemaText) -> list[float]:
    """What the numbers of the same times may differ by.

    If there are several, a number may be too large for a time in microseconds.
    """
    if format_ is Format.AVRO and any(
        _has_number_union(json.loads(t.text)) for t in (written, read)
    ):
        return [1, 1_000, 0.001]
    return [1_000 if "time-millis" in str(written) and "time-micros" in str(read) else 1]


def _has_number_union(schema: Any) -> bool:
    """Whether there is a union of int and long with times, which is read as the written number.

    In another union the same branch is a time in microseconds.
    """
    if isinstance(schema, list):
        kinds = {str(each["type"]) if isinstance(each, dict) else each for each in schema}
        are_fields = any(isinstance(each, dict) and "name" in each for each in schema)
        if kinds - {"null"} == {"int", "long"} and not are_fields:
            return True
        return any(map(_has_number_union, schema))
    inner = schema.values() if isinstance(schema, dict) else ()
    return any(_has_number_union(each) for each in inner if isinstance(each, (dict, list)))


def avro_outcomes(seed: int, count: int) -> Counter[str]:
    maker = Maker(seed)
    found: Counter[str] = Counter()
    for _ in range(count):
        pair = maker.pair()
        written, read = (SchemaText(json.dumps(each)) for each in (pair.writer, pair.reader))
        changed = written != read
        for outcome in compare(Format.AVRO, written, read, pair.payloads):
            found[f"{outcome}, {'changed' if changed else 'the same'}"] += 1
    return found


@pytest.mark.no_cover
def test_avro() -> None:
    found = avro_outcomes(1, 500)
    assert min(found["held, changed"], found["stops, changed"], found["held, the same"]) > 100
    assert "stops, the same" not in found


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.timeout(1_800)
def test_avro_with_a_new_seed() -> None:
    avro_outcomes(random.randrange(2**40), 40_000)


def protobuf_outcomes(seeds: range) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        writer = random_schema(rng)
        reader = random_older(rng, writer)
        written, read = writer.text(), reader.text()
        payloads = [*as_a_writer_writes(rng, writer, written)]
        try:
            found.update(compare(Format.PROTOBUF, written, read, payloads))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}\n{writer}\n{reader}\n{error}") from error
    return found


def as_a_writer_writes(
    rng: random.Random, writer: Schema, text: SchemaText, tries: int = 12
) -> Iterator[bytes]:
    """Payloads with only such numbers as their types have, and one field of a oneof."""
    parsed: Any = message_class(text, message_in(text).full_name)
    for _ in range(tries):
        try:
            message = parsed.FromString(b"".join(random_payload(rng, writer, may_be_damaged=False)))
        except (DecodeError, UnicodeDecodeError):
            continue
        # Protobuf's runtime crashes where it should refuse to write a message.
        if message.IsInitialized():
            yield message.SerializeToString()


@pytest.mark.no_cover
def test_protobuf() -> None:
    found = protobuf_outcomes(range(150))
    assert min(found[HELD], found[STOPS]) > 50, found


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.timeout(1_800)
def test_protobuf_with_new_seeds() -> None:
    first = random.randrange(2**40)
    protobuf_outcomes(range(first, first + 10_000))


@st.composite
def documents(draw: st.DrawFn) -> tuple[SchemaText, SchemaText, list[bytes]]:
    """Two schemas, and documents of the first."""
    names, kinds = st.sampled_from("abc"), st.sampled_from(sorted(JSON_SCHEMA.types))
    written = draw(st.dictionaries(names, kinds, min_size=1))
    read = written | draw(st.dictionaries(names, kinds))
    for name in draw(st.sets(names)):
        read.pop(name, None) if len(read) > 1 else None
    nested = draw(st.booleans())
    values = {name: st.none() | KINDS[kind].random for name, kind in written.items()}
    rows = draw(st.lists(st.fixed_dictionaries({}, optional=values), max_size=4))

    def columns(kinds: Mapping[str, str]) -> pa.StructType:
        struct = pa.struct([(name, KINDS[kind].type) for name, kind in kinds.items()])
        return pa.struct([("rows", pa.list_(struct))]) if nested else struct

    writer, reader = (SchemaText(JSON_SCHEMA.schema(columns(each))) for each in (written, read))
    given_rows = [{"rows": [each]} if nested else each for each in rows]
    return writer, reader, [JSON_SCHEMA.encode(columns(written), each) for each in given_rows]


@given(documents())
def test_json_schema(drawn: tuple[SchemaText, SchemaText, list[bytes]]) -> None:
    for _ in compare(Format.JSON, *drawn):
        pass
