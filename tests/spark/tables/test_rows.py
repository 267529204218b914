"""The columns that records become: a column for each field, and never two of one name."""

from __future__ import annotations

import pytest
from pyspark.sql import types as T

from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.rows import (
    KEY_COLUMN,
    METADATA,
    PREFIX,
    UPSERT_COLUMNS,
    appended,
    keys_of_changes,
    read_columns,
    upserted,
)

INT, TEXT, BINARY = T.IntegerType(), T.StringType(), T.BinaryType()


def struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, type_) for name, type_ in fields.items()])


def read(value: T.DataType = TEXT, key: T.DataType = BINARY, *more: str) -> T.StructType:
    """The columns of a read."""
    others = dict.fromkeys(("topic", "partition", "offset", "timestamp", *more), INT)
    return struct(value=value, key=key, **others)


ADDED = {f"{PREFIX}{name}": value for name, value in UPSERT_COLUMNS.items()}


def test_a_read_has_the_columns_of_values_of_metadata_and_of_errors() -> None:
    assert read_columns(["_kafka_offset", "_kafka_key"]) == [
        *("value", "offset", "key", "_error", "_raw", "_raw_key")
    ]


def test_a_field_is_a_column_and_metadata_come_after() -> None:
    schema = read(struct(id=INT, **{"a.b": TEXT, "x`y": TEXT}))
    columns = appended(schema, ["_kafka_offset", "_kafka_topic"], "t")
    assert [*columns.items()] == [
        ("id", "`value`.`id`"),
        ("a.b", "`value`.`a.b`"),
        ("x`y", "`value`.`x``y`"),
        ("_kafka_offset", "`offset`"),
        ("_kafka_topic", "`topic`"),
    ]


@pytest.mark.parametrize("value", [TEXT, BINARY, T.ArrayType(struct(a=INT)), T.MapType(TEXT, TEXT)])
def test_a_value_that_is_no_struct_is_one_column(value: T.DataType) -> None:
    assert appended(read(value), [], "t") == {"value": "`value`"}


@pytest.mark.parametrize("name", METADATA)
def test_each_column_of_metadata_is_one_of_the_read(name: str) -> None:
    assert appended(read(), [name], "t")[name] == f"`{METADATA[name]}`"
    assert METADATA[name] in read_columns([name])


def test_columns_of_errors_are_there_if_the_read_has_them() -> None:
    columns = appended(read(struct(id=INT), BINARY, "_error", "_raw", "_raw_key"), [], "t")
    assert columns == {
        **{"id": "`value`.`id`", "_error": "`_error`"},
        **{"_raw": "`_raw`", "_raw_key": "`_raw_key`"},
    }
    only_one = appended(read(TEXT, BINARY, "_error"), [], "t")
    assert only_one == {"value": "`value`", "_error": "`_error`"}


@pytest.mark.parametrize(
    ("field", "metadata", "more"),
    [
        ("_kafka_topic", ["_kafka_topic"], []),
        ("_KAFKA_Offset", ["_kafka_topic", "_kafka_offset"], []),
        ("_error", [], ["_error"]),
        ("_RAW", [], ["_error", "_raw"]),
    ],
)
def test_a_field_with_the_name_of_an_added_column_is_refused(
    field: str, metadata: list[str], more: list[str]
) -> None:
    schema = read(struct(id=INT, **{field: TEXT}), BINARY, *more)
    with pytest.raises(TableError, match=rf"topic orders .*field {field}\b"):
        appended(schema, metadata, "orders")


def test_a_field_may_have_the_name_of_a_column_that_is_not_added() -> None:
    columns = appended(read(struct(_kafka_topic=TEXT, topic=TEXT, _error=TEXT)), [], "t")
    assert columns == {each: f"`value`.`{each}`" for each in ("_kafka_topic", "topic", "_error")}


def test_the_fields_of_key_and_value_are_columns() -> None:
    keys, columns = upserted(read(struct(name=TEXT, size=INT), struct(id=INT, part=INT)), "t")
    assert keys == ("id", "part")
    assert [*columns.items()] == [
        ("id", "`key`.`id`"),
        ("part", "`key`.`part`"),
        ("name", "`value`.`name`"),
        ("size", "`value`.`size`"),
        *ADDED.items(),
    ]


def test_a_field_of_key_and_value_is_that_of_the_key() -> None:
    """A deleted row has a key only."""
    keys, columns = upserted(read(struct(ID=INT, name=TEXT), struct(id=INT)), "t")
    assert keys == ("id",)
    assert columns == {"id": "`key`.`id`", "name": "`value`.`name`", **ADDED}


def test_a_key_that_is_no_struct_is_one_column() -> None:
    keys, columns = upserted(read(struct(id=INT), TEXT), "t")
    assert keys == (KEY_COLUMN,)
    assert columns == {KEY_COLUMN: "`key`", "id": "`value`.`id`", **ADDED}


def test_key_and_value_may_both_be_no_structs() -> None:
    keys, columns = upserted(read(BINARY, TEXT), "t")
    assert keys == (KEY_COLUMN,)
    assert columns == {KEY_COLUMN: "`key`", "value": "`value`", **ADDED}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (struct(id=INT), struct(id=TEXT)),
        (struct(ID=INT), struct(id=TEXT)),
        (struct(id=struct(a=INT)), struct(Id=struct(a=TEXT))),
        (struct(id=T.DecimalType(10, 2)), struct(id=T.DecimalType(10, 3))),
    ],
)
def test_a_field_with_two_types_is_refused(key: T.DataType, value: T.DataType) -> None:
    with pytest.raises(TableError, match="topic orders") as caught:
        upserted(read(value, key), "orders")
    assert "both" in str(caught.value)


@pytest.mark.parametrize("name", ["__kafka_op", "__KAFKA_Offset", "__kafka_topicId"])
@pytest.mark.parametrize("is_key", [True, False])
def test_a_field_with_the_name_of_a_column_for_changes_is_refused(name: str, is_key: bool) -> None:
    odd, usual = struct(**{name: TEXT}), struct(id=INT)
    schema = read(usual, odd) if is_key else read(odd, usual)
    with pytest.raises(TableError, match=rf"topic orders .*{name}"):
        upserted(schema, "orders")


def test_fields_may_have_the_names_of_columns_of_a_read() -> None:
    _, columns = upserted(read(struct(op=TEXT, topic=TEXT, offset=INT), struct(key=INT)), "t")
    assert columns == {
        "key": "`key`.`key`",
        **{each: f"`value`.`{each}`" for each in ("op", "topic", "offset")},
        **ADDED,
    }


def test_the_keys_of_changes_are_the_fields_of_their_keys() -> None:
    schema = struct(__kafka_key=struct(id=INT, part=TEXT), key=struct(other=INT))
    assert keys_of_changes(schema, "__kafka_", "t") == ("id", "part")
    assert keys_of_changes(schema, "", "t") == ("other",)


@pytest.mark.parametrize("schema", [struct(id=INT), struct(__kafka_key=BINARY, key=struct(id=INT))])
def test_keys_of_changes_that_are_not_known_are_refused(schema: T.StructType) -> None:
    with pytest.raises(TableError, match=r"topic orders .*key\.format.*`keys`"):
        keys_of_changes(schema, "__kafka_", "orders")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param(TEXT, struct(**{KEY_COLUMN: TEXT, "id": INT}), id="a field _kafka_key"),
        pytest.param(struct(value=TEXT), TEXT, id="a key's field value"),
    ],
)
def test_a_value_is_not_dropped_for_a_key(key: T.DataType, value: T.DataType) -> None:
    with pytest.raises(TableError):
        upserted(read(value, key), "orders")
