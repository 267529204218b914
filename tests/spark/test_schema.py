from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.schema import (
    SinkColumns,
    check_projection,
    check_sink_schema,
    source_schema,
)


def headers_type(*, nullable: bool = True, value: DataType | None = None) -> ArrayType:
    fields = [
        StructField("key", StringType(), nullable),
        StructField("value", value or BinaryType(), nullable),
    ]
    return ArrayType(StructType(fields), nullable)


SOURCE_TYPES = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": headers_type(),
}


def schema_of(*columns: tuple[str, DataType], nullable: bool = True) -> StructType:
    return StructType([StructField(name, data_type, nullable) for name, data_type in columns])


def picked(*names: str) -> StructType:
    return schema_of(*((name, SOURCE_TYPES[name]) for name in names))


def test_the_source_has_sparks_columns() -> None:
    with_headers = picked(*SOURCE_TYPES)
    assert source_schema(True) == with_headers
    assert source_schema(False) == StructType(with_headers.fields[:-1])
    assert source_schema(True).simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )


@pytest.mark.parametrize("include_headers", [True, False])
def test_any_columns_in_any_order_are_a_projection(include_headers: bool) -> None:
    check_projection(source_schema(include_headers), include_headers)
    check_projection(picked("value"), include_headers)
    check_projection(picked("timestampType", "key", "offset"), include_headers)


def test_headers_can_be_projected_when_included() -> None:
    check_projection(picked("headers", "value"), include_headers=True)


ALL_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key:string,value:binary>>"
)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        pytest.param(
            StructType(),
            "The schema names no column: name at least one, or leave it out.",
            id="empty",
        ),
        pytest.param(
            schema_of(("Offset", LongType())),
            f"Column 'Offset' is not one that Kafka's records have ({ALL_COLUMNS}); did you mean "
            "'offset'?",
            id="another case",
        ),
        pytest.param(
            schema_of(("timestamp_type", IntegerType())),
            f"Column 'timestamp_type' is not one that Kafka's records have ({ALL_COLUMNS}); did "
            "you mean 'timestampType'?",
            id="a typo",
        ),
        pytest.param(
            schema_of(("x", LongType())),
            f"Column 'x' is not one that Kafka's records have ({ALL_COLUMNS}).",
            id="unknown",
        ),
        pytest.param(
            picked("offset", "key", "offset"),
            "Column 'offset' (bigint) is in the schema twice.",
            id="twice",
        ),
        pytest.param(
            picked("headers"),
            "Column 'headers' (array<struct<key:string,value:binary>>) is there only with the "
            "option includeHeaders: set it to true, or leave the column out.",
            id="headers",
        ),
        pytest.param(
            schema_of(("value", StringType())),
            "Column 'value' must be of type binary, with all parts nullable, but the schema has "
            "string: read it so, and cast it then.",
            id="text",
        ),
        pytest.param(
            schema_of(("timestamp", TimestampNTZType())),
            "Column 'timestamp' must be of type timestamp, with all parts nullable, but the schema "
            "has timestamp_ntz: read it so, and cast it then.",
            id="no time zone",
        ),
        pytest.param(
            schema_of(("offset", LongType()), nullable=False),
            "Column 'offset' (bigint) must be nullable, like all columns of the source: leave NOT "
            "NULL out of the schema.",
            id="not null",
        ),
    ],
)
def test_other_schemas_are_no_projection(schema: StructType, message: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        check_projection(schema, include_headers=False)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "other", [headers_type(nullable=False), headers_type(value=StringType()), StringType()]
)
def test_headers_are_projected_with_their_exact_type(other: DataType) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        check_projection(schema_of(("headers", other)), include_headers=True)
    assert str(caught.value) == (
        "Column 'headers' must be of type array<struct<key:string,value:binary>>, with all parts "
        f"nullable, but the schema has {other.simpleString()}: read it so, and cast it then."
    )


TEXT, BYTES, INT = StringType(), BinaryType(), IntegerType()


def sink_columns(**indices: int) -> SinkColumns:
    return SinkColumns(**{**dict.fromkeys(SinkColumns.__slots__), **indices})


@pytest.mark.parametrize(
    ("schema", "topic", "columns"),
    [
        (schema_of(("value", BYTES)), "t", sink_columns(value=0)),
        (schema_of(("topic", TEXT), ("value", TEXT)), None, sink_columns(topic=0, value=1)),
        # The option goes before the column, whatever that holds.
        (schema_of(("topic", INT), ("value", TEXT)), "t", sink_columns(value=1)),
        (
            schema_of(("topic", TEXT), ("topic", INT), ("value", TEXT)),
            "t",
            sink_columns(value=2),
        ),
        (
            picked(*SOURCE_TYPES),
            None,
            SinkColumns(key=0, value=1, topic=2, partition=3, timestamp=5, headers=7),
        ),
        # Names are exact; other columns do not count, not even twice.
        (
            schema_of(("Key", INT), ("x", INT), ("x", INT), ("value", TEXT), ("Timestamp", INT)),
            "t",
            sink_columns(value=3),
        ),
        (
            schema_of(("value", TEXT), ("headers", headers_type(nullable=False)), nullable=False),
            "t",
            sink_columns(value=0, headers=1),
        ),
        (
            schema_of(("timestamp", TimestampNTZType()), ("key", TEXT), ("value", TEXT)),
            "t",
            sink_columns(timestamp=0, key=1, value=2),
        ),
    ],
)
def test_columns_to_write_are_found(
    schema: StructType, topic: str | None, columns: SinkColumns
) -> None:
    assert check_sink_schema(schema, topic) == columns


@pytest.mark.parametrize(
    ("columns", "topic", "message"),
    [
        pytest.param(
            [("Value", TEXT)],
            "t",
            "Required attribute 'value' not found: rename the column to write, or make one, for "
            "example with to_json(struct('*')).alias('value').",
            id="no value",
        ),
        pytest.param(
            [("value", TEXT)],
            None,
            "topic option required when no 'topic' attribute is present. Use the topic option for "
            "setting a topic.",
            id="no topic",
        ),
        pytest.param(
            [("value", TEXT), ("topic", TEXT)],
            "",
            "Option 'topic' is empty: name a topic, or leave it out and have a column 'topic'.",
            id="empty topic",
        ),
        pytest.param(
            [("value", INT)],
            "t",
            "value attribute unsupported type int. value must be a(n) string or binary: cast the "
            "column before writing it.",
            id="value",
        ),
        pytest.param(
            [("value", TEXT), ("key", LongType())],
            "t",
            "key attribute unsupported type bigint. key must be a(n) string or binary: cast the "
            "column before writing it.",
            id="key",
        ),
        pytest.param(
            [("value", TEXT), ("topic", BYTES)],
            None,
            "topic attribute unsupported type binary. topic must be a(n) string: cast the column "
            "before writing it.",
            id="topic",
        ),
        pytest.param(
            [("value", TEXT), ("partition", LongType())],
            "t",
            "partition attribute unsupported type bigint. partition must be a(n) int: cast the "
            "column before writing it.",
            id="partition",
        ),
        pytest.param(
            [("value", TEXT), ("headers", headers_type(value=TEXT))],
            "t",
            "headers attribute unsupported type array<struct<key:string,value:string>>. headers "
            "must be a(n) array<struct<key:string,value:binary>>: cast the column before writing "
            "it.",
            id="headers",
        ),
        pytest.param(
            [("value", TEXT), ("headers", TEXT)],
            "t",
            "headers attribute unsupported type string. headers must be a(n) "
            "array<struct<key:string,value:binary>>: cast the column before writing it.",
            id="headers, no array",
        ),
        pytest.param(
            [("value", TEXT), ("timestamp", LongType())],
            "t",
            "timestamp attribute unsupported type bigint. timestamp must be a(n) timestamp or "
            "timestamp_ntz: cast the column before writing it.",
            id="timestamp",
        ),
        pytest.param(
            [("value", TEXT), ("key", TEXT), ("key", INT)],
            "t",
            "Attribute 'key' is there 2 times: keep one of these columns.",
            id="twice",
        ),
    ],
)
def test_other_schemas_cannot_be_written(
    columns: list[tuple[str, DataType]], topic: str | None, message: str
) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        check_sink_schema(schema_of(*columns), topic)
    assert str(caught.value) == message


def test_errors_of_the_sink_come_in_the_order_of_sparks_connector() -> None:
    """Each column that is put right lets the next error through."""
    columns: dict[str, DataType] = dict.fromkeys(("key", "headers", "partition", "timestamp"), INT)
    corrections: list[tuple[str, str, DataType]] = [
        ("topic option required when no 'topic' attribute is present", "topic", INT),
        ("topic attribute unsupported type int", "topic", TEXT),
        ("key attribute unsupported type int", "key", TEXT),
        ("Required attribute 'value' not found", "value", INT),
        ("value attribute unsupported type int", "value", TEXT),
        ("headers attribute unsupported type int", "headers", headers_type()),
        ("timestamp attribute unsupported type int", "timestamp", TimestampType()),
    ]
    for message, column, data_type in corrections:
        with pytest.raises(KafkaConfigError, match=message):
            check_sink_schema(schema_of(*columns.items()), None)
        columns[column] = data_type
    check_sink_schema(schema_of(*columns.items()), None)
