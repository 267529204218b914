from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.endurance.torture.records import (
    HEADERS,
    KEYS,
    NOW,
    TIMESTAMPS,
    VALUES,
    NewRecord,
    records_of,
)
from tests.endurance.torture.topics import Shape, Write

shapes = st.builds(
    Shape,
    st.sampled_from(sorted(KEYS)),
    st.sampled_from(sorted({*VALUES} - {"large"})),
    st.sampled_from(sorted(HEADERS)),
    st.sampled_from(sorted(TIMESTAMPS)),
)
writes = st.builds(Write, st.integers(0, 2**32), st.integers(1, 40), shapes)


@given(writes, st.integers(1, 6), st.integers(0, 40))
def test_a_smaller_count_gives_the_first_of_the_same_records(
    write: Write, partitions: int, fewer: int
) -> None:
    records = list(records_of(write, partitions))
    assert len(records) == write.count
    assert (
        list(records_of(replace(write, count=min(fewer, write.count)), partitions))
        == (records[:fewer])
    )


@given(writes, st.integers(1, 6))
def test_records_are_of_the_partitions_that_there_are(write: Write, partitions: int) -> None:
    assert {each.partition for each in records_of(write, partitions)} <= set(range(partitions))


def some(count: int = 400, **names: str) -> list[NewRecord]:
    return list(records_of(Write(1, count, Shape(**names)), 1))


def test_keys_and_values_have_all_that_is_odd() -> None:
    assert {None, b"", b"k"} <= {each.key for each in some(keys="some")}
    assert {None, b"", b"0"} <= {each.value for each in some(values="tiny")}
    assert any(each.value is None for each in some(values="small"))
    assert {each.key for each in some(keys="none")} == {None}
    assert {each.value for each in some(values="none")} == {None}
    assert len({each.key for each in some(keys="few")}) == 20
    assert len({each.key for each in some(keys="unique")}) == 400


def test_a_large_write_has_a_value_of_3_mb() -> None:
    sizes = [len(each.value or b"") for each in some(4, values="large")]
    assert sizes[0] == 3_000_000
    assert all(100_000 <= size <= 3_000_000 for size in sizes)


def test_headers_have_all_that_is_odd() -> None:
    headers = [each.headers for each in some(headers="odd")]
    assert () in headers
    assert any(value is None for each in headers for _, value in each)
    assert any(value == b"" for each in headers for _, value in each)
    assert any(name == "" for each in headers for name, _ in each)
    assert any(len({name for name, _ in each}) < len(each) for each in headers)


def test_timestamps_are_in_order_and_out_of_order() -> None:
    timestamps = {
        name: [each.timestamp for each in some(timestamps=name)] for name in sorted(TIMESTAMPS)
    }
    assert set(timestamps["now"]) == {NOW}
    assert timestamps["in order"] == sorted(set(timestamps["in order"]))
    assert timestamps["out of order"] != sorted(timestamps["out of order"])
    assert len(set(timestamps["same"])) == 1
    # librdkafka takes 0 for the present.
    assert NOW not in timestamps["ancient"]


@pytest.mark.parametrize(("keys", "timestamps"), [*product(sorted(KEYS), ["now", "ancient"])])
def test_any_names_of_the_tables_go_together(keys: str, timestamps: str) -> None:
    assert len(some(3, keys=keys, timestamps=timestamps)) == 3
