"""Documents are read up to the depth that Jackson takes, whatever their length and width."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError
from kafka_formats.json.ddl import parse_ddl
from kafka_formats.json.decode_one import parse
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.depth import MAX_DEPTH, check_depth
from kafka_formats.json.java_text import json_text

TOO_DEEP = "it is nested more than 1,000 levels deep"
KINDS = [('{"a":', "}"), ("[", "]"), ('[{"b":', "}]")]
DDLS = (
    *("id bigint, extra string", "id bigint, extra map<string,string>", "id bigint"),
    *("id bigint, extra array<string>", "id bigint, extra array<struct<b string>>"),
    *("id bigint, extra int", "map<string,string>", "string"),
)


def nested(opening: str, depth: int, closing: str) -> str:
    return opening * depth + "1" + closing * depth


@pytest.mark.no_cover
@pytest.mark.parametrize("many", [1, 40])
@pytest.mark.parametrize(("opening", "closing"), KINDS)
@pytest.mark.parametrize("ddl", DDLS)
def test_deep_values_are_read_or_broken(ddl: str, opening: str, closing: str, many: int) -> None:
    """In the same way alone and beside others, which Arrow would read at once."""
    decoder = decoder_for(parse_ddl(ddl))
    for depth in (400, MAX_DEPTH - 1, MAX_DEPTH, 100_000):
        brackets = depth // (2 if opening == '[{"b":' else 1)
        text = f'{{"extra":{nested(opening, brackets, closing)},"id":2}}'
        payloads = pa.array([b'{"id":1}', text.encode(), b'{"id":3}'] * many)
        found = decoder.decode(payloads, 0)
        is_broken = found.is_broken.tolist()[1]
        assert found.is_broken.tolist() == [False, is_broken, False] * many
        if is_broken:
            reason = decoder.explain(payloads[1].as_py()).reason
            assert reason == TOO_DEEP if depth >= MAX_DEPTH else reason.startswith("it is an ")
        else:
            assert depth < MAX_DEPTH
            # The text of what is deep is all of it.
            shown = str(found.values[1].as_py())
            assert "extra" not in str(found.values.type) or len(shown) > brackets * len(opening)


@pytest.mark.parametrize(
    ("text", "is_deep"),
    [
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, False),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), True),
        ("[" * (MAX_DEPTH + 1) + " " * MAX_DEPTH, True),
        ('["' + "[" * 3_000 + '"]', False),
        ('["\\"' + "[" * 3_000 + '"]', False),
        ('["' + "[" * 3_000, False),
        ("[" + "[]," * 3_000 + "1]", False),
        ("{}" + "[" * 3_000, False),
        ('"x"' + "[" * 3_000, False),
        (" 1" + "[" * 3_000, False),
    ],
)
def test_the_depth_of_the_first_document(text: str, is_deep: bool) -> None:
    if not is_deep:
        check_depth(text.encode())
        return
    with pytest.raises(PayloadError, match=TOO_DEEP):
        check_depth(text.encode())


@pytest.mark.parametrize("depth", [900, MAX_DEPTH])
def test_the_verdict_does_not_depend_on_the_depth_of_the_caller(depth: int) -> None:
    text = nested("[", depth, "]").encode()

    def called_at(calls: int) -> Any:
        return called_at(calls - 1) if calls else json_text(parse(text))

    assert {called_at(calls) for calls in (0, 50, 300, 600)} == {text.decode()}


@given(st.text(st.sampled_from('[]{}",:1 a\\'), max_size=12))
@example("")
def test_python_reads_what_is_not_too_deep(text: str) -> None:
    """The limit is no verdict about anything else."""
    check_depth(text.encode())


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
