"""The arguments of functions."""

from __future__ import annotations

import pytest

from kafka_formats.options.formats import FormatOptions, PayloadOptions, WriteFormatOptions
from kafka_formats.options.settings import Format, Framing, Mode
from kafka_spark_source.options.functions import Arguments, parse_decoding, parse_encoding
from tests.config_error import config_error


def arguments(
    schema: str | None = None,
    binary: str | None = None,
    message: str | None = None,
    subject: str | None = None,
    address: str | None = None,
    **options: str,
) -> Arguments:
    schemas = {"descFilePath": schema, "binaryDescriptorSet": binary}
    given = {name.replace("__", "."): value for name, value in options.items()}
    return Arguments(Format.PROTOBUF, schemas, message, subject, address, given)


def payload(framing: Framing, schema: str | None, *rest: str | None) -> PayloadOptions:
    subject, message = rest or (None, None)
    return PayloadOptions("value", Format.PROTOBUF, framing, schema, subject, None, message)


def test_a_schema_without_a_registry() -> None:
    one = payload(Framing.NONE, "a.desc", None, "M")
    found = parse_decoding(arguments("a.desc", message="M", Mode="permissive"))
    assert found == FormatOptions((one,), Mode.PERMISSIVE, {})
    binary = payload(Framing.NONE, "descriptor-set:")
    found = parse_decoding(arguments(binary="descriptor-set:"))
    assert found == FormatOptions((binary,), Mode.FAILFAST, {})


def test_a_registry_by_arguments_or_by_options() -> None:
    one = payload(Framing.CONFLUENT, None, "s", "M")
    by_options = arguments(
        schema__registry__address="http://r",
        schema__registry__subject="s",
        schema__registry__protobuf__name="M",
        confluent__schema__registry__basic__auth__user__info="me:secret",
        auto__register__schemas="true",
    )
    registry = {"url": "http://r", "basic.auth.user.info": "me:secret"}
    assert parse_encoding(by_options) == WriteFormatOptions((one,), True, registry)
    assert "secret" not in repr(by_options)
    by_arguments = arguments(message="M", subject="s", address="http://r")
    assert parse_encoding(by_arguments) == WriteFormatOptions((one,), False, {"url": "http://r"})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (arguments(), "A schema is missing: give descFilePath or binaryDescriptorSet, or subject"),
        (arguments(subject="s"), "A schema is missing"),
        (arguments(address="http://r"), "A schema is missing"),
        (arguments("a", "b"), "descFilePath and binaryDescriptorSet contradict each other"),
        (
            arguments("a", message="M", schema__registry__protobuf__name="M"),
            "messageName and value.protobuf.message contradict each other: keep one.",
        ),
        (
            arguments("a", schema__registry__address="x", schema__registry__url="y"),
            "Option 'schema.registry.url' is given twice",
        ),
        (
            arguments("a", address="x", schema__registry__url="y"),
            "schemaRegistryAddress and schema.registry.url contradict each other",
        ),
        (arguments("a", subject="s"), "subject needs a registry: set schemaRegistryAddress"),
        (arguments("id:7"), "The schema id:7 needs a registry"),
        (
            arguments("a", schema__registry__max__retries="1"),
            "Option 'schema.registry.max.retries' needs a registry",
        ),
        (arguments("a", mode="dropmalformed"), "must be FAILFAST or PERMISSIVE for a function"),
        (
            arguments("a", enums__as__ints="true"),
            "Option 'enums.as.ints' is not supported: enums are read as their names",
        ),
        (
            arguments("a", other="true"),
            "Option 'other' is not known: this function takes mode, use.latest.with.metadata, and",
        ),
        (arguments("a", value__subject="s"), "subject needs a registry"),
        (arguments("a", avroSchema="b"), "descFilePath and value.schema contradict each other"),
        (
            arguments("a", use__latest__with__metadata="a=b"),
            "'use.latest.with.metadata' contradicts a schema",
        ),
    ],
)
def test_what_cannot_be_used(given: Arguments, said: str) -> None:
    text = config_error(parse_decoding, given)
    assert said in text


def test_encoding_has_no_mode() -> None:
    text = config_error(parse_encoding, arguments("a", mode="PERMISSIVE"))
    assert "this function takes auto.register.schemas, normalize.schemas, use." in text


def test_a_function_has_the_type_that_it_was_called_with() -> None:
    by_databricks = arguments("a.desc", schemaEvolutionMode="none")
    assert parse_decoding(by_databricks).payloads[0].schema == "a.desc"
    restart = arguments("a.desc", schemaEvolutionMode="restart")
    assert "'value.schema.evolution' is for reads of pykafka" in config_error(
        parse_decoding, restart
    )
