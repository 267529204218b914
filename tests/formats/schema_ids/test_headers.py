"""The last header of a name, whatever else is there."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.schema_ids.headers import last_values
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE

HEADER = st.tuples(st.sampled_from(["a", "b", "", "aa"]), st.none() | st.binary(max_size=2))


@given(st.lists(st.none() | st.lists(HEADER, max_size=4), max_size=6), st.integers(0, 3))
def test_the_last_header_of_each_row(
    rows: list[list[tuple[str, bytes | None]] | None], skipped: int
) -> None:
    given_rows = [
        None if each is None else [{"key": key, "value": value} for key, value in each]
        for each in rows
    ]
    found = last_values(pa.array(given_rows, HEADERS_TYPE).slice(skipped), "a")
    expected = {}
    for number, row in enumerate(rows[skipped:]):
        for key, value in row or []:
            if key == "a":
                expected[number] = value or b""
    assert found == expected


def test_no_headers() -> None:
    assert last_values(None, "a") == {}
