"""The columns of the source and of the sink, and the errors of users' schemas."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from kafka_formats.options.envelope import Envelope, EnvelopeOptions
from kafka_formats.options.formats import FormatOptions, PayloadOptions
from kafka_formats.options.settings import Format, Framing, Mode
from kafka_protocol.columnar.writing.sink_columns import SinkColumns
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.schema import (
    added_columns,
    check_projection,
    check_sink_schema,
    is_as_it_comes,
    source_schema,
    text_columns,
)
from tests.config_error import config_error

pytestmark = pytest.mark.core


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
    assert source_schema(include_headers=True) == with_headers
    assert source_schema(include_headers=False) == StructType(with_headers.fields[:-1])
    assert source_schema(include_headers=True).simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )


@pytest.mark.parametrize("include_headers", [True, False])
def test_any_columns_in_any_order_are_a_projection(include_headers: bool) -> None:
    check_projection(
        source_schema(include_headers=include_headers), include_headers=include_headers
    )
    check_projection(picked("value"), include_headers=include_headers)
    check_projection(picked("timestampType", "key", "offset"), include_headers=include_headers)


def test_a_projection_may_have_the_ids_of_topics() -> None:
    wanted = schema_of(("topicId", StringType()), ("offset", LongType()))
    check_projection(wanted, include_headers=False)
    assert is_as_it_comes(wanted)
    everything = source_schema(include_headers=False, include_topic_id=True)
    assert everything.names[-2:] == ["timestampType", "topicId"]


def test_headers_can_be_projected_when_included() -> None:
    check_projection(picked("headers", "value"), include_headers=True)


ALL_COLUMNS = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "timestampType int, headers array<struct<key:string,value:binary>>, topicId string"
)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Offset", "; did you mean 'offset'?"),
        ("timestamp_type", "; did you mean 'timestampType'?"),
        ("x", "."),
    ],
)
def test_other_columns_are_no_projection(name: str, hint: str) -> None:
    schema = schema_of((name, LongType()))
    assert config_error(check_projection, schema, include_headers=False) == (
        f"Column '{name}' is not a column of the source ({ALL_COLUMNS}){hint}"
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (StructType(), "The schema names no column: name at least one, or leave it out."),
        (picked("offset", "key", "offset"), "Column 'offset' (bigint) is in the schema twice."),
        (
            picked("headers"),
            "Column 'headers' (array<struct<key:string,value:binary>>) needs the option "
            "includeHeaders: set it to true, or leave the column out.",
        ),
        (
            schema_of(("offset", LongType()), nullable=False),
            "Column 'offset' (bigint) must be nullable, like all columns of the source: leave NOT "
            "NULL out of the schema.",
        ),
    ],
    ids=["empty", "twice", "headers", "not null"],
)
def test_other_schemas_are_no_projection(schema: StructType, message: str) -> None:
    assert config_error(check_projection, schema, include_headers=False) == message


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("value", LongType()),
        ("topic", BinaryType()),
        ("timestamp", TimestampNTZType()),
        ("headers", headers_type(nullable=False)),
        ("headers", headers_type(value=StringType())),
        ("headers", StringType()),
    ],
    ids=["number", "no text", "no time zone", "headers not null", "text values", "no array"],
)
def test_columns_are_projected_with_their_exact_type(name: str, other: DataType) -> None:
    schema, has_headers = schema_of((name, other)), name == "headers"
    own = SOURCE_TYPES[name].simpleString()
    also = {
        "value": " or string",
        "headers": " or map<string,binary> or map<string,string>",
    }.get(name, "")
    assert config_error(check_projection, schema, include_headers=has_headers) == (
        f"Column '{name}' must be of type {own}{also}, with all parts "
        f"nullable, but the schema has {other.simpleString()}: read that type, then cast it."
    )


def test_columns_may_be_text_and_maps() -> None:
    by_name = MapType(StringType(), BinaryType())
    schema = schema_of(("value", StringType()), ("key", BinaryType()), ("headers", by_name))
    check_projection(schema, include_headers=True)
    assert text_columns(schema, None) == ["value"]
    assert text_columns(schema, VALUE_AND_ERRORS) == []
    assert not is_as_it_comes(schema)
    assert is_as_it_comes(picked("key", "headers"))
    raw = schema_of(("value", StringType()), ("_error", StringType()), ("_raw_key", BinaryType()))
    check_projection(raw, include_headers=False, mode=Mode.PERMISSIVE)
    assert "'_error' is not a column" in config_error(
        check_projection, raw, include_headers=False, mode=Mode.FAILFAST
    )


TEXT, BYTES, INT = StringType(), BinaryType(), IntegerType()


def sink_columns(value: int, **indices: int) -> SinkColumns:
    unused = SinkColumns(value, None, None, None, None, None)
    return replace(unused, **indices)


@pytest.mark.parametrize(
    ("schema", "topic", "columns"),
    [
        (schema_of(("value", BYTES)), "t", sink_columns(value=0)),
        (schema_of(("topic", TEXT), ("value", TEXT)), None, sink_columns(topic=0, value=1)),
        # The option overrides the column, whatever its type.
        (schema_of(("topic", INT), ("value", TEXT)), "t", sink_columns(value=1)),
        (schema_of(("topic", TEXT), ("topic", INT), ("value", TEXT)), "t", sink_columns(value=2)),
        (
            picked(*SOURCE_TYPES),
            None,
            SinkColumns(key=0, value=1, topic=2, partition=3, timestamp=5, headers=7),
        ),
        # Names are exact; other columns are ignored, even duplicates.
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
    ids=str,
)
def test_columns_to_write_are_found(
    schema: StructType, topic: str | None, columns: SinkColumns
) -> None:
    assert check_sink_schema(schema, topic) == columns


@pytest.mark.parametrize(
    ("columns", "topic", "message"),
    [
        (
            [("Value", TEXT)],
            "t",
            "Required attribute 'value' not found: rename the column to write, or make one, for "
            "example with to_json(struct('*')).alias('value').",
        ),
        (
            [("value", TEXT)],
            None,
            "topic option required when no 'topic' attribute is present. Use the topic option for "
            "setting a topic.",
        ),
        (
            [("value", TEXT), ("topic", TEXT)],
            "",
            "Option 'topic' is empty: name a topic, or remove it and add a column 'topic'.",
        ),
        (
            [("value", TEXT), ("key", TEXT), ("key", INT)],
            "t",
            "Attribute 'key' exists 2 times: keep one of these columns.",
        ),
    ],
    ids=["no value", "no topic", "empty topic", "twice"],
)
def test_other_schemas_cannot_be_written(
    columns: list[tuple[str, DataType]], topic: str | None, message: str
) -> None:
    assert config_error(check_sink_schema, schema_of(*columns), topic) == message


def test_a_topic_as_the_argument_of_save_is_told() -> None:
    rows = schema_of(("value", TEXT))
    assert config_error(check_sink_schema, rows, None, (), "orders") == (
        "topic option required when no 'topic' attribute is present. Use the topic option for "
        "setting a topic. The argument of save() and start() has no effect: set topic to 'orders'."
    )
    own = schema_of(("value", TEXT), ("topic", TEXT))
    assert check_sink_schema(own, None, (), "orders") == sink_columns(value=0, topic=1)


HEADERS = "array<struct<key:string,value:binary>> or map<string,binary> or map<string,string>"


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("value", INT, "string or binary"),
        ("key", LongType(), "string or binary"),
        ("topic", BYTES, "string"),
        ("partition", LongType(), "int"),
        ("headers", headers_type(value=TEXT), HEADERS),
        ("headers", TEXT, HEADERS),
        ("timestamp", LongType(), "timestamp or timestamp_ntz"),
    ],
)
def test_columns_of_other_types_cannot_be_written(name: str, given: DataType, wanted: str) -> None:
    schema = schema_of(*{"value": TEXT, name: given}.items())
    assert config_error(check_sink_schema, schema, None if name == "topic" else "t") == (
        f"{name} attribute unsupported type {given.simpleString()}. {name} must be a(n) {wanted}: "
        "cast the column before writing it."
    )


def test_sink_errors_have_the_order_of_sparks_connector() -> None:
    """After the correction of each column the next error is raised."""
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


VALUE_AND_ERRORS = FormatOptions(
    (PayloadOptions("value", Format.AVRO, Framing.NONE, '"string"', None, None),),
    Mode.PERMISSIVE,
    {},
)


def test_formats_change_and_add_columns() -> None:
    types = added_columns(VALUE_AND_ERRORS)
    found = source_schema(include_headers=False, formats={"value": LongType(), **types})
    assert found.simpleString() == (
        "struct<key:binary,value:bigint,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,timestampType:int,_error:string,_raw:binary>"
    )
    assert all(field.nullable for field in found)


def test_a_projection_may_have_any_type_for_a_decoded_column_and_those_that_a_mode_adds() -> None:
    own = schema_of(("_raw", BinaryType()), ("value", LongType()), ("_error", StringType()))
    check_projection(own, include_headers=False, formats=VALUE_AND_ERRORS)
    fast = replace(VALUE_AND_ERRORS, mode=Mode.FAILFAST)
    assert "Column '_raw' is not a column of the source" in config_error(
        check_projection, own, include_headers=False, formats=fast
    )
    key = schema_of(("key", LongType()))
    assert "Column 'key' must be of type binary" in config_error(
        check_projection, key, include_headers=False, formats=VALUE_AND_ERRORS
    )
    raw = schema_of(("_raw", StringType()))
    assert "Column '_raw' must be of type binary" in config_error(
        check_projection, raw, include_headers=False, formats=VALUE_AND_ERRORS
    )


def test_an_envelope_adds_a_column_before_those_of_a_mode() -> None:
    upsert = EnvelopeOptions(Envelope.UPSERT)
    assert [*added_columns(VALUE_AND_ERRORS, upsert)] == ["op", "_error", "_raw"]
    assert added_columns(None, upsert) == {"op": StringType()}
    own = schema_of(("op", StringType()), ("offset", LongType()))
    check_projection(own, include_headers=False, envelope=upsert)
    assert "Column 'op' is not a column of the source" in config_error(
        check_projection, own, include_headers=False
    )


def test_keys_have_a_column_for_those_that_are_broken() -> None:
    key = PayloadOptions("key", Format.AVRO, Framing.NONE, '"string"', None, None)
    assert [*added_columns(replace(VALUE_AND_ERRORS, payloads=(key,)))] == [
        "_error",
        "_raw",
        "_raw_key",
    ]
    assert added_columns(None) == {}
