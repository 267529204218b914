"""Which of two changes of a key is newer, as SQL computes it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from kafka_spark_source.changes.order import is_newer
from tests.spark_session import SPARK_ERRORS

pytestmark = pytest.mark.spark

FIELDS = ("topic", "partition", "offset", "topicId")
Position = tuple[str, int, int, "str | None"]
KNOWN = ("A", "B")
MOVED = "the change of here: the key has changes in another partition"
RECREATED = "the change of here: the topic was deleted and created again.* The ids are "


def newer(
    spark: SparkSession, ours: Position, theirs: Position | None, topic_ids: Sequence[str]
) -> bool:
    """Whether the change at `ours` is newer than the row's."""
    rows = spark.createDataFrame(
        [(ours, theirs)],
        f"ours {_STRUCT}, theirs {_STRUCT}",
    )
    (found,) = rows.selectExpr(is_newer("ours", "theirs", topic_ids, "'here'")).collect()[0]
    return bool(found)


_STRUCT = "struct<topic: string, partition: int, offset: bigint, topicId: string>"


@pytest.mark.parametrize(
    ("ours", "theirs", "topic_ids", "expected"),
    [
        (("t", 0, 5, "A"), None, (), True),
        (("t", 0, 5, "A"), ("t", 0, 4, "A"), (), True),
        (("t", 0, 5, "A"), ("t", 0, 5, "A"), (), False),
        (("t", 0, 4, "A"), ("t", 0, 5, "A"), (), False),
        # Brokers before Kafka 2.8 have no ids, and give topics their ids when they are upgraded.
        (("t", 0, 5, None), ("t", 0, 4, None), (), True),
        (("t", 0, 5, "A"), ("t", 0, 4, None), (), True),
        (("t", 0, 4, "A"), ("t", 0, 5, None), (), False),
        (("t", 0, 4, None), ("t", 0, 5, "A"), (), False),
        # The order of topics counts, whatever their offsets, partitions and names.
        (("t", 0, 0, "B"), ("t", 0, 9, "A"), KNOWN, True),
        (("t", 0, 9, "A"), ("t", 0, 0, "B"), KNOWN, False),
        (("t", 1, 0, "B"), ("t", 0, 9, "A"), KNOWN, True),
        (("u", 1, 0, "B"), ("t", 0, 9, "A"), KNOWN, True),
        (("t", 0, 0, "A"), ("t", 0, 9, None), KNOWN, True),
        (("t", 0, 1, "B"), ("t", 0, 0, "B"), KNOWN, True),
        (("t", 0, 0, "B"), ("t", 0, 0, "B"), KNOWN, False),
    ],
)
def test_the_newer_change(
    spark: SparkSession,
    ours: Position,
    theirs: Position | None,
    topic_ids: Sequence[str],
    expected: bool,
) -> None:
    assert newer(spark, ours, theirs, topic_ids) is expected


@pytest.mark.parametrize(
    ("ours", "theirs", "topic_ids", "reason"),
    [
        (("t", 1, 9, "A"), ("t", 0, 0, "A"), (), MOVED),
        (("u", 0, 9, "B"), ("t", 0, 0, "A"), (), MOVED),
        (("t", 1, 9, "B"), ("t", 0, 0, "B"), KNOWN, MOVED),
        (("t", 1, 9, None), ("t", 0, 0, None), (), MOVED),
        (("t", 0, 9, "B"), ("t", 0, 0, "A"), (), f"{RECREATED}A, B"),
        (("t", 0, 0, "B"), ("t", 0, 9, "A"), (), f"{RECREATED}A, B"),
        (("t", 0, 0, "B"), ("t", 0, 9, "X"), KNOWN, f"{RECREATED}X, B"),
        (("u", 0, 0, "B"), ("t", 0, 9, "X"), KNOWN, f"{RECREATED}X, B"),
    ],
)
def test_what_has_no_order_fails(
    spark: SparkSession, ours: Position, theirs: Position, topic_ids: Sequence[str], reason: str
) -> None:
    with pytest.raises(SPARK_ERRORS, match=reason):
        newer(spark, ours, theirs, topic_ids)


@pytest.mark.parametrize("topic_ids", [(), KNOWN])
def test_a_row_without_a_change_fails_for_nothing(
    spark: SparkSession, topic_ids: Sequence[str]
) -> None:
    """Delta computes conditions for it, too."""
    rows = spark.createDataFrame(
        [((None,) * 4, ("t", 0, 9, "X"))], f"ours {_STRUCT}, theirs {_STRUCT}"
    )
    (found,) = rows.selectExpr(is_newer("ours", "theirs", topic_ids, "'here'")).collect()[0]
    assert found is False
