"""Records for `topics_to_tables` and Iceberg's sink, and where the two tables differ. Only data."""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

Fields = dict[str, Any]
ROWS: Final = 6
"""How many records each topic gets of a schema."""
LATE: Final = range(2 * ROWS, 2 * ROWS + 2)
"""Ids of records of the first schema that come after records of the second."""
TOMBSTONES: Final = 2


class Difference(NamedTuple):
    """A column whose type differs.

    Attributes:
        about: The type of the records, as the page names it.
        ours: Its type in the table of `topics_to_tables`, as Iceberg writes it.
        sinks: The type that the sink made.
        as_ours: An expression of SQL over the sink's table: the value that the other table has.
    """

    about: str
    ours: str
    sinks: str
    as_ours: str


def _record(name: str, **types: Any) -> Fields:
    fields = [
        {"name": each, "type": kind} | ({"default": None} if "null" in kind else {})
        for each, kind in types.items()
    ]
    return {"type": "record", "name": name, "fields": fields}


def _logical(kind: str, name: str, **parameters: int) -> Fields:
    return {"type": kind, "logicalType": name, **parameters}


def _order(wide: str, exact: str, **more: Any) -> Fields:
    """A schema of orders; with more fields also in its parts if `more` has any."""
    note = {"note": ["null", "string"]} if more else {}
    types = {
        **{"id": "long", "small": "int", "wide": wide, "exact": exact},
        "short": {"type": "int", "connect.type": "int16"},
        **{"ratio": "float", "amount": "double", "ok": "boolean", "text": "string"},
        "blob": "bytes",
        "colour": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]},
        "hash": {"type": "fixed", "name": "Hash", "size": 4},
        "uid": _logical("string", "uuid"),
        "maybe": ["null", "string"],
        "price": _logical("bytes", "decimal", precision=10, scale=2),
        "rate": ["null", _logical("bytes", "decimal", precision=20, scale=5)],
        "day": _logical("int", "date"),
        "at": _logical("long", "timestamp-millis"),
        "at_micros": _logical("long", "timestamp-micros"),
        "local": _logical("long", "local-timestamp-millis"),
        "local_micros": _logical("long", "local-timestamp-micros"),
        "clock_micros": _logical("long", "time-micros"),
        "tags": {"type": "array", "items": "string"},
        "holes": {"type": "array", "items": ["null", "int"]},
        "counts": {"type": "map", "values": "long"},
        "lines": {"type": "array", "items": _record("Line", sku="string", n="int", **note)},
        "address": _record("Address", city="string", zip=["null", "int"], **note),
        "other": ["null", _record("Other", city="string")],
        "either": ["null", "long", "string"],
        "number": ["int", "long"],
        **more,
    }
    return _record("Order", **types)


FIRST: Final = _order("int", "float")
SECOND: Final = _order("long", "double", note=["null", "string"], grade="int")
"""With wider types, with new fields in the record and in its parts, one of them with a default."""
SECOND["fields"][-1]["default"] = 7
CLOCK: Final = _record("Clock", id="long", clock=_logical("int", "time-millis"))
"""Of a topic of its own: Spark cannot read the table that the sink makes."""

AVRO_DIFFERENCES: Final[Mapping[str, Difference]] = {
    "price": Difference(
        "decimal(10, 2)", "decimal(10, 2)", "decimal(38, 2)", "CAST(price AS decimal(10, 2))"
    ),
    "rate": Difference(
        "decimal(20, 5)", "decimal(20, 5)", "decimal(38, 5)", "CAST(rate AS decimal(20, 5))"
    ),
    "at_micros": Difference(
        "timestamp-micros", "timestamptz", "long", "timestamp_micros(at_micros)"
    ),
    "local": Difference(
        *("local-timestamp-millis", "timestamp", "long"),
        "CAST(timestamp_millis(local) AS timestamp_ntz)",
    ),
    "local_micros": Difference(
        *("local-timestamp-micros", "timestamp", "long"),
        "CAST(timestamp_micros(local_micros) AS timestamp_ntz)",
    ),
    "either": Difference(
        "union of null, long and string",
        "struct<member0: long, member1: string>",
        "struct<long: long, string: string>",
        "CAST(either AS struct<member0: bigint, member1: string>)",
    ),
    "number": Difference(
        *("union of int and long", "long", "struct<int: int, long: long>"),
        "coalesce(number.long, number.int)",
    ),
}
CLOCK_DIFFERENCES: Final[Mapping[str, Difference]] = {
    "clock": Difference("time-millis", "int", "time", "")
}
# Records of the first schema that are read after the second one has its default for the field.
GROWN: Final = {"grade": f"IF(id >= {LATE.start}, 7, grade)"}
READ_AT_ONCE: Final = {"grade": "coalesce(grade, 7)"}
"""How the sink's value becomes the one of a table whose query knew both schemas."""


def orders(ids: range, *, is_second: bool) -> list[Fields]:
    """Values of FIRST or of SECOND, with the extremes of their types."""
    return [_newer(each) if is_second else _older(each) for each in ids]


def _older(number: int) -> Fields:
    is_odd = number % 2 == 1
    moment = dt.datetime(1600 if is_odd else 2600, 1, 2, 3, 4, 5, 678_901)
    millis = moment.replace(microsecond=678_000)
    return {
        **{"id": number, "small": -(2**31) if is_odd else 2**31 - 1},
        **{"wide": 2**31 - 1 - number, "exact": 0.1, "short": -(2**15) + number},
        "ratio": [float("nan"), float("-inf"), 0.1, -0.0, 3.4e38, 1e-45][number % 6],
        "amount": [1.7e308, 5e-324, float("nan"), -0.0, float("inf"), 0.1][number % 6],
        **{"ok": is_odd, "text": f"nä\0\n{number}\U0001f600", "blob": b"\0\xff"[: number % 3]},
        **{"colour": "BLUE", "hash": b"ab\0\xff", "maybe": None if is_odd else ""},
        "uid": f"123e4567-e89b-12d3-a456-42661417400{number % 10}",
        "price": Decimal("-99999999.99") if is_odd else Decimal("0.01"),
        "rate": None if is_odd else Decimal("123456789012345.67891"),
        "day": dt.date(1, 1, 1) if is_odd else dt.date(9999, 12, 31),
        "at": millis.replace(tzinfo=dt.timezone.utc),
        "at_micros": moment.replace(tzinfo=dt.timezone.utc),
        **{"local": millis, "local_micros": moment, "clock_micros": dt.time(23, 59, 59, 999_999)},
        **{"tags": ["a", ""][: number % 3], "holes": [None, number, None][: number % 4]},
        **{"counts": {"a": number, "": -1, "z": 2**62} if is_odd else {}},
        "lines": [{"sku": f"{each}", "n": each} for each in range(number % 3)],
        "address": {"city": "c", "zip": None if is_odd else number},
        "other": None if is_odd else {"city": f"{number}"},
        "either": [None, number, "text"][number % 3],
        "number": number if is_odd else 2**40,
    }


def _newer(number: int) -> Fields:
    older = _older(number)
    text = None if number % 2 else f"note {number}"
    lines = [{**each, "note": text} for each in older["lines"]]
    new = {
        "wide": 2**63 - 1 - number,
        "lines": lines,
        "address": {**older["address"], "note": text},
    }
    return {**older, **new, "note": text, "grade": number}


def clocks(ids: range) -> list[Fields]:
    """Values of CLOCK."""
    return [{"id": each, "clock": dt.time(23, 59, each, 999_000)} for each in ids]


def _connect(kind: str, name: str = "", **more: Any) -> Fields:
    """A schema of Connect; `name` is the name of one of its own types."""
    named = {"name": f"org.apache.kafka.connect.data.{name}", "version": 1} if name else {}
    return {"type": kind, "optional": True, **named, **more}


_PARTS: Final = [{"field": "a", **_connect("int32")}, {"field": "b", **_connect("string")}]
_JSON: Final = {
    "id": _connect("int64") | {"optional": False},
    **{kind: _connect(kind) for kind in ("int8", "int16", "int32", "float", "double")},
    **{kind: _connect(kind) for kind in ("boolean", "string", "bytes")},
    "price": _connect("bytes", "Decimal", parameters={"scale": "2"}),
    "day": _connect("int32", "Date"),
    "at": _connect("int64", "Timestamp"),
    "parts": _connect("struct", fields=_PARTS),
    "tags": _connect("array", items=_connect("string")),
    "counts": _connect("map", keys=_connect("string"), values=_connect("int64")),
    "pairs": _connect("map", keys=_connect("int32"), values=_connect("string")),
}
JSON_COLUMNS: Final = (
    "id bigint, int8 tinyint, int16 smallint, int32 int, float float, double double, "
    "boolean boolean, string string, bytes binary, price binary, day int, at bigint, "
    "parts struct<a: int, b: string>, tags array<string>, counts map<string, bigint>, "
    "pairs string, note string"
)
JSON_DIFFERENCES: Final[Mapping[str, Difference]] = {
    "price": Difference(
        *("Decimal", "binary", "decimal(38, 2)"),
        # The two bytes of the number without its point.
        "unhex(right(concat('000', hex(CAST(price * 100 AS bigint))), 4))",
    ),
    "day": Difference("Date", "int", "date", "unix_date(day)"),
    "at": Difference("Timestamp", "long", "timestamptz", "unix_millis(at)"),
    "pairs": Difference(
        *("map with int32 keys", "string", "map<int, string>"),
        """concat('[[', map_keys(pairs)[0], ',"', map_values(pairs)[0], '"]]')""",
    ),
}


def documents(ids: range, *, is_second: bool) -> list[Fields]:
    """Values as Connect's JsonConverter writes them, with their schema; a field more if second."""
    note = {"note": _connect("string")} if is_second else {}
    fields = [{"field": name, **kind} for name, kind in {**_JSON, **note}.items()]
    schema = {"type": "struct", "optional": False, "fields": fields}
    return [{"schema": schema, "payload": _payload(each, is_second)} for each in ids]


def _payload(number: int, is_second: bool) -> Fields:
    sign = -1 if number % 4 else 1
    new = {"note": f"note {number}"} if is_second else {}
    if number % 2:
        return {**dict.fromkeys(_JSON), **new, "id": number}
    return {
        **{"id": number, "int8": sign * 127, "int16": sign * 32767, "int32": sign * 2**31 - sign},
        **{"float": sign * 0.5, "double": 0.1, "boolean": sign < 0, "string": "é\n\0"},
        "bytes": _base64(b"\0\xff"),
        "price": _base64((sign * 1234).to_bytes(2, "big", signed=True)),
        **{"day": sign * 20_000, "at": sign * 1_700_000_000_123},
        **{"parts": {"a": number, "b": None}, "tags": ["a", None, ""]},
        **{"counts": {"k": 2**62, "": number}, "pairs": [[number, "a"]]},
        **new,
    }


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
