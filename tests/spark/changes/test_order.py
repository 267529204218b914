"""Which of two changes of a key is newer, as SQL computes it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from kafka_spark_source.changes.order import (
    POSITION_TYPE,
    Change,
    TextPart,
    is_newer,
    is_newer_by_values,
    of_row,
)
from tests.spark_session import SPARK_ERRORS
from tests.tiers import first_are_quick

pytestmark = pytest.mark.spark

FIELDS = ("topic", "partition", "offset", "topicId")
Position = tuple[str, int, int, "str | None"]
KNOWN = ("A", "B")
MOVED = "the change of here: the key has changes in another partition.*; the other change: "
RECREATED = "the change of here: the topic was deleted and created again.* The ids are "


def newer(
    spark: SparkSession, ours: Position, theirs: Position | None, topic_ids: Sequence[str]
) -> bool:
    """Whether the change at `ours` is newer than the row's."""
    rows = spark.createDataFrame(
        [(ours, theirs)],
        f"ours {_STRUCT}, theirs {_STRUCT}",
    )
    (found,) = rows.selectExpr(is_newer(_OURS, _THEIRS, topic_ids, "false")).collect()[0]
    return bool(found)


_OURS = Change("ours", "ours", "'here'")
_THEIRS = of_row("theirs", "theirs")
_STRUCT = "struct<topic: string, partition: int, offset: bigint, topicId: string>"


@pytest.mark.parametrize(
    ("ours", "theirs", "topic_ids", "expected"),
    first_are_quick(
        [
            (("t", 0, 5, "A"), None, (), True),
            (("t", 0, 5, "A"), ("t", 0, 4, "A"), (), True),
            (("t", 0, 5, "A"), ("t", 0, 5, "A"), (), False),
            (("t", 0, 4, "A"), ("t", 0, 5, "A"), (), False),
            # Brokers before Kafka 2.8 have no ids; topics get theirs when brokers are upgraded.
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
        4,
    ),
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
    first_are_quick(
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
        3,
    ),
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
    (found,) = rows.selectExpr(is_newer(_OURS, _THEIRS, topic_ids, "true")).collect()[0]
    assert found is False


def test_the_change_of_the_row_is_applied_again_if_that_makes_a_difference(
    spark: SparkSession,
) -> None:
    position = ("t", 0, 5, "A")
    rows = spark.createDataFrame([(position, position)], f"ours {_STRUCT}, theirs {_STRUCT}")
    for differs in ("true", "false"):
        (found,) = rows.selectExpr(is_newer(_OURS, _THEIRS, (), differs)).collect()[0]
        assert str(found).lower() == differs


At = tuple[str, int, int, "str | None", "int | None"]
FIRST: At = ("t", 0, 5, "A", 100)


def newer_by_values(
    spark: SparkSession,
    ours: object,
    theirs: object,
    new: At | None,
    old: At | None,
    *,
    differs: str = "true",
    type_: str = "bigint",
    texts: Sequence[TextPart] = (),
) -> bool:
    rows = spark.createDataFrame(
        [(ours, theirs, new, old)],
        f"ours {type_}, theirs {type_}, new {POSITION_TYPE}, old {POSITION_TYPE}",
    )
    change = Change("ours", "new", "'here'")
    condition = is_newer_by_values(change, of_row("theirs", "old"), texts, differs)
    (found,) = rows.selectExpr(condition).collect()[0]
    return bool(found)


@pytest.mark.parametrize(
    ("ours", "theirs", "new", "old", "differs", "expected"),
    first_are_quick(
        [
            (2, 1, FIRST, FIRST, "true", True),
            (1, 2, ("t", 1, 9, "B", 200), FIRST, "true", False),
            (1, None, FIRST, FIRST, "true", True),
            # Equal values: the place in Kafka.
            (1, 1, ("t", 0, 6, "A", 100), FIRST, "false", True),
            (1, 1, ("t", 0, 4, "A", 100), FIRST, "true", False),
            (1, 1, FIRST, FIRST, "true", True),
            (1, 1, FIRST, FIRST, "false", False),
            (1, 1, ("t", 0, 6, None, 100), FIRST, "true", True),
            # A row from before there were positions, and rows without any.
            (1, 1, FIRST, None, "false", True),
            (1, 1, None, None, "false", False),
            # The same change in another partition, which it may have after partitions were added.
            (1, 1, ("t", 1, 6, "A", 100), FIRST, "false", False),
            # Debezium wrote it again after a restart: later in Kafka, with its old time.
            (1, 2, ("t", 0, 9, "A", 90), FIRST, "true", False),
            (1, 2, ("t", 0, 9, "A", None), FIRST, "true", False),
            (1, 2, ("t", 0, 4, "A", 200), FIRST, "true", False),
        ],
        4,
    ),
)
def test_the_newer_change_by_values(
    spark: SparkSession,
    ours: int,
    theirs: int | None,
    new: At | None,
    old: At | None,
    differs: str,
    expected: bool,
) -> None:
    assert newer_by_values(spark, ours, theirs, new, old, differs=differs) is expected


@pytest.mark.parametrize(
    ("ours", "theirs", "new", "reason"),
    first_are_quick(
        [
            (
                1,
                1,
                ("t", 1, 6, "A", 100),
                "two different changes with this sequence.* t-0 at offset 5",
            ),
            (1, 1, ("u", 0, 6, "A", 100), "two different changes with this sequence"),
            (1, 1, ("t", 0, 6, "B", 100), "two different changes with this sequence"),
            (1, 1, None, "two different changes with this sequence"),
            # The database was moved: its positions begin again.
            (1, 2, ("t", 0, 9, "A", 200), "later in Kafka and in the database.* t-0 at offset 5"),
        ],
        2,
    ),
)
def test_values_that_give_no_order_fail(
    spark: SparkSession, ours: int, theirs: int, new: At | None, reason: str
) -> None:
    with pytest.raises(SPARK_ERRORS, match=f"the change of here: .*{reason}"):
        newer_by_values(spark, ours, theirs, new, FIRST)


BINLOG = "struct<server: int, file: string, pos: bigint>"
FILE: tuple[TextPart, ...] = ((".`server`", ".`file`"),)


@pytest.mark.parametrize(
    ("ours", "theirs", "type_", "texts"),
    first_are_quick(
        [
            ("mysql-bin.1000000", "mysql-bin.999999", "string", (("",),)),
            ("binlog.000001", "mysql-bin.000123", "string", (("",),)),
            ("maria-bin.000001", "mysql-bin.000123", "string", (("",),)),
            ("0/9", "0/16", "string", (("",),)),
            ((1, "mysql-bin.1000000", 4), (1, "mysql-bin.999999", 5), BINLOG, FILE),
        ],
        3,
    ),
)
def test_texts_that_are_not_in_the_order_of_their_numbers_fail(
    spark: SparkSession,
    ours: object,
    theirs: object,
    type_: str,
    texts: tuple[TextPart, ...],
) -> None:
    for new, old in ((ours, theirs), (theirs, ours)):
        with pytest.raises(SPARK_ERRORS, match=r"of here: `sequence_by` compares texts.*other"):
            newer_by_values(spark, new, old, FIRST, FIRST, type_=type_, texts=texts)


@pytest.mark.parametrize(
    ("ours", "theirs", "type_", "texts"),
    first_are_quick(
        [
            ("mysql-bin.000124", "mysql-bin.000123", "string", (("",),)),
            ("pear", "fig", "string", (("",),)),
            ("01J9ZQ5Y0B", "01J9ZQ5XXX", "string", (("",),)),
            ((2, "binlog.000001", 4), (1, "mysql-bin.999999", 5), BINLOG, FILE),
            ((1, "binlog.000001", 6), (1, "binlog.000001", 5), BINLOG, FILE),
        ],
        2,
    ),
)
def test_other_texts_are_in_order(
    spark: SparkSession,
    ours: object,
    theirs: object,
    type_: str,
    texts: tuple[TextPart, ...],
) -> None:
    assert newer_by_values(spark, ours, theirs, FIRST, FIRST, type_=type_, texts=texts)
    assert not newer_by_values(spark, theirs, ours, FIRST, FIRST, type_=type_, texts=texts)
