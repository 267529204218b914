"""What a target must have. `tests/change_data` finds and alters real tables."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from kafka_spark_source.changes.arguments import ChangeError
from kafka_spark_source.changes.target import missing_columns, nullable_type
from tests.spark.changes.test_arguments import arguments

POSITION = T.StructType(
    [
        T.StructField("topic", T.StringType()),
        T.StructField("partition", T.IntegerType()),
        T.StructField("offset", T.LongType()),
        T.StructField("topicId", T.StringType()),
    ]
)
ROWS = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("name", T.StringType()),
        T.StructField("_sequence", POSITION),
    ]
)
WITH_TIME = T.StructType([*ROWS, T.StructField("valid_from", T.TimestampType())])


def table(*fields: T.StructField) -> T.StructType:
    return T.StructType([T.StructField("id", T.LongType()), *fields])


TOMBSTONE = T.StructField("_tombstone", T.BooleanType())


def test_a_target_with_all_columns_lacks_none() -> None:
    target = T.StructType([*ROWS, TOMBSTONE, T.StructField("more", T.DateType())])
    assert missing_columns(target, ROWS, arguments()) == []


def test_columns_are_added_if_wanted_but_for_keys() -> None:
    with pytest.raises(ChangeError, match=r"lacks columns: name string, _sequence struct<topic"):
        missing_columns(table(), ROWS, arguments())
    added = missing_columns(table(), ROWS, arguments(evolve=True))
    assert [each.name for each in added] == ["name", "_sequence", "_tombstone"]
    with pytest.raises(ChangeError, match="no column id, which is a key; its columns are name"):
        missing_columns(
            T.StructType([ROWS["name"], ROWS["_sequence"], TOMBSTONE]), ROWS, arguments(evolve=True)
        )


def test_history_has_more_columns() -> None:
    given = arguments(evolve=True, history=True)
    added = {each.name: each.dataType for each in missing_columns(table(), WITH_TIME, given)}
    assert [*added][-4:] == ["valid_from", "_tombstone", "valid_to", "current"]
    assert added["valid_to"] == T.TimestampType()


def test_without_tombstones_there_is_no_column_of_them() -> None:
    given = arguments(evolve=True, tombstones=False)
    assert [each.name for each in missing_columns(table(), ROWS, given)] == ["name", "_sequence"]


def test_sequences_of_other_types_are_not_compared() -> None:
    target = T.StructType(
        [*table(ROWS["name"]), T.StructField("_sequence", T.LongType()), TOMBSTONE]
    )
    with pytest.raises(ChangeError, match=r"the sequences in shop.orders are bigint, and the new"):
        missing_columns(target, ROWS, arguments())


def test_a_deleted_row_needs_columns_that_can_be_null() -> None:
    strict = T.StructField("name", T.StringType(), nullable=False)
    target = table(strict, ROWS["_sequence"], TOMBSTONE)
    with pytest.raises(ChangeError, match=r"NOT NULL: name. A deleted row keeps only its keys"):
        missing_columns(target, ROWS, arguments())
    assert missing_columns(target, ROWS, arguments(tombstones=False)) == []


@pytest.mark.parametrize(
    ("column", "there", "reason"),
    [
        ("name", T.IntegerType(), r"column name is string in the rows and int in the target shop"),
        ("id", T.IntegerType(), r"the key id is bigint in the rows and int in the target shop"),
        ("_tombstone", T.StringType(), "column _tombstone is boolean in the rows and string"),
    ],
)
def test_a_type_that_would_lose_values_is_refused(
    column: str, there: T.DataType, reason: str
) -> None:
    fields = [T.StructField(each.name, each.dataType) for each in (*ROWS, TOMBSTONE)]
    target = T.StructType(
        [T.StructField(each.name, there) if each.name == column else each for each in fields]
    )
    with pytest.raises(ChangeError, match=reason):
        missing_columns(target, ROWS, arguments())


@pytest.mark.parametrize("declared", ["char(5)", "struct<v:varchar(2),c:char(2)>"])
@pytest.mark.parametrize("name", ["id", "name", "more"])
def test_a_text_with_blanks_behind_is_refused(name: str, declared: str) -> None:
    """Spark shows a CHAR as a string; Delta's MERGE fails for it with an internal error."""

    def target(declared: str) -> T.StructType:
        more = T.StructField("more", T.StringType())
        metadata = {"__CHAR_VARCHAR_TYPE_STRING": declared}
        return T.StructType(
            [
                T.StructField(each.name, each.dataType, metadata=metadata)
                if each.name == name
                else each
                for each in (*ROWS, more, TOMBSTONE)
            ]
        )

    with pytest.raises(ChangeError, match=f"has columns of the type CHAR: {name}. It pads texts"):
        missing_columns(target(declared), ROWS, arguments())
    assert missing_columns(target("varchar(5)"), ROWS, arguments()) == []


def test_a_column_that_the_rows_lack_must_be_nullable_too() -> None:
    target = table(
        ROWS["name"],
        T.StructField("more", T.DateType(), nullable=False),
        ROWS["_sequence"],
        TOMBSTONE,
    )
    with pytest.raises(ChangeError, match=r"NOT NULL: more. A deleted row keeps only its keys"):
        missing_columns(target, ROWS, arguments())


def test_a_history_stays_one_and_no_other_table_becomes_one() -> None:
    ends = [T.StructField(each, T.TimestampType()) for each in ("valid_from", "valid_to")]
    current = T.StructField("current", T.BooleanType())
    target = T.StructType([*ROWS, TOMBSTONE, *ends, current])
    with pytest.raises(ChangeError, match="has versions of rows, with valid_from, valid_to, curr"):
        missing_columns(target, ROWS, arguments())
    assert missing_columns(target, WITH_TIME, arguments(history=True)) == []
    with pytest.raises(ChangeError, match="was filled without `history`"):
        missing_columns(
            T.StructType([*ROWS, TOMBSTONE]), WITH_TIME, arguments(history=True, evolve=True)
        )
    own = T.StructType([*ROWS, ends[1], current])
    assert missing_columns(target, own, arguments()) == []


def test_a_part_of_a_column_that_is_added_can_be_null() -> None:
    """An expression of `sequence_by` that is never null, such as CASE with ELSE, is NOT NULL."""
    one = T.StructType([T.StructField("n", T.IntegerType(), nullable=False)])
    given = T.StructType(
        [
            T.StructField("s", one, nullable=False),
            T.StructField("a", T.ArrayType(one, containsNull=False)),
            T.StructField("m", T.MapType(T.StringType(), one)),
        ]
    )
    found = nullable_type(given)
    assert "false" in given.json()
    assert "false" not in found.json()
    assert found.simpleString() == given.simpleString()
