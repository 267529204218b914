"""A pair of schemas, read by Java's library, by fastavro and here: one verdict for each payload."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kafka_formats.avro.decode import decode
from kafka_formats.avro.decode_one import read_payload
from kafka_formats.avro.plan import AvroPlan
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.errors import PayloadError, SchemaError
from tests.formats.avro.checks import check
from tests.formats.avro.resolution.expected import DEFAULT, Broken, expected, has_union, like, shown
from tests.formats.avro.resolution.pairs import Json, Pair
from tests.formats.avro.resolution.witness import Unreadable, agrees, as_fastavro_reads, as_float
from tests.formats.times import as_numbers


class Ours(NamedTuple):
    """What is read here: a value, or why there is none."""

    value: Any = None
    refused: str = ""
    broken: str = ""


def question(pair: Pair) -> dict[str, Any]:
    """A pair as `Resolution.java` takes it."""
    schemas = {"writer": json.dumps(pair.writer), "reader": json.dumps(pair.reader)}
    return schemas | {"payloads": [each.hex() for each in pair.payloads]}


def read_here(pair: Pair) -> list[Ours]:
    """By both of our decoders, which must agree."""
    try:
        nodes = [parse_schema(json.dumps(each)) for each in (pair.writer, pair.reader)]
        plan = resolve(*nodes)
    except SchemaError as error:
        return [Ours(refused=str(error))] * len(pair.values)
    rows = pair.payloads
    check(plan, rows)
    values = decode(pa.array(rows, pa.binary()), plan).values
    faults = [_fault(plan, row) for row in rows]
    whole = [row for row, fault in enumerate(faults) if fault is None]
    numbers = iter(as_numbers(values.take(pa.array(whole, pa.int64()))))
    return [
        Ours(value=next(numbers)) if fault is None else Ours(broken=str(fault)) for fault in faults
    ]


def _fault(plan: AvroPlan, row: bytes) -> PayloadError | None:
    try:
        read_payload(plan, row)
    except PayloadError as error:
        return error
    return None


class Verdict(NamedTuple):
    """The outcome; `is_fault` unless it is equal or stands in the page."""

    outcome: str
    is_fault: bool = False
    details: str = ""


_EQUAL: Final = Verdict("equal")


def verdicts(pair: Pair, answer: Any) -> Iterator[Verdict]:
    """One for each payload, against Java's."""
    ours = read_here(pair)
    if "refused" in answer:
        yield from (_invalid(each, answer["refused"]) for each in ours)
        return
    others = as_fastavro_reads(pair)
    for each, node, other in zip(ours, answer["values"], others, strict=True):
        verdict = _verdict(pair, each, node, answer["notes"])
        yield _witnessed(pair, each, other) if verdict == _EQUAL else verdict


def _witnessed(pair: Pair, ours: Ours, other: Any) -> Verdict:
    """The verdict on a value that is equal to Java's."""
    if isinstance(other, Unreadable):
        return Verdict("equal, fastavro cannot read it")
    if agrees(pair.reader, ours.value, other):
        return Verdict("equal, fastavro's is equal, too")
    if has_union(pair.reader):
        return Verdict("equal, fastavro takes another type of a union")
    return Verdict("fastavro's differs", is_fault=True, details=f"{ours.value!r}, {other!r}")


def _invalid(ours: Ours, why: str) -> Verdict:
    if ours.refused:
        return Verdict("refused by both")
    # Java parses a text as the default of a float, for NaN, before it checks the default.
    if "Invalid default" in why or why.startswith("java.lang.NumberFormatException"):
        return Verdict("an invalid default that is not needed, refused by Java")
    if "enum value" in why:
        return Verdict("a default of a union that Java takes for an enum")
    return Verdict("a schema that Java refuses", is_fault=True, details=f"{ours}, Java: {why}")


def _verdict(pair: Pair, ours: Ours, node: Json, notes: Sequence[str]) -> Verdict:
    if "broken" in node:
        return _not_java(pair, ours, node["broken"], notes)
    try:
        wanted = expected(pair.reader, node)
    except Broken as error:
        return _not_meant(pair, ours, node, str(error))
    if ours.refused or ours.broken:
        return _not_here(ours, wanted, notes)
    if shown(ours.value) == shown(like(wanted, ours.value)):
        return _EQUAL
    return _another(pair, ours, wanted, notes)


def _another(pair: Pair, ours: Ours, wanted: Any, notes: Sequence[str]) -> Verdict:
    """The verdict on a payload that Java reads as another value."""
    if has_union(pair.reader) and _as_floats(ours.value) == _as_floats(wanted):
        return Verdict("a double, of which Java reads the float, in a union of both")
    if has_union(pair.reader) and "record names" in notes:
        return Verdict("another record of a union, as Java takes one of another name")
    return Verdict("another value", is_fault=True, details=f"{ours.value!r}, Java: {wanted!r}")


def _not_here(ours: Ours, wanted: Any, notes: Sequence[str]) -> Verdict:
    """The verdict on a payload that only Java reads."""
    is_whole = ours.refused or ours.broken.endswith("unknown to the reader")
    if is_whole and DEFAULT in repr(wanted):
        return Verdict("a default of a union that does not fit Spark's type")
    if ours.refused.startswith("the default of") and _new_field(ours.refused) not in repr(wanted):
        return Verdict("a default that the payload does not need")
    reason = _why_refused(notes) if is_whole else ""
    details = f"{ours}, Java: {wanted}, notes: {notes}"
    return Verdict(f"refused, read by Java: {reason}", is_fault=not reason, details=details)


def _new_field(refused: str) -> str:
    """The field that was added to the reader's schema, as it is in values."""
    path = refused.split("'")[1].split(".")
    return repr(next((part for part in path if part.startswith("new")), path[-1]))


def _as_floats(value: Any) -> str:
    """The value with the floats nearest to its doubles."""
    if isinstance(value, dict):
        return repr({name: _as_floats(each) for name, each in value.items()})
    if isinstance(value, list | tuple):
        return repr([*map(_as_floats, value)])
    return repr(as_float(value) if isinstance(value, float) else value)


def _not_java(pair: Pair, ours: Ours, why: str, notes: Sequence[str]) -> Verdict:
    """The verdict on a payload that Java does not read."""
    if ours.refused or ours.broken:
        return Verdict("refused or broken in both")
    if "error NO_MATCHING_BRANCH" in notes and "expecting union" in why:
        return Verdict("read here only: a union has the type in another namespace")
    if "missing required field" in why and "aliases" in str(pair.reader):
        return Verdict("read here only: an alias in a record of another namespace")
    return Verdict("read here only", is_fault=True, details=f"{ours}, Java: {why}")


def _not_meant(pair: Pair, ours: Ours, node: Json, kind: str) -> Verdict:
    """The verdict on a payload that Java reads as another value than was written."""
    outcome = f"broken, as Java's value has other {kind}"
    if ours.broken or ours.refused:
        return Verdict(outcome)
    if kind == "meaning" and has_union(pair.reader):
        return Verdict("read as another type of a union, as Java's has another meaning")
    return Verdict(outcome, is_fault=True, details=f"{ours}, Java: {node}")


def _why_refused(notes: Sequence[str]) -> str:
    for start in ("error", "record names", "logical", "promoted"):
        if any(each.startswith(start) for each in notes):
            return start
    return ""
