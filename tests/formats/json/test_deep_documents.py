"""Documents of any depth, length and width have the values and verdicts of shallow ones."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decode_one import parse
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.deep_documents import first_document
from kafka_formats.json.java_text import NumberText, json_text

DEPTHS = (400, 1_001, *(pytest.param(each, marks=pytest.mark.slow) for each in (250, 999, 5_000)))
DECODER = json.JSONDecoder(parse_float=NumberText, parse_constant=NumberText)
TOKENS = st.sampled_from(
    [
        *('{"a":', '"b":', '"a"', "{", "}", "[", "]", ",", ":", " ", "\n", "{}", "[]"),
        *("1", "-0", "1.5e3", "01", "-", "NaN", "-Infinity", "null", "true", "fals", '"', "\\"),
        *('"\\ud83d\\ude00"', '"\t"', '"\\x"', "\ufeff", '"é"'),
    ]
)


def nested(opening: str, depth: int, closing: str) -> str:
    return opening * depth + "1" + closing * depth


KINDS = [('{"a":', "}"), ("[", "]"), ('[{"b":', "}]")]


DDLS = (
    *("id bigint, extra string", "id bigint, extra map<string,string>", "id bigint"),
    *("id bigint, extra array<string>", "id bigint, extra array<struct<b string>>"),
    *("id bigint, extra int", "map<string,string>", "string"),
)


@pytest.mark.no_cover
@pytest.mark.many_inputs
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("ddl", DDLS)
def test_deep_values_are_read_or_broken(ddl: str, depth: int) -> None:
    check_deep_values(ddl, depth)


@pytest.mark.no_cover
@pytest.mark.parametrize("ddl", [DDLS[0], pytest.param(DDLS[-2], marks=pytest.mark.slow)])
def test_a_depth_of_100_000(ddl: str) -> None:
    check_deep_values(ddl, 100_000)


def check_deep_values(ddl: str, depth: int) -> None:
    decoder = decoder_for(parse_ddl(ddl))
    for opening, closing in KINDS:
        text = f'{{"extra":{nested(opening, depth, closing)},"id":2}}'
        payloads = pa.array([b'{"id":1}', text.encode(), b'{"id":3}'])
        found = decoder.decode(payloads, 0)
        assert found.is_broken.tolist()[::2] == [False, False]
        if found.is_broken[1]:
            assert decoder.explain(payloads[1].as_py()).reason.startswith("it is an ")
            continue
        # The text of what is deep is all of it.
        length = len(str(found.values[1].as_py()))
        assert "extra" not in str(found.values.type) or length > depth * len(opening + closing)


def test_the_verdict_does_not_depend_on_the_depth_of_the_caller() -> None:
    text = nested("[", 900, "]").encode()

    def called_at(depth: int) -> Any:
        return called_at(depth - 1) if depth else json_text(parse(text))

    assert {called_at(depth) for depth in (0, 50, 300, 600)} == {text.decode()}


@given(st.lists(TOKENS, max_size=12).map("".join))
@example('{"a": 1, "a": [2, {}]} more')
@example('{"a":{"b":[1,"x",null,true,1.50]},"c":[]}')
def test_documents_are_those_of_pythons_decoder(text: str) -> None:
    try:
        expected, error = DECODER.raw_decode(text)[0], None
    except json.JSONDecodeError as raised:
        expected, error = None, raised.msg
    try:
        found, found_error = first_document(text, 0), None
    except json.JSONDecodeError as raised:
        found, found_error = None, raised.msg
    assert repr(found) == repr(expected)
    assert (found_error is None) == (error is None)


def test_a_number_of_any_length_is_read_where_a_text_is_wanted() -> None:
    long = "7" * 100_000
    ddl = "s string, d double, n decimal(38,0)"
    decoder = decoder_for(parse_ddl(ddl))
    fields = [("s", long), ("d", long), ("n", long), ("s", f"[{long}]"), ("n", "5")]
    payloads = pa.array([f'{{"x":{long},"{name}":{value}}}'.encode() for name, value in fields])
    found = decoder.decode(payloads, 0)
    assert found.is_broken.tolist() == [False, False, True, False, False]
    assert found.values.field("s").to_pylist()[::3] == [long, f"[{long}]"]
    assert found.values.field("d")[1].as_py() == float("inf")
    many = decoder.decode(payloads.take(pa.array([4] * 40)), 0)
    assert not many.is_broken.any()


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "text",
    [
        '{"s":"' + "x" * 300_000 + '"}',
        '{"s":"' + "\\u0001" * 50_000 + '"}',
        "{" + ",".join(f'"k{n}":{n}' for n in range(20_000)) + "}",
        '{"s":[' + "[]," * 30_000 + "1]}",
        '{"s":[' + '"",' * 30_000 + "1]}",
    ],
)
@pytest.mark.parametrize("ddl", ["s string", "map<string,string>", "k19999 int"])
def test_long_and_wide_values_are_read_in_bounded_memory(text: str, ddl: str) -> None:
    decoder = decoder_for(parse_ddl(ddl))
    tracemalloc.start()
    try:
        found = decoder.decode(pa.array([text.encode()] * 3), 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert not found.is_broken.any()
    assert found.values[0].as_py() == found.values[2].as_py()
    assert peak < 100 * len(text)


WRAPS = st.lists(st.sampled_from(KINDS), min_size=1, max_size=3)
HOSTILE = st.builds(
    lambda wraps, depth, width, end: (
        '{"id":1,"v":'
        + "".join(opening for opening, _ in wraps) * depth
        + "[" + ",".join(["1"] * width) + "]"
        + "".join(closing for _, closing in reversed(wraps)) * depth
        + end
    ),
    WRAPS,
    st.sampled_from([0, 1, 3, 40, 200, 700]),
    st.sampled_from([0, 1, 30, 2_000]),
    st.sampled_from(["}", "}", "} x", "", ',"v":2}', "]}"]),
)  # fmt: skip
HOSTILE_TYPES = st.sampled_from(
    [
        *("id bigint, v string", "id bigint, v array<string>", "id bigint", "v map<string,string>"),
        *("v array<array<bigint>>", "v array<struct<b array<string>>>", "string", "array<string>"),
        *("map<string,string>", "v struct<a struct<a string>>", "v bigint", "v decimal(5,2)"),
    ]
)


@pytest.mark.no_cover
@given(st.lists(HOSTILE, min_size=1, max_size=6), HOSTILE_TYPES, st.booleans())
def test_hostile_payloads_have_the_values_of_each_by_itself(
    texts: list[str], ddl: str, many: bool
) -> None:
    payloads = [text.encode() for text in texts] * (20 if many else 1)
    decoder = decoder_for(parse_ddl(ddl))
    found = decoder.decode(pa.array(payloads), 0)
    for row, text in enumerate(texts):
        alone = decoder.decode(pa.array([text.encode()]), 0)
        assert found.is_broken[row] == alone.is_broken[0]
        if alone.is_broken[0]:
            assert len(str(decoder.explain(text.encode()))) < 500
        else:
            assert found.values[row].as_py() == alone.values[0].as_py()
