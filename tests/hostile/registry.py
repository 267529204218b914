"""What a hostile registry sends: statuses, heads, redirects, bodies, schemas."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any, Final

from hypothesis import strategies as st

from kafka_formats.payload.schema_text import DESCRIPTOR_SET
from tests.hostile.names import HOSTILE_NAMES, hostile_names

Json = Any

CANARY: Final = "http://canary.invalid:8081"
_NAMES = hostile_names()
_KINDS = st.sampled_from(["AVRO", "JSON", "PROTOBUF", "avro", "XML", "", "\0"]) | _NAMES
_NUMBERS = st.integers(-2, 3) | st.sampled_from([2**31 - 1, 2**31, 2**63, 1.5, True, None, "1"])

# --- Schemas -------------------------------------------------------------------------------------

_AVRO_LEAVES = st.sampled_from(["int", "string", "bytes", "null", "Other", "record"]) | _NAMES


def _avro_parts(parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    field = st.fixed_dictionaries(
        {"name": _NAMES | st.just("a"), "type": parts},
        optional={"default": parts, "aliases": st.lists(_NAMES, max_size=2), "doc": _NAMES},
    )
    return (
        st.lists(parts, max_size=3)
        | st.fixed_dictionaries(
            {
                "type": st.just("record"),
                "name": _NAMES | st.just("R"),
                "fields": st.lists(field, max_size=3),
            },
            optional={"namespace": _NAMES},
        )
        | st.fixed_dictionaries({"type": st.just("array"), "items": parts})
        | st.fixed_dictionaries({"type": st.just("map"), "values": parts})
        | st.fixed_dictionaries(
            {"type": st.just("enum"), "name": _NAMES, "symbols": st.lists(_NAMES, max_size=3)}
        )
        | st.fixed_dictionaries(
            {
                "type": st.sampled_from(["bytes", "fixed"]),
                "name": _NAMES,
                "logicalType": st.sampled_from(["decimal", "uuid", "date"]),
                "size": _NUMBERS,
                "precision": _NUMBERS,
                "scale": _NUMBERS,
            }
        )
    )


_AVRO = st.recursive(_AVRO_LEAVES, _avro_parts, max_leaves=8).map(json.dumps)
_REFERENCES = st.sampled_from(
    [CANARY, f"{CANARY}/x.json#/a", "file:///etc/passwd", "#", "#/properties/a", "#/definitions/b"]
)


def _json_parts(parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries(
        {},
        optional={
            "$ref": _REFERENCES | _NAMES,
            "$id": _REFERENCES | _NAMES,
            "$schema": _REFERENCES,
            "type": st.sampled_from(["object", "array", "string", "integer", ["null", "number"]]),
            "properties": st.dictionaries(_NAMES | st.just("a"), parts, max_size=3),
            "items": parts,
            "additionalProperties": parts,
            "oneOf": st.lists(parts, max_size=2),
            "allOf": st.lists(parts, max_size=2),
            "pattern": st.sampled_from(["(a+)+$", "(", ".*" * 50]),
            "enum": st.lists(_NAMES, max_size=2),
            "connect.type": _NAMES,
            "title": _NAMES,
        },
    )


_JSON = st.recursive(st.booleans() | st.just({}), _json_parts, max_leaves=8).map(json.dumps)
_IMPORTS = _NAMES | st.sampled_from(
    [
        "google/protobuf/timestamp.proto",
        "google/protobuf/../../os.proto",
        "google/type/date.proto",
        "confluent/meta.proto",
        "/etc/passwd",
        "schema.proto",
    ]
)


def _proto(imports: list[str], name: str, comment: str) -> str:
    quoted = [each.replace("\\", r"\\").replace('"', r"\"").replace("\n", " ") for each in imports]
    lines = "".join(f'import "{each}";\n' for each in quoted)
    return f'syntax = "proto3";\n{lines}// {comment}\nmessage {name} {{ int32 a = 1; }}\n'


_PROTO = (
    st.builds(_proto, st.lists(_IMPORTS, max_size=3), st.just("M") | _NAMES, _NAMES)
    | st.binary(max_size=40).map(lambda data: base64.b64encode(data).decode())
    | st.binary(max_size=40).map(lambda data: DESCRIPTOR_SET + base64.b64encode(data).decode())
    | st.sampled_from(HOSTILE_NAMES).map(
        lambda name: base64.b64encode(
            b"\x1a" + bytes([min(len(name.encode(errors="replace")), 127)])
            + name.encode(errors="replace")[:127]
        ).decode()
    )
)  # fmt: skip
_DEEP = st.sampled_from(
    ['[' * 5_000 + ']' * 5_000, '{"type":' * 3_000, "message A {" * 3_000, '{"a":' * 900 + "1"]
)  # fmt: skip
_SCHEMAS = {"avro": _AVRO, "json": _JSON, "protobuf": _PROTO}


@cache
def schema_texts(format_: str) -> st.SearchStrategy[str]:
    """Schemas of a format, of all shapes; now and then no schema at all."""
    return st.one_of(_SCHEMAS[format_], _SCHEMAS[format_], _DEEP, st.text(max_size=20))


# --- Responses -----------------------------------------------------------------------------------


@cache
def bodies(format_: str) -> st.SearchStrategy[Json]:
    """The JSON of a schema, a version, a list of versions, or of anything."""
    reference = st.fixed_dictionaries(
        {"name": _NAMES, "subject": _NAMES, "version": _NUMBERS | st.just(1)}
    )
    schema = st.fixed_dictionaries(
        {
            "schema": schema_texts(format_),
            "schemaType": st.just(format_.upper()) | _KINDS,
            "subject": _NAMES | st.just("orders-value"),
            "version": st.just(1) | _NUMBERS,
            "id": st.integers(0, 4) | _NUMBERS,
        },
        optional={"references": st.lists(reference, max_size=3) | _NUMBERS},
    )
    honest = st.fixed_dictionaries(
        {
            "schema": schema_texts(format_),
            "schemaType": st.just(format_.upper()),
            "subject": st.just("orders-value"),
            "version": st.just(1),
            "id": st.integers(0, 4),
        },
        optional={"references": st.lists(reference, max_size=3)},
    )
    versions = st.just([1]) | st.lists(_NUMBERS, max_size=3)
    return st.one_of(honest, honest, schema, versions, _NUMBERS, _NAMES)


_LOCATIONS = st.sampled_from(
    [
        *(f"{CANARY}/schemas/ids/1", "//canary.invalid/", "file:///etc/passwd", "/", "", "?a=b"),
        *("http://127.0.0.1:1/", "http://user:pw@127.0.0.1/", "\\\\canary", "javascript:x", "/%0d"),
        *("http://[::1]:1/", "http://127.0.0.1:99999/", "gopher://127.0.0.1/"),
    ]
)
_EXTRA_HEADERS = ("", "Transfer-Encoding: chunked", "Content-Encoding: gzip", "X: " + "y" * 9_000)
_ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-8-sig", "latin-1"])


def _framed(status: int, body: bytes, length: int | None, location: str, extra: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body) if length is None else length}"]
    lines += [f"Location: {location}"] if location else []
    lines += [extra] if extra else []
    head = "\r\n".join([*lines, "", ""]).encode("utf-8", "replace")
    return head + body


@cache
def responses(format_: str) -> st.SearchStrategy[bytes]:
    """The bytes of a response; mostly one of HTTP, and of a success."""
    text = bodies(format_).map(json.dumps)
    content = st.builds(lambda body, name: body.encode(name, "replace"), text, _ENCODINGS)
    honest = st.builds(
        _framed, st.just(200), text.map(str.encode), st.none(), st.just(""), st.just("")
    )
    any_ = st.builds(
        _framed,
        st.sampled_from([200, 200, 204, 301, 302, 307, 308, 400, 401, 404, 422, 429, 500, 999]),
        content | st.binary(max_size=50),
        st.none() | st.sampled_from([0, 1, 2**31, 2**63, -1]),
        st.just("") | _LOCATIONS,
        st.sampled_from(_EXTRA_HEADERS),
    )
    return st.one_of(honest, honest, honest, any_, st.binary(max_size=30))
