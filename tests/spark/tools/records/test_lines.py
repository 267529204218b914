"""Lines as records to write."""

from __future__ import annotations

import json
from collections.abc import Collection

import pytest

from kafka_spark_source.tools.records.lines import (
    FORMS,
    BrokenLineError,
    Document,
    Line,
    form_of,
    read_lines,
)

BOTH = ("key", "value")


def read(form: str, *lines: bytes, formats: Collection[str] = ()) -> list[Line]:
    return [*read_lines(lines, form, formats, 1)]


def test_bare_values_and_keys_with_values() -> None:
    assert read("lines", b"a\tb\r", b"", b"\xff") == [
        Line(1, None, b"a\tb\r"),
        Line(2, None, b""),
        Line(3, None, b"\xff"),
    ]
    assert read("tab", b"k\tv\tw", b"\t") == [Line(1, b"k", b"v\tw"), Line(2, b"", b"")]


def test_json_has_all_of_a_record() -> None:
    line = (
        b'{"topic": "t", "partition": 1, "offset": 7, "timestamp_ms": 1500, "key_base64": "/w==", '
        b'"value": "\\u00e9", "headers": [{"name": "h", "value": "1"}, {"name": "h", "value": null}'
        b', {"name": "h", "value_base64": "/w=="}], "error": "why"}'
    )
    headers = (("h", b"1"), ("h", None), ("h", b"\xff"))
    assert read("json", b" ", line, b'{"value": null}') == [
        Line(2, b"\xff", b"\xc3\xa9", headers, 1500),
        Line(3, None, None),
    ]


def test_a_column_with_a_format_has_documents_with_all_their_digits() -> None:
    line = b'{"key": "k", "value": {"d": 1.10000000000000000000001}}'
    (found,) = read("json", line, formats=BOTH)
    assert (found.key, found.value) == ('"k"', '{"d": 1.10000000000000000000001}')
    assert isinstance(found.value, Document)
    null, broken = read("json", b'{"value": null}', b'{"value_base64": "/w=="}', formats=BOTH)
    assert (null.value, broken.value) == (None, b"\xff")
    (pair,) = read("tab", b"1\t null", formats=BOTH)
    assert (pair.key, pair.value) == ("1", None)


@pytest.mark.parametrize(
    ("form", "line", "reason"),
    [
        ("tab", b"kv", "there is no tab"),
        ("json", b"[]", "missing at character 0"),
        ("json", b"\xff", "it is not UTF-8"),
        ("json", b'{"value": "\\ud800"}', "it is not UTF-8"),
        ("json", b'{"key": "k"}', "there is no value"),
        ("json", b'{"value": 1}', "set -O value.format=json"),
        ("json", b'{"value": {}, "key": null}', "neither a string nor null"),
        ("json", b'{"value": null, "keys": "k"}', "did you mean 'key'"),
        ("json", b'{"value": null, "value": "v"}', "'value' is there twice"),
        ("json", b'{"value": "v", "value_base64": ""}', "both value and value_base64"),
        ("json", b'{"value_base64": "*"}', "is not base64"),
        ("json", b'{"value": null, "headers": {"h": "1"}}', "headers are not as here"),
        ("json", b'{"value": null, "headers": [{"value": "1"}]}', "headers are not as here"),
        ("json", b'{"value": null, "headers": [{"name": "h", "value": 1}]}', "headers are not"),
        ("json", b'{"value": null, "headers": ["h"]}', "headers are not as here"),
        ("json", b'{"value": null, "headers": [{"name": "h", "vlaue": "1"}]}', "headers are not"),
        ("json", b'{"value": null, "headers": [{"name": "h"}]}', "headers are not as here"),
        (
            "json",
            b'{"value": null, "headers": [{"name": "h", "value": "1", "of": 1}]}',
            "headers are not",
        ),
        (
            "json",
            b'{"value": null, "headers": [{"name": "h", "name": "i", "value": "1"}]}',
            "a header has a name twice",
        ),
        (
            "json",
            b'{"value": null, "headers": [{"name": "\\ud800", "value": "1"}]}',
            "it is not UTF-8",
        ),
        ("json", b'{"value": null, "timestamp_ms": -2}', "timestamp_ms is not a number"),
        ("json", b'{"value": null, "timestamp_ms": true}', "timestamp_ms is not a number"),
        ("json", b'{"value": null, "timestamp_ms": 9223372036854776}', "to 9223372036854775"),
    ],
)
def test_a_broken_line_is_named(form: str, line: bytes, reason: str) -> None:
    good = {"lines": b"", "tab": b"\t", "json": b'{"value": null}'}[form]
    found = read_lines([good, line, good], form, (), 40)
    assert next(found).number == 40
    with pytest.raises(BrokenLineError) as error:
        next(found)
    assert str(error.value).startswith("line 41: ")
    assert reason in str(error.value)


@pytest.mark.parametrize("text", [b"{", b"\xff", b"", b"NaN"])
@pytest.mark.parametrize("form", ["lines", "tab", "json"])
def test_documents_are_checked(form: str, text: bytes) -> None:
    line = {"lines": text, "tab": text + b"\tv", "json": b'{"value":' + text + b"}"}[form]
    with pytest.raises(BrokenLineError):
        read(form, line, formats=BOTH)


def test_lines_of_peek_are_recognised() -> None:
    line = json.dumps({"topic": "t", "partition": 0, "offset": 0, "timestamp_ms": 0, "value": "v"})
    assert form_of(line.encode()) == "json"
    assert {form_of(each) for each in (b"", b"v", b'{"value": "v"}', b"\xff")} == {"lines"}
    assert [*FORMS] == ["lines", "tab", "json"]
