"""Options of other tools: each has a fate, and those that are accepted mean the same here."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator
from typing import Any, Final

import pytest
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer

from kafka_formats.options.other_tools import CONFLUENT, FUNCTIONS, Fate, OtherOption, in_own_names
from kafka_formats.options.table import PAYLOAD_OPTIONS, REGISTRY_PREFIX
from kafka_formats.registry.config import RegistryConfig
from kafka_protocol.client.config.option import declared_in
from tests.config_error import config_error

ALL: Final = (*CONFLUENT, *FUNCTIONS)
OWN: Final = {
    *(row.key for row in PAYLOAD_OPTIONS),
    *(REGISTRY_PREFIX + name for name in declared_in(RegistryConfig)),
    f"{REGISTRY_PREFIX}ssl.*",
}
SERIALIZERS: Final[list[Any]] = [
    *(AvroSerializer, AvroDeserializer, JSONSerializer, JSONDeserializer),
    *(ProtobufSerializer, ProtobufDeserializer),
]


def with_fate(fate: Fate) -> Iterator[OtherOption]:
    return (each for each in ALL if each.fate is fate)


def test_names_are_there_once() -> None:
    names = [each.name.lower() for each in ALL]
    assert len(names) == len(set(names))


def test_all_options_of_confluents_serializers_in_python_are_known() -> None:
    known = {each.name for each in CONFLUENT}
    for serializer in SERIALIZERS:
        defaults = next(
            vars(each)["_default_conf"]
            for each in inspect.getmro(serializer)
            if "_default_conf" in vars(each)
        )
        assert defaults.keys() <= known


def test_what_is_accepted_is_here() -> None:
    for each in with_fate(Fate.SAME):
        assert each.name.lower() in OWN, each.name
    for each in with_fate(Fate.RENAMED):
        assert each.target in OWN, each.name
    for each in (*with_fate(Fate.NO_EFFECT), *with_fate(Fate.REFUSED)):
        assert each.name.lower() not in OWN, each.name
        assert each.about


def test_names_become_those_here() -> None:
    given = {
        "schema.registry.url": "http://r",
        "basic.auth.user.info": "u:p",
        "schema.registry.max.retries": "2",
        "avroschema": "a.avsc",
        "confluent.schema.registry.ssl.truststore.location": "/ca",
        "kafka.max.poll.records": "5",
    }
    assert in_own_names(given) == {
        "schema.registry.url": "http://r",
        "schema.registry.basic.auth.user.info": "u:p",
        "schema.registry.max.retries": "2",
        "value.schema": "a.avsc",
        "schema.registry.ssl.truststore.location": "/ca",
        "kafka.max.poll.records": "5",
    }


def test_options_without_effect_are_named(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for each in with_fate(Fate.NO_EFFECT):
        assert in_own_names({each.name.lower(): "secret"}) == {}
        assert f"The option {each.name} has no effect in pykafka: " in caplog.text
    assert in_own_names({"schema.registry.cache.capacity": "5"}) == {}
    assert "secret" not in caplog.text


def test_refused_options_say_why() -> None:
    for each in with_fate(Fate.REFUSED):
        for value in each.harmless:
            assert in_own_names({each.name.lower(): f" {value.upper()} "}) == {}
        text = config_error(in_own_names, {each.name.lower(): "other"})
        assert text == f"Option '{each.name}' is not supported: {each.about}"


def test_a_class_may_have_its_package() -> None:
    name = "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdSerializer"
    assert in_own_names({"value.schema.id.serializer": name}) == {}


def test_an_option_under_two_names() -> None:
    given = {"basic.auth.user.info": "u:p", "schema.registry.basic.auth.user.info": "u:p"}
    assert in_own_names(given) == {"schema.registry.basic.auth.user.info": "u:p"}
    text = config_error(in_own_names, given | {"basic.auth.user.info": "u:secret"})
    assert text == (
        "Option 'schema.registry.basic.auth.user.info' is given twice, under the names of two "
        "tools: keep one."
    )
