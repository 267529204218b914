"""Spark's DDL <-> Arrow types: `id bigint, lines array<struct<sku string>>`.

PySpark's own parser needs a JVM, which a data source does not have when Spark asks for its columns.

Source: Spark's grammar of types (`SqlBaseParser.g4`: `colTypeList`, `dataType`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import pyarrow as pa

from kafka_formats.errors import ITEMS, VALUES, SchemaError, named, path_of

_TOKEN: Final = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^'\\]|\\.)*')|(\w+)|([<>(),:]))")
_MAX_DEPTH: Final = 100
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_SIMPLE: Final[Mapping[str, pa.DataType]] = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": _TIMESTAMP,
    "timestamp_ltz": _TIMESTAMP,
    "timestamp_ntz": pa.timestamp("us"),
}

# The first name of each type.
_NAMES: Final[Mapping[pa.DataType, str]] = {_SIMPLE[name]: name for name in reversed([*_SIMPLE])}


def parse_ddl(text: str) -> pa.DataType:
    """The type of a DDL: one type, or the fields of a struct. All parts can be null.

    Raises:
        SchemaError: It is not DDL, or has a type that JSON is not read as.
    """
    try:
        return _Parser(text).whole_type()
    except SchemaError as error:
        try:
            return _Parser(text).whole_struct()
        except SchemaError as second:
            raise max(error, second, key=_place) from None


def is_ddl(text: str) -> bool:
    """Whether a text is a DDL, and not the path of a file."""
    try:
        parse_ddl(text)
    except _TooDeepError:
        return True
    except SchemaError:
        return False
    return True


def to_ddl(to: pa.DataType, path: str = "") -> str:
    """The DDL of a type: `parse_ddl` gives the type again, with all parts nullable.

    Args:
        to: The type.
        path: The field that has it, for errors.

    Raises:
        SchemaError: JSON is not read as the type. Names the field.
    """
    if pa.types.is_struct(to):
        fields = (_ddl_of_field(each, path_of(path, each.name)) for each in to)
        return f"struct<{', '.join(fields)}>"
    if pa.types.is_map(to) and pa.types.is_string(to.key_type):
        return f"map<string, {to_ddl(to.item_type, path_of(path, VALUES))}>"
    if pa.types.is_list(to):
        return f"array<{to_ddl(to.value_type, path_of(path, ITEMS))}>"
    if pa.types.is_decimal128(to):
        return f"decimal({to.precision}, {to.scale})"
    if to not in _NAMES:
        raise SchemaError(f"{named(path)} has the type {to}")
    return _NAMES[to]


def _ddl_of_field(field: pa.Field, path: str) -> str:
    name = field.name.replace("`", "``")
    return f"`{name}` {to_ddl(field.type, path)}"


class _DdlError(SchemaError):
    """A text that is not DDL.

    Attributes:
        place: The index of the token that does not fit.
    """

    def __init__(self, message: str, place: int) -> None:
        super().__init__(message)
        self.place = place


class _TooDeepError(_DdlError):
    """A DDL, as far as it is read, is nested too deeply."""


def _place(error: SchemaError) -> int:
    return error.place if isinstance(error, _DdlError) else -1


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def whole_type(self) -> pa.DataType:
        data_type = self._type()
        self._end()
        return data_type

    def whole_struct(self) -> pa.DataType:
        fields = [self._field()]
        while self._is(","):
            fields.append(self._field())
        self._end()
        return self._struct_of(fields)

    def _type(self) -> pa.DataType:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"it is deeper than {_MAX_DEPTH} types", _TooDeepError)
        name = self._take().lower()
        if name in _SIMPLE:
            data_type = _SIMPLE[name]
        elif name in _NESTED:
            data_type = _NESTED[name](self)
        else:
            self._next -= 1
            known = ", ".join([*_SIMPLE, *_NESTED])
            raise self._error(f"{name!r} is not a type; types are {known}")
        self._depth -= 1
        return data_type

    def array(self) -> pa.DataType:
        self._expect("<")
        element = self._type()
        self._expect(">")
        return pa.list_(pa.field("element", element))

    def map(self) -> pa.DataType:
        self._expect("<")
        key = self._type()
        if key != pa.string():
            raise self._error("keys of maps must be strings in JSON")
        self._expect(",")
        value = self._type()
        self._expect(">")
        return pa.map_(key, pa.field("value", value))

    def struct(self) -> pa.DataType:
        self._expect("<")
        fields: list[pa.Field] = []
        while not self._is(">"):
            if fields:
                self._expect(",")
            fields.append(self._field())
        return self._struct_of(fields)

    def decimal(self) -> pa.DataType:
        precision, scale = 10, 0
        if self._is("("):
            precision = self._number()
            if self._is(","):
                scale = self._number()
            self._expect(")")
        if not 0 <= scale <= precision or not 1 <= precision <= 38:
            raise self._error("a decimal has 1 to 38 digits, and a scale of at most that many")
        return pa.decimal128(precision, scale)

    def _field(self) -> pa.Field:
        name = self._take()
        if name.startswith("`"):
            name = name[1:-1].replace("``", "`")
        elif not re.fullmatch(r"\w+", name):
            raise self._error(f"{name!r} is not a name of a field; quote other names as `a b`")
        self._is(":")
        data_type = self._type()
        # NOT NULL has no effect in `from_json`, either.
        if self._is("not"):
            self._expect("null")
        if self._is("comment"):
            self._take()
        return pa.field(name, data_type)

    def _struct_of(self, fields: list[pa.Field]) -> pa.DataType:
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise self._error(f"the field {name!r} is there twice")
        return pa.struct(fields)

    def _take(self) -> str:
        if self._next == len(self._tokens):
            raise self._error("it ends too early")
        self._next += 1
        return self._tokens[self._next - 1]

    def _is(self, token: str) -> bool:
        """Whether the next token is this one, which is then taken."""
        is_next = self._next < len(self._tokens) and self._tokens[self._next].lower() == token
        self._next += is_next
        return is_next

    def _expect(self, token: str) -> None:
        if not self._is(token):
            next_token = self._tokens[self._next] if self._next < len(self._tokens) else "its end"
            raise self._error(f"expected {token!r}, not {next_token!r}")

    def _number(self) -> int:
        token = self._take()
        if not (token.isascii() and token.isdigit() and len(token) <= 3):
            raise self._error(f"expected a number, not {token!r}")
        return int(token)

    def _end(self) -> None:
        if self._next < len(self._tokens):
            raise self._error(f"{self._tokens[self._next]!r} is not expected here")

    def _error(self, reason: str, kind: type[_DdlError] = _DdlError) -> _DdlError:
        before = " ".join(self._tokens[max(0, self._next - 4) : self._next])
        where = f" after {before!r}" if before else ""
        return kind(f"the DDL is not valid{where}: {reason}", self._next)


_NESTED: Final[Mapping[str, Callable[[_Parser], pa.DataType]]] = {
    "array": _Parser.array,
    "map": _Parser.map,
    "struct": _Parser.struct,
    "decimal": _Parser.decimal,
    "dec": _Parser.decimal,
    "numeric": _Parser.decimal,
}


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise _DdlError(f"the DDL has {text[at : at + 10].strip()!r}, which is not DDL", 0)
        tokens.append(match[0].lstrip())
        at = match.end()
    return tokens
