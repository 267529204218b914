"""Documents of JSON by their texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spark_source.tools.records.json_text import fault_in, in_one_line, members

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), VALUES), st.sampled_from([None, 1]), st.booleans())
def test_members_of_any_object(document: dict[str, object], indent: int, ascii_only: bool) -> None:
    text = f" {json.dumps(document, indent=indent, ensure_ascii=ascii_only)}\n"
    found = [*members(text)]
    assert [name for name, _ in found] == [*document]
    assert [json.loads(value) for _, value in found] == [*document.values()]


def test_a_member_keeps_its_digits_and_comes_as_often_as_it_stands_there() -> None:
    text = '{"a" : 1.10000000000000000000001 , "a":[1e400],"b":' + "9" * 5_000 + "}"
    assert [*members(text)] == [
        ("a", "1.10000000000000000000001"),
        ("a", "[1e400]"),
        ("b", "9" * 5_000),
    ]
    assert [*members("{ }")] == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "1", "{", '{"a"}', '{"a":}', '{"a":1', '{"a":1,}', '{"a":1}x', "{a:1}"),
        *('{"a":NaN}', '{"a" 1}', "{,}", '{"a":1 "b":2}', '{"a":"\n"}', '{"a":' + "[" * 10**5),
    ],
)
def test_what_is_not_an_object(text: str) -> None:
    with pytest.raises(ValueError, match=r"missing|Expecting|more after|deeply|not JSON|control"):
        [*members(text)]


@pytest.mark.parametrize("text", ['{"a": 1}', "1e999", " null ", '"\\ud800"', "9" * 5_000])
def test_a_document(text: str) -> None:
    assert fault_in(text) is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("{} {}", "Extra data"),
        ("-Infinity", "-Infinity is not JSON"),
        ("[" * 10**5, "nested too deeply"),
    ],
)
def test_what_is_not_a_document(text: str, fault: str) -> None:
    assert fault in str(fault_in(text))


def test_a_document_in_one_line() -> None:
    document = {"a\n": ["\t", {"b": 1}]}
    text = in_one_line(json.dumps(document, indent="\t").replace("\n", "\r\n"))
    assert text.isprintable()
    assert json.loads(text) == document
