"""Which of two changes is newer: what SQL computes, against a model in Python, for all small cases.

Each case has two changes, with a place in Kafka or none, and their values of `sequence_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final, NamedTuple

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from kafka_spark_source.changes.order import (
    POSITION_TYPE,
    Change,
    is_newer,
    is_newer_by_values,
    of_row,
)

pytestmark = pytest.mark.spark

ERROR: Final = "error"


class Place(NamedTuple):
    """A position."""

    topic: str
    partition: int
    offset: int
    topic_id: str | None
    ts_ms: int | None


PLACES: Final = [
    Place(topic, partition, offset, topic_id, ts_ms)
    for (topic, partition), offset, topic_id, ts_ms in product(
        [("t", 0), ("t", 1), ("u", 0)], [4, 5], [None, "A", "B", "C"], [None, 1, 2]
    )
]
TIMELESS: Final = [each for each in PLACES if each.ts_ms is None]
KNOWN: Final = ("A", "B")


def by_position(new: Place, old: Place | None, ids: tuple[str, ...], *, differs: bool) -> Any:
    """The outcome without `sequence_by`."""
    if old is None:
        return True
    ranks = [ids.index(each) + 1 if each in ids else 0 for each in (new.topic_id, old.topic_id)]
    are_known = new.topic_id is not None and old.topic_id is not None
    if are_known and new.topic_id != old.topic_id:
        is_recreated = 0 in ranks if ids else new.topic == old.topic
        if is_recreated:
            return ERROR
    is_elsewhere = (new.topic, new.partition) != (old.topic, old.partition)
    if is_elsewhere and ranks[0] == ranks[1]:
        return ERROR
    if ranks[0] != ranks[1]:
        return ranks[0] > ranks[1]
    return differs if new.offset == old.offset else new.offset > old.offset


def by_values(
    ours: int, new: Place | None, theirs: int | None, old: Place | None, *, differs: bool
) -> Any:
    """The outcome with `sequence_by`."""
    if theirs is None:
        return True
    in_one = new is not None and old is not None and _in_one_partition(new, old)
    if ours != theirs:
        if ours < theirs and in_one and new is not None and old is not None:
            is_later = new.ts_ms is not None and old.ts_ms is not None and new.ts_ms > old.ts_ms
            if new.offset > old.offset and is_later:
                return ERROR
        return ours > theirs
    if old is None and new is not None:
        return True
    if in_one and new is not None and old is not None:
        return differs if new.offset == old.offset else new.offset > old.offset
    return ERROR if differs else False


def _in_one_partition(new: Place, old: Place) -> bool:
    """A broker before Kafka 2.8 gives no ids."""
    is_one_topic = None in {new.topic_id, old.topic_id} or new.topic_id == old.topic_id
    return new[:2] == old[:2] and is_one_topic


Case = tuple[Any, ...]
_SCHEMA: Final = f"n int, o int, p {POSITION_TYPE}"


def outcomes(
    spark: SparkSession,
    expression: Callable[[Change, Change, str], str],
    ours: list[Case],
    theirs: list[Case],
) -> Iterator[tuple[Case, Case, bool, Any]]:
    """What SQL computes for each pair: a change, a row, whether they differ, and the outcome."""
    frames = [
        spark.createDataFrame(
            [(number, order, place) for number, (order, place) in enumerate(cases)], _SCHEMA
        ).select(*(F.col(each).alias(f"{name}_{each}") for each in "nop"))
        for name, cases in (("ours", ours), ("theirs", theirs))
    ]
    sql = expression(Change("ours_o", "ours_p", "'here'"), of_row("theirs_o", "theirs_p"), "d")
    assert "raise_error(" in sql
    pairs = frames[0].crossJoin(frames[1]).crossJoin(spark.sql("VALUES (true), (false) AS (d)"))
    # An error is true once, and false once.
    found = pairs.selectExpr(
        "ours_n",
        "theirs_n",
        "d",
        f"{sql.replace('raise_error(', 'isnull(')} AS first",
        f"{sql.replace('raise_error(', 'isnotnull(')} AS second",
    )
    for number, other, differs, first, second in found.collect():
        yield ours[number], theirs[other], differs, first if first == second else ERROR


@pytest.mark.parametrize("ids", [(), KNOWN])
def test_by_position(spark: SparkSession, ids: tuple[str, ...]) -> None:
    def expression(ours: Change, theirs: Change, differs: str) -> str:
        return is_newer(ours._replace(sequence="ours_p"), theirs, ids, differs)

    # A change of a topic that is not in `topic_ids` was refused before.
    new = [(0, each) for each in TIMELESS if not ids or each.topic_id in ids]
    old: list[Case] = [(0, each) for each in (*TIMELESS, None)]
    seen = set()
    for (_, place), (_, other), differs, found in outcomes(spark, expression, new, old):
        assert found == by_position(place, other, ids, differs=differs), (place, other, differs)
        seen.add(found)
    assert seen == {True, False, ERROR}


def test_by_values(spark: SparkSession) -> None:
    def expression(ours: Change, theirs: Change, differs: str) -> str:
        return is_newer_by_values(ours, theirs, (), differs)

    some = [each for each in PLACES if each.topic_id in {None, "A", "B"} and each.topic == "t"]
    new: list[Case] = [*product([1, 2], [*some, None])]
    old: list[Case] = [*product([1, 2], [*some, None]), (None, None)]
    seen = set()
    for (ours, place), (theirs, other), differs, found in outcomes(spark, expression, new, old):
        expected = by_values(ours, place, theirs, other, differs=differs)
        assert found == expected, (ours, place, theirs, other, differs)
        seen.add(found)
    assert seen == {True, False, ERROR}
