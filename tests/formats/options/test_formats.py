"""The options of formats."""

from __future__ import annotations

import pytest

from kafka_formats.options.alone import parse_alone
from kafka_formats.options.formats import (
    FormatOptions,
    PayloadOptions,
    WriteFormatOptions,
    parse_formats,
    parse_write_formats,
)
from kafka_formats.options.option import Use
from kafka_formats.options.settings import (
    Format,
    Framing,
    Mode,
    SchemaEvolution,
    SubjectNameStrategy,
)
from kafka_spark_source.options.names import by_key, check_names
from tests.config_error import config_error

GLUE_ID = "b7b4a7f0-9c96-4e4a-a687-fb5de9ef0c63"
URL = {"schema.registry.url": "http://r"}


def parse(**options: str) -> FormatOptions | None:
    given = by_key({name.replace("__", "."): value for name, value in options.items()})
    check_names(given, Use.BATCH_READ)
    return parse_formats(given)


def test_without_formats_all_columns_are_raw() -> None:
    assert parse() is None
    assert parse(value__format="raw", key__format="RAW") is None


def test_all_options() -> None:
    found = parse(
        Value__Format="AVRO",
        value__subject="orders",
        value__subject__version="3",
        key__format="avro",
        key__framing="none",
        key__schema=' "string" ',
        mode="permissive",
        schema__registry__url="http://r",
        Schema__Registry__Basic__Auth__User__Info="me:secret",
    )
    assert found == FormatOptions(
        (
            PayloadOptions("key", Format.AVRO, Framing.NONE, '"string"', None, None),
            PayloadOptions("value", Format.AVRO, Framing.CONFLUENT, None, "orders", 3),
        ),
        Mode.PERMISSIVE,
        {"url": "http://r", "basic.auth.user.info": "me:secret"},
    )
    assert "secret" not in repr(found)


def test_defaults_with_and_without_a_registry() -> None:
    value = PayloadOptions("value", Format.AVRO, Framing.CONFLUENT, None, None, None)
    found = parse(value__format="avro", schema__registry__url="http://r")
    assert found == FormatOptions((value,), Mode.FAILFAST, {"url": "http://r"})
    own = parse(value__format="avro", value__schema="order.avsc")
    value = PayloadOptions("value", Format.AVRO, Framing.NONE, "order.avsc", None, None)
    assert own == FormatOptions((value,), Mode.FAILFAST, {})


def test_a_descriptor_set_and_its_message_are_a_schema() -> None:
    found = parse(
        key__format="protobuf",
        key__protobuf__descriptor="orders.desc",
        key__protobuf__message="shop.Order",
    )
    assert found is not None
    (payload,) = found.payloads
    assert (payload.descriptor, payload.message) == ("orders.desc", "shop.Order")
    assert payload.has_schema
    assert payload.framing is Framing.NONE


@pytest.mark.parametrize(
    "text",
    [
        "RecordNameStrategy",
        "recordnamestrategy",
        "io.confluent.kafka.serializers.subject.RecordNameStrategy",
    ],
)
def test_the_names_of_strategies(text: str) -> None:
    found = parse(
        value__format="avro",
        value__subject__name__strategy=text,
        schema__registry__url="http://r",
    )
    assert found is not None
    assert found.payloads[0].strategy is SubjectNameStrategy.RECORD


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {
                "value__format": "avro",
                "value__subject": "s",
                "value__subject__name__strategy": "RecordNameStrategy",
            },
            "Options 'value.subject' and 'value.subject.name.strategy' contradict each other",
        ),
        (
            {"value__format": "avro", "value__subject__name__strategy": "Mine"},
            "must be topicnamestrategy or recordnamestrategy or topicrecordnamestrategy",
        ),
        (
            {"value__format": "xml"},
            "Option 'value.format' must be raw or avro or protobuf or json, got 'xml'.",
        ),
        (
            {"value.format": "Arvo"},
            "Option 'value.format' must be raw or avro or protobuf or json, got 'Arvo': did you "
            "mean 'avro'?",
        ),
        ({"schema__registry__url": "http://r"}, "Option 'schema.registry.url' needs a format"),
        ({"key__framing": "none"}, "Option 'key.framing' needs a format: set key.format"),
        ({"value__subject": "s"}, "Option 'value.subject' needs a format: set value.format"),
        ({"value__format": "avro"}, "needs a schema: set value.schema to it, or schema.registry"),
        ({"value__format": "avro", "value__schema": "id:7"}, "needs a schema"),
        (
            {"value__format": "avro", "value__schema": "{}", "value__framing": "confluent"},
            "Option 'value.framing' is confluent, which needs 'schema.registry.url'",
        ),
        (
            {"value__format": "avro", "schema__registry__ssl__truststore__location": "x"},
            "Option 'schema.registry.url' is missing",
        ),
        (
            {"value__format": "avro", "value__schema": "id:7", "value__subject__version": "2"},
            "Options 'value.schema' and 'value.subject.version' contradict each other",
        ),
        (
            {"value__format": "avro", "value__schema": "{}", "mode": "LAX"},
            "'mode' must be failfast or permissive or dropmalformed",
        ),
        (
            {"value__format": "avro", "value__subject__version": "0"},
            "Option 'value.subject.version' must be latest or a version, got '0'.",
        ),
        (
            {"value__format": "avro", "value__framing": "confluent", "value__schema": "{}"},
            "which needs 'schema.registry.url'",
        ),
        (
            {
                "value__format": "avro",
                "value__schema": "{}",
                "schema__registry__glue__region": "eu-west-1",
            },
            "Option 'schema.registry.glue.region' needs the framing glue: set value.framing or",
        ),
        (
            {
                "value__format": "avro",
                "value__framing": "glue",
                "schema__registry__max__retries": "1",
            },
            "Option 'schema.registry.url' is missing",
        ),
        (
            {
                "value__format": "avro",
                "value__framing": "glue",
                "value__subject__name__strategy": "TopicNameStrategy",
            },
            "Option 'value.subject.name.strategy' is not for AWS Glue: set value.subject to",
        ),
        (
            {"value__format": "avro", "value__protobuf__descriptor": "a.desc"},
            "Option 'value.protobuf.descriptor' is for Protobuf: set value.format to protobuf",
        ),
        (
            {"value__format": "json", "value__protobuf__message": "Order"},
            "Option 'value.protobuf.message' is for Protobuf: set value.format to protobuf",
        ),
        (
            {"key__protobuf__descriptor": "a.desc"},
            "Option 'key.protobuf.descriptor' needs a format: set key.format",
        ),
        (
            {
                "value__format": "protobuf",
                "value__schema": "a.proto",
                "value__protobuf__descriptor": "a.desc",
                "value__protobuf__message": "Order",
            },
            "Options 'value.schema' and 'value.protobuf.descriptor' contradict each other",
        ),
        (
            {
                "value__format": "protobuf",
                "value__protobuf__descriptor": "a.desc",
                "value__subject__version": "2",
            },
            "Options 'value.protobuf.descriptor' and 'value.subject.version' contradict each",
        ),
        (
            {"value__format": "protobuf", "value__protobuf__descriptor": "a.desc"},
            "Option 'value.protobuf.descriptor' needs the name of a message: set "
            "value.protobuf.message to it.",
        ),
        ({"value__formatt": "avro"}, "did you mean 'value.format'?"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, str], message: str) -> None:
    assert message in config_error(parse, **options)


def test_formats_of_a_write() -> None:
    given = by_key({"value.format": "avro", "auto.register.schemas": "TRUE", **URL})
    check_names(given, Use.WRITE)
    value = PayloadOptions("value", Format.AVRO, Framing.CONFLUENT, None, None, None)
    found = parse_write_formats(given)
    assert found == WriteFormatOptions((value,), True, {"url": "http://r"})
    assert found.encoded_columns == ["value"]
    assert parse_write_formats({}) is None


def test_options_of_serializers() -> None:
    given = {"value.format": "avro", "use.latest.version": "false", "normalize.schemas": "true"}
    found = parse_write_formats(by_key({**given, **URL}))
    assert found is not None
    assert (found.use_latest, found.normalize, found.auto_register) == (False, True, False)
    read = {"value.format": "avro", **URL, "use.latest.with.metadata": " env=a , v = 2"}
    formats = parse_alone({**read, "auto.register.schemas": "true"}).formats
    assert formats.payloads[0].metadata == (("env", "a"), ("v", "2"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use__latest__with__metadata": "a"}, "must be name=value, several with commas, got 'a'"),
        ({"use__latest__with__metadata": "=b"}, "must be name=value"),
        (
            {"use__latest__with__metadata": "a=b", "value__schema": "id:7"},
            "'use.latest.with.metadata' and 'value.schema' contradict each other",
        ),
        (
            {"use__latest__with__metadata": "a=b", "value__subject__version": "7"},
            "'use.latest.with.metadata' and 'value.subject.version' contradict each other",
        ),
        (
            {"use__latest__with__metadata": "a=b", "value__framing": "glue"},
            "'use.latest.with.metadata' needs a registry of Confluent's",
        ),
        (
            {"use__latest__with__metadata": "a=b", "value__format": "raw"},
            "'use.latest.with.metadata' needs a format",
        ),
    ],
)
def test_metadata_that_does_not_fit(options: dict[str, str], message: str) -> None:
    given = {"value__format": "avro", "schema__registry__url": "http://r", **options}
    assert message in config_error(parse, **given)


def test_the_framing_of_glue_needs_no_url() -> None:
    found = parse(
        value__format="avro",
        value__framing="GLUE",
        schema__registry__glue__region="eu-west-1",
        key__format="avro",
        schema__registry__url="http://r",
    )
    assert found is not None
    assert [each.framing for each in found.payloads] == [Framing.CONFLUENT, Framing.GLUE]
    assert found.registry == {"glue.region": "eu-west-1", "url": "http://r"}
    alone = parse(value__format="avro", value__framing="glue", value__schema=f"id:{GLUE_ID}")
    assert alone is not None
    assert alone.registry == {}


def test_the_framings_of_apicurio() -> None:
    given = {"value__format": "avro", "value__framing": "apicurio-content-id"}
    found = parse(**given, schema__registry__url="http://r/apis/registry/v3")
    assert found is not None
    assert found.payloads[0].framing is Framing.APICURIO_CONTENT_ID
    assert (
        "Option 'value.framing' is apicurio-content-id, which needs 'schema.registry.url'"
        in config_error(parse, **given)
    )
    assert config_error(parse, value__format="protobuf", value__framing="apicurio") == (
        "Option 'value.framing' is apicurio, which is for avro or json: set value.format to avro "
        "or json, or the framing to another one."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value__framing": "azure"}, "is azure, whose registry has no subjects: set value.schema"),
        (
            {"key__framing": "azure", "key__format": "avro", "value__format": "raw"},
            "Option 'key.framing' is azure, which is for values",
        ),
        (
            {"value__framing": "azure", "value__format": "json", "value__schema": "a int"},
            "is azure, which is for avro: set value.format to avro",
        ),
    ],
)
def test_the_framing_of_azure(options: dict[str, str], message: str) -> None:
    given = {"value__format": "avro", "schema__registry__url": "https://r", **options}
    assert message in config_error(parse, **given)


def test_what_does_not_fit_a_write_is_refused() -> None:
    assert config_error(
        parse_write_formats, {"key.format": "avro", "key.framing": "glue", "value.format": "raw"}
    ) == (
        "Option 'key.framing' is glue, which is for reads: payloads are written with the framing "
        "confluent or none."
    )
    assert "is for a read, not for a write" in config_error(
        check_names, {"mode": "FAILFAST"}, Use.WRITE
    )
    assert "Option 'auto.register.schemas' needs a format" in config_error(
        parse_write_formats, {"auto.register.schemas": "true"}
    )
    assert "needs a schema" in config_error(parse_write_formats, {"value.format": "avro"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, ""),
        ({"value__framing": "glue"}, ""),
        ({"value__schema__evolution": "exact"}, ""),
        ({"value__schema__evolution": "sometimes"}, "none or restart or exact, got 'sometimes'"),
        ({"value__framing": "none", "value__schema": "long"}, "needs the ids of schemas"),
        ({"value__schema": '"long"'}, "and 'value.schema' names another schema"),
        ({"value__subject__version": "3"}, "and 'value.subject.version' names another schema"),
        ({"use__latest__with__metadata": "a=b"}, "and 'use.latest.with.metadata' names another"),
        ({"value__format": "raw"}, "'value.schema.evolution' needs a format"),
    ],
)
def test_evolution(options: dict[str, str], message: str) -> None:
    given = {
        "value__format": "avro",
        "schema__registry__url": "http://r",
        "value__schema__evolution": "restart",
        **options,
    }
    if message:
        assert message in config_error(parse, **given)
    else:
        formats = parse(**given)
        assert formats is not None
        assert formats.payloads[0].evolution.value == given["value__schema__evolution"]


def test_evolution_by_the_names_of_functions() -> None:
    given = {"value.format": "avro", **URL, "avroSchemaEvolutionMode": "restart"}
    formats = parse_alone(given).formats
    assert formats is not None
    assert formats.payloads[0].evolution is SchemaEvolution.RESTART
