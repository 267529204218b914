"""`name=value` on a page: an option of ours that takes the value, or of somebody who is named."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from kafka_formats.topic import read_topic
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaError
from kafka_spark_source.changes import apply_changes
from kafka_spark_source.options.read import parse_batch_options, parse_stream_options
from kafka_spark_source.options.write import parse_write_options
from kafka_spark_source.tables import topics_to_tables
from kafka_spark_source.testing import KafkaCluster

# Names that are not ours, by whose they are. Spark's own are asked for in tests/spark.
OF_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "the Makefile": ("SIMULATE_SECONDS", "SEED"),
    "Kafka's topics": ("cleanup.policy", "message.timestamp.type"),
    "Debezium": (
        *("time.precision.mode", "decimal.handling.mode", "binary.handling.mode"),
        *("interval.handling.mode", "delete.tombstone.handling.mode"),
        "event.processing.failure.handling.mode",
    ),
    "Kafka Connect's converters": (
        *("schemas.enable", "optional.for.nullables", "wrapper.for.nullables"),
        *("apicurio.registry.as-confluent", "use-id"),
    ),
    "Iceberg's sink": ("iceberg.tables.schema-force-optional",),
    "Python": ("shell",),
    "Java": ("-Dio.netty.allocator.maxOrder",),
    # What stands for any name.
    "nobody": ("NAME", "name"),
}
# Values that a page shows because they are refused.
WRONG: Final = frozenset(
    {
        *("startingOffsets=earlist", "value.format=arvo", "maxOffsetsPerTrigger=many"),
        *("kafka.compression.type=zstandard", "kafka.acks=0"),
    }
)
_FUNCTIONS: Final[tuple[Callable[..., Any], ...]] = (
    *(read_topic, apply_changes, topics_to_tables),
    KafkaCluster,
)
_SERVERS: Final = {"kafka.bootstrap.servers": "b:1"}
_READ: Final = {**_SERVERS, "subscribe": "t"}
_AVRO: Final = {"value.format": "avro", "schema.registry.url": "http://r"}
# What an option may need beside it.
_BESIDE: Final[tuple[Mapping[str, str], ...]] = (
    {},
    {"envelope": "upsert"},
    {"value.format": "json", "value.schema": "id bigint"},
    {"value.format": "json", "value.schema": "id bigint", "envelope": "debezium"},
    {"key.schema": "id bigint", "value.format": "json", "value.schema": "id bigint"},
    _AVRO,
    {"key.format": "avro", **_AVRO, "schema.registry.glue.region": "eu-west-1"},
    {"value.format": "avro", "schema.registry.glue.region": "eu-west-1"},
    {"key.format": "avro", "schema.registry.glue.region": "eu-west-1"},
    {"value.format": "avro", "value.schema": '"long"'},
    {"transactionalIdPrefix": "p"},
    {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.oauthbearer.token.callback": "tests.pages.settings:token",
    },
    {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.location": "/ca.pem",
    },
    {"kafka.group.id": "g"},
)


def token() -> str:
    """For an option that names a function."""
    return "token"


@cache
def is_accepted(setting: str) -> bool:
    """Whether a setting is one of ours, with a value that we accept."""
    name, _, value = setting.partition("=")
    name = name.strip()
    if any(name in inspect.signature(each).parameters for each in _FUNCTIONS):
        return True
    return any(accepts(parse, options) for parse, options in _tries(name, value))


def whose(setting: str) -> str | None:
    """Who else has the name."""
    name = setting.partition("=")[0]
    if name.startswith("spark."):
        return "Spark"
    return next((owner for owner, names in OF_OTHERS.items() if name in names), None)


Parse = Callable[[Mapping[str, str]], Any]


def accepts(parse: Parse, options: Mapping[str, str]) -> bool:
    """Whether options are accepted, each of them with an effect."""
    try:
        parsed = parse(options)
        ClientConfig.from_options(parsed.kafka)
    except (KafkaError, ValueError):
        return False
    return not getattr(parsed, "ignored", ())


def _tries(name: str, value: str) -> Iterator[tuple[Parse, Mapping[str, str]]]:
    # Without Spark, options of Kafka have no prefix.
    for given in (name, f"kafka.{name}"):
        for beside in _BESIDE:
            for parse in (parse_batch_options, parse_stream_options):
                is_strategy = given in {"assign", "subscribePattern"}
                before = _SERVERS if is_strategy else _READ
                yield parse, {**before, **beside, given: value}
            yield parse_write_options, {**_SERVERS, "topic": "t", **beside, given: value}
