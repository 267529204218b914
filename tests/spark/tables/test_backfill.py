"""Slices of a backfill, and its file; `tests/change_data/test_backfill.py` fills real tables."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables import backfill as module
from kafka_spark_source.tables.arguments import parse
from kafka_spark_source.tables.backfill import Backfill, Backfills
from kafka_spark_source.tables.backfill_plan import plan_backfills
from kafka_spark_source.tables.ranges import count, joined
from tests.simulation.lake import DriverDied, Lake, product_in
from tests.spark.tables.test_micro_batch import USUAL

_RANGES = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2**62), st.integers(1, 2**40)),
    min_size=1,
    max_size=4,
    unique_by=lambda each: each[0],
)


def planned(partition: int, start: int, size: int) -> PlannedRange:
    wanted = OffsetRange(TopicPartition("t", partition), start, start + size)
    return PlannedRange(wanted, None)


@given(_RANGES, st.integers(1, 50))
def test_slices_have_each_offset_once_and_few_offsets_each(
    ranges: list[tuple[int, int, int]], parts: int
) -> None:
    made = [planned(*each) for each in sorted(ranges)]
    step = -(-count(made) // parts)
    slices = Backfill.planned("t", made, step).slices()
    assert joined(part for each in slices for part in each) == made
    assert len(slices) <= parts
    assert all(0 < count(each) <= step + len(made) for each in slices)


def test_a_backfill_is_kept_until_it_is_removed_or_replaced() -> None:
    lake = Lake(is_delta=True)
    spark, backfills = lake.session(), Backfills("/checkpoint/")
    with product_in(lake):
        assert backfills.all(spark) == []
        first = Backfill.planned("t", [planned(0, 3, 5), planned(1, 0, 1)], 2)
        other = Backfill.planned("u", [planned(0, 0, 1)], 9)
        for each in (first, other):
            backfills.add(spark, each)
        assert {each.id: each for each in backfills.all(spark)} == {
            first.id: first,
            other.id: other,
        }
        again = Backfill.planned("t", [planned(0, 3, 9)], 2)
        backfills.add(spark, again)
        assert {each.id for each in backfills.all(spark)} == {again.id, other.id}
        for each in (again, other):
            backfills.remove(spark, each)
        assert backfills.all(spark) == []


def test_an_older_one_that_a_crash_has_left_does_not_count() -> None:
    lake = Lake(is_delta=True)
    spark, backfills = lake.session(), Backfills("/checkpoint")
    with product_in(lake):
        older = Backfill.planned("t", [planned(0, 0, 5)], 2)
        newer = Backfill.planned("t", [planned(0, 0, 9)], 2)
        with patch.object(module, "remove", side_effect=DriverDied), suppress(DriverDied):
            for each in (older, newer):
                backfills.add(spark, each)
        assert len(lake.files) == 2
        assert backfills.all(spark) == [newer]
        backfills.remove(spark, newer)
        assert (lake.files, backfills.all(spark)) == ({}, [])


@pytest.mark.parametrize(
    "change", [{"version": 2}, {"step": "x"}, {"ranges": [[1]]}, {"at": None}, {"id": ...}]
)
def test_a_file_that_has_no_backfill(change: dict[str, Any]) -> None:
    lake = Lake(is_delta=True)
    spark, backfills = lake.session(), Backfills("/checkpoint")
    with product_in(lake):
        backfills.add(spark, Backfill.planned("t", [planned(0, 0, 1)], 1))
        (path,) = lake.files
        content = json.loads(lake.files[path][0]) | change
        kept = {key: value for key, value in content.items() if value is not ...}
        lake.files[path] = [json.dumps(kept)]
        with pytest.raises(KafkaConfigError, match="has no backfill of a table"):
            backfills.all(spark)


def test_a_table_that_forgets_deletions_is_not_filled() -> None:
    """Its micro-batches delete nothing yet, and the older slices would bring rows back."""
    given = {**USUAL, "rows": "upsert", "merge_options": {"tombstones": False}}
    arguments = parse(**given, on_error="fail", threads=1)
    with pytest.raises(KafkaConfigError, match="topic t has tombstones=False"):
        plan_backfills(None, arguments, "/checkpoint", ["t"])  # type: ignore[arg-type]
