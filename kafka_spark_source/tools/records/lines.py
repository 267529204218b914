"""Lines -> records to write: bare values, keys and values, or JSON as `peek` prints it. Pure.

A column with a format has documents of JSON, which are encoded later.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_protocol.errors import KafkaError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_spark_source.tools.records.json_text import fault_in, members

_TAB: Final = b"\t"
_BASE64: Final = "_base64"
# Written as microseconds of 64 bits. Kafka has -1 for a record without a time.
_LEAST_MS: Final = -1
_MOST_MS: Final = (2**63 - 1) // 1_000
# Where the record was, and why it could not be decoded.
_IGNORED: Final = ("topic", "partition", "offset", "error")
_KNOWN: Final = (
    *_IGNORED,
    *("timestamp_ms", "key", "key_base64", "value", "value_base64", "headers"),
)
_OF_HEADERS: Final = ({"value"}, {f"value{_BASE64}"}, {"value", f"value{_BASE64}"})
_OF_PEEK: Final = frozenset({"topic", "partition", "offset", "timestamp_ms"})


class BrokenLineError(KafkaError):
    """A line is not a record, or its value does not fit the schema.

    Attributes:
        number: That of the line, from 1 on.
    """

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"line {number}: {reason}")
        self.number = number


class Document(str):
    """A document of JSON, to be encoded."""

    __slots__ = ()


Payload: TypeAlias = bytes | Document | None
Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]


class Line(NamedTuple):
    """The record of a line. `timestamp_ms` is None for the time of writing."""

    number: int
    key: Payload
    value: Payload
    headers: Headers = ()
    timestamp_ms: int | None = None


# A line without its end, and the columns with a format -> the record. Raises ValueError.
Read: TypeAlias = Callable[[int, bytes, Collection[str]], Line]


def _value_only(number: int, line: bytes, formats: Collection[str]) -> Line:
    return Line(number, None, _given("value", line, formats))


def _key_and_value(number: int, line: bytes, formats: Collection[str]) -> Line:
    key, tab, value = line.partition(_TAB)
    if not tab:
        raise ValueError("there is no tab between a key and a value")
    return Line(number, _given("key", key, formats), _given("value", value, formats))


def _given(column: str, data: bytes, formats: Collection[str]) -> Payload:
    """A payload that is a part of a line."""
    if column not in formats:
        return data
    text = data.decode()
    fault = fault_in(text)
    if fault is not None:
        raise ValueError(f"the {column} is not JSON, which its format needs: {fault}")
    return _document(text)


def _document(text: str) -> Document | None:
    return None if text.strip() == "null" else Document(text)


def _record(number: int, line: bytes, formats: Collection[str]) -> Line:
    given: dict[str, str] = {}
    for name, text in members(line.decode()):
        if name in given:
            raise ValueError(f"{name!r} is there twice")
        given[name] = text
    for name in sorted(given.keys() - set(_KNOWN)):
        known = {each: each for each in _KNOWN}
        advice = did_you_mean(name, known, otherwise=f"there are {', '.join(_KNOWN)}")
        raise ValueError(f"{name!r} is not of a record: {advice}")
    if given.keys().isdisjoint({"value", f"value{_BASE64}"}):
        raise ValueError('there is no value: write "value": null for a tombstone')
    return Line(
        number,
        _member("key", given, formats),
        _member("value", given, formats),
        _headers(given.get("headers", "null")),
        _timestamp(given.get("timestamp_ms", "null")),
    )


def _member(column: str, given: Mapping[str, str], formats: Collection[str]) -> Payload:
    """A payload in JSON; null if there is none."""
    if column in given and column in formats:
        _check_single(column, given)
        return _document(given[column])
    parsed = {name: json.loads(text) for name, text in given.items() if name.startswith(column)}
    try:
        return _bytes(column, parsed)
    except TypeError:
        raise ValueError(
            f"the {column} is neither a string nor null: put it in quotes, or set "
            f"-O {column}.format=json to write it as it is"
        ) from None


def _check_single(name: str, given: Mapping[str, Any]) -> None:
    if name in given and f"{name}{_BASE64}" in given:
        raise ValueError(f"there are both {name} and {name}{_BASE64}")


def _bytes(name: str, given: Mapping[str, Any]) -> bytes | None:
    """The bytes of a string, of base64, or null.

    Raises:
        TypeError: It is something else.
        ValueError: A string cannot be UTF-8, or is not base64.
    """
    _check_single(name, given)
    encoded = given.get(f"{name}{_BASE64}")
    if encoded is not None:
        try:
            return base64.b64decode(encoded, validate=True)
        except binascii.Error as error:
            raise ValueError(f"{name}{_BASE64} is not base64: {error}") from error
    text = given.get(name)
    if not isinstance(text, str | None):
        raise TypeError(name)
    return None if text is None else text.encode()


def _headers(text: str) -> Headers:
    listed = json.loads(text, object_pairs_hook=_without_twins)
    if listed is None:
        return ()
    try:
        return tuple(map(_header, listed))
    except (TypeError, KeyError):
        raise ValueError(
            'headers are not as here: [{"name": "n", "value": "v"}], with null or value_base64'
        ) from None


def _header(given: Mapping[str, Any]) -> tuple[str, bytes | None]:
    name = given["name"]
    # A misspelt value would be a null.
    if not isinstance(name, str) or given.keys() - {"name"} not in _OF_HEADERS:
        raise TypeError(name)
    name.encode()  # UTF-8 cannot have half of a surrogate pair
    return name, _bytes("value", given)


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a header has a name twice")
    return members


def _timestamp(text: str) -> int | None:
    parsed = json.loads(text)
    if parsed is None:
        return None
    if type(parsed) is not int or not _LEAST_MS <= parsed <= _MOST_MS:
        raise ValueError(f"timestamp_ms is not a number from {_LEAST_MS} to {_MOST_MS}")
    return parsed


FORMS: Final[Mapping[str, Read]] = {
    "lines": _value_only,
    "tab": _key_and_value,
    "json": _record,
}
"""What lines are, by the names that users know."""


def form_of(line: bytes) -> str:
    """The form of lines, by the first of them: JSON as `peek` prints it, else bare values."""
    try:
        names = {name for name, _ in members(line.decode())}
    except ValueError:
        return "lines"
    return "json" if names >= _OF_PEEK else "lines"


def read_lines(
    lines: Collection[bytes], form: str, formats: Collection[str], first_number: int
) -> Iterator[Line]:
    """The records of lines; JSON may have empty lines between them.

    Raises:
        BrokenLineError: A line is not a record. From the iterator, at this line.
    """
    read = FORMS[form]
    for number, line in enumerate(lines, first_number):
        if form == "json" and not line.strip():
            continue
        try:
            yield read(number, line, formats)
        except UnicodeError as error:
            raise BrokenLineError(number, f"it is not UTF-8: {error}") from error
        except ValueError as error:
            raise BrokenLineError(number, str(error)) from error
