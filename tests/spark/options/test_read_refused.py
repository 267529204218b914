"""Options of a read that are refused: the error texts, and the order of the checks."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_spark_source.options.read import parse_batch_options, parse_stream_options
from tests.config_error import config_error

BROKERS = {"kafka.bootstrap.servers": "b:1"}
READ = {**BROKERS, "subscribe": "t"}
GROUP = {"kafka.group.id": "g"}
BATCH_AND_STREAM = pytest.mark.parametrize("parse", [parse_batch_options, parse_stream_options])


@BATCH_AND_STREAM
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            BROKERS,
            "One of the following options must be specified for Kafka source: subscribe, "
            "subscribePattern, assign. Set one of them to the topics to read.",
        ),
        (
            {**READ, "assign": '{"t":[0]}'},
            "Only one of the following options can be specified for Kafka source: subscribe, "
            "subscribePattern, assign. Keep one of subscribe and assign.",
        ),
        (
            {"subscribe": "t"},
            "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer: "
            "set it to the addresses of some brokers, host:port.",
        ),
        (
            {"subscribe": "t", "bootstrap.servers": "b:1"},
            "Option 'bootstrap.servers' is not known to pykafka: did you mean "
            "'kafka.bootstrap.servers'?",
        ),
        (
            {**BROKERS, "path": "orders,payments"},
            "One of the following options must be specified for Kafka source: subscribe, "
            "subscribePattern, assign. The argument of load() has no effect: set subscribe to "
            "'orders,payments'.",
        ),
        (
            {"subscribe": "t", "kafka.Bootstrap.Server": "b:1"},
            "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer, "
            "and 'kafka.bootstrap.server' is not known: did you mean 'kafka.bootstrap.servers'?",
        ),
        (
            {**BROKERS, "subscribe": "t,my orders"},
            "Option 'subscribe' names the topic 'my orders' (9 characters), and brokers accept 1 "
            "to 249 letters of a-z and A-Z, digits, '.', '_' and '-': correct the name.",
        ),
        (
            {**BROKERS, "assign": '{"a/b":[0]}'},
            "Option 'assign' names the topic 'a/b' (3 characters), and brokers accept 1 to 249 "
            "letters of a-z and A-Z, digits, '.', '_' and '-': correct the name.",
        ),
    ],
    ids=[
        "no strategy",
        "two strategies",
        "no brokers",
        "a forgotten prefix",
        "a topic as the argument of load",
        "a misspelt name of the brokers",
        "a name that no topic can have",
        "such a name in assign",
    ],
)
def test_a_read_is_refused(parse: Any, options: dict[str, str], message: str) -> None:
    assert config_error(parse, options) == message


@BATCH_AND_STREAM
@pytest.mark.parametrize(
    ("typo", "option"),
    [
        ("startingOffset", "startingOffsets"),
        ("minPartition", "minPartitions"),
        ("maxOffsetPerTrigger", "maxOffsetsPerTrigger"),
    ],
)
def test_a_typo_is_refused(parse: Any, typo: str, option: str) -> None:
    assert config_error(parse, {**READ, typo: "1"}) == (
        f"Option '{typo.lower()}' is not known to pykafka: did you mean '{option}'?"
    )


@BATCH_AND_STREAM
@pytest.mark.parametrize(
    ("option", "instead"),
    [
        (
            "Auto.Offset.Reset",
            "Instead set the source option 'startingOffsets' to 'earliest' or to offsets.",
        ),
        (
            "key.deserializer",
            "Keys are read as binary: use DataFrame operations to deserialize the column 'key'.",
        ),
        (
            "value.deserializer",
            "Values are read as binary: use DataFrame operations to deserialize the column "
            "'value'.",
        ),
        ("enable.auto.commit", "Reading commits no offsets: remove it."),
        ("interceptor.classes", "Java classes cannot be loaded: use DataFrame operations instead."),
    ],
)
def test_an_option_of_javas_client_is_refused(parse: Any, option: str, instead: str) -> None:
    assert config_error(parse, {**READ, f"kafka.{option}": "x"}) == (
        f"Kafka option '{option.lower()}' is not supported. {instead}"
    )


START = "for batch queries on Kafka: set startingOffsets to earliest (-2 for one partition)"
END = "for batch queries on Kafka: set endingOffsets to latest (-1 for one partition)"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": "LATEST"}, f"starting offset can't be latest {START} or to offsets."),
        (
            {"startingOffsets": '{"t":{"1":-1,"0":-1}}'},
            f"startingOffsets for t-0 can't be latest {START} or to offsets.",
        ),
        ({"endingOffsets": "earliest"}, f"ending offset can't be earliest {END} or to offsets."),
        (
            {"endingOffsets": '{"t":{"0":-2}}'},
            f"ending offset for t-0 can't be earliest {END} or to offsets.",
        ),
        (
            {"startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"0":4}}'},
            "The specified start offset 5 is greater than the end offset 4 for topic t partition "
            "0: lower startingOffsets or raise endingOffsets.",
        ),
        (
            {"failOnDataLoss": "maybe"},
            "Option 'failOnDataLoss' must be true or false, got 'maybe'.",
        ),
        (
            {"Topic": "t"},
            "Option 'topic' is for a write, not for a read: name the topics to read in the option "
            "'subscribe'.",
        ),
        (
            {"security.protocol": "SSL"},
            "Option 'security.protocol' is not known to pykafka: did you mean "
            "'kafka.security.protocol'?",
        ),
        (
            {"acks": "1"},
            "Option 'acks' is not known to pykafka: a batch read takes "
            "kafka.bootstrap.servers, kafka.*, subscribe, subscribePattern, assign, "
            "startingTimestamp, startingOffsetsByTimestamp, startingOffsets, "
            "startingOffsetsByTimestampStrategy, endingTimestamp, endingOffsetsByTimestamp, "
            "endingOffsets, minPartitions, maxRecordsPerPartition, coalescePartitions, "
            "pushDownPredicate, deadLetterTopic, "
            "includeHeaders, includeTopicId, failOnDataLoss, "
            "kafkaConsumer.pollTimeoutMs, fetchOffset.numRetries, "
            "fetchOffset.retryIntervalMs, partition.metadata.cache.ttl.ms, groupIdPrefix, "
            "value.format, value.framing, value.schema, value.subject, value.subjects, "
            "value.subjects.pattern, value.subject.name.strategy, value.subject.version, "
            "value.protobuf.descriptor, "
            "value.protobuf.message, value.schema.evolution, "
            "key.format, key.framing, key.schema, key.subject, key.subjects, "
            "key.subjects.pattern, key.subject.name.strategy, key.subject.version, "
            "key.protobuf.descriptor, key.protobuf.message, "
            "key.schema.evolution, mode, use.latest.with.metadata, schema.registry.*, envelope, "
            "upsert.tombstones, upsert.nullKeys, debezium.prefix, debezium.before, "
            "debezium.otherEvents, debezium.unavailable.value.placeholder, "
            "debezium.time.precision.mode, debezium.decimal.format; an option of the Kafka client "
            "needs 'kafka.' before its name.",
        ),
    ],
    ids=str,
)
def test_a_batch_read_is_refused(options: dict[str, str], message: str) -> None:
    assert config_error(parse_batch_options, READ | options) == message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"endingOffsets": "latest"},
            "ending offset not valid in streaming queries: remove the option 'endingOffsets'.",
        ),
        (
            {"endingOffsetsByTimestamp": "?"},
            "ending timestamp not valid in streaming queries: remove the option "
            "'endingOffsetsByTimestamp'.",
        ),
        (
            {"minOffsetsPerTrigger": "20", "maxOffsetsPerTrigger": "15"},
            "The value of minOffsetPerTrigger(20) is higher than the maxOffsetsPerTrigger(15): "
            "lower minOffsetsPerTrigger.",
        ),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must be positive, got '0'."),
        ({"maxBytesPerTrigger": "-1"}, "maxBytesPerTrigger must be positive, got '-1'."),
        (
            {"minOffsetsPerTrigger": "a"},
            "Option 'minOffsetsPerTrigger' must be a whole number, got 'a'.",
        ),
        (
            {"commitOffsetsToGroup": "1"},
            "Option 'commitOffsetsToGroup' must be true or false, got '1'.",
        ),
        (
            {"pushDownPredicate": "true"},
            "Option 'pushDownPredicate' is for a batch read, not for a streaming read: remove it.",
        ),
        (
            {"topic": "t"},
            "Option 'topic' is for a write, not for a read: name the topics to read in the option "
            "'subscribe'.",
        ),
    ],
    ids=str,
)
def test_a_streaming_read_is_refused(options: dict[str, str], message: str) -> None:
    assert config_error(parse_stream_options, READ | options) == message


@pytest.mark.parametrize("text", ["", "a", "5 parsecs", "1.5s", "-1", "1m30s"])
def test_a_delay_that_is_no_time_is_refused(text: str) -> None:
    assert config_error(parse_stream_options, {**READ, "maxTriggerDelay": text}) == (
        f"Option 'maxTriggerDelay' must be a time such as 15m, 30s or 500ms, got '{text}'."
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("minPartitions", "0"), ("minPartitions", "-1"), ("maxRecordsPerPartition", "0")],
)
def test_a_number_that_is_not_positive_is_refused(name: str, value: str) -> None:
    error = config_error(parse_batch_options, {**READ, name: value})
    assert error == f"{name} must be positive, got '{value}'."


@pytest.mark.parametrize("parse", [parse_batch_options, parse_stream_options])
@pytest.mark.parametrize("value", ["0", "-2", "-100", "-1.0", "a", ""])
def test_a_ttl_is_minus_1_or_positive(parse: Any, value: str) -> None:
    """As in Spark's connector (SPARK-49442)."""
    name = "partition.metadata.cache.ttl.ms"
    error = config_error(parse, {**READ, name: value})
    assert error == f"Option '{name}' must be -1 or a positive number of ms, got '{value}'."
    for allowed in ("-1", "1", " 30000 "):
        parse({**READ, name: allowed})


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("minPartitions", "1.0", "a whole number"),
        ("minPartitions", "a", "a whole number"),
        ("minPartitions", "2147483648", "a whole number"),
        ("maxRecordsPerPartition", "9223372036854775808", "a whole number"),
        ("startingOffsetsByTimestampStrategy", "earliest", "error or latest"),
    ],
)
def test_a_value_of_another_kind_is_refused(name: str, value: str, kind: str) -> None:
    error = config_error(parse_batch_options, {**READ, name: value})
    assert error == f"Option '{name}' must be {kind}, got '{value}'."


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"commitOffsetsToGroup": "true"}, "commitOffsetsToGroup"),
        ({"startingOffsets": "group"}, "startingOffsets"),
        ({"startingOffsets": '{"t":{"0":1,"1":"group"}}'}, "startingOffsets"),
        ({"startingOffsets": "group", "kafka.group.id": ""}, "startingOffsets"),
    ],
    ids=["commit", "start", "start in one partition", "empty group id"],
)
def test_a_group_must_be_named(options: dict[str, str], name: str) -> None:
    assert config_error(parse_stream_options, {**READ, **options}) == (
        f"Option '{name}' needs a consumer group: set kafka.group.id to its name."
    )


@BATCH_AND_STREAM
def test_a_table_splits_no_partition(parse: Any) -> None:
    options = {**READ, "envelope": "upsert", "maxRecordsPerPartition": "5"}
    assert config_error(parse, options) == (
        "Option 'maxRecordsPerPartition' splits partitions, each of which one task reads with "
        "envelope=upsert: remove it."
    )


def test_a_stream_has_no_choice_of_tombstones() -> None:
    options = {**READ, "envelope": "upsert", "upsert.tombstones": "keep"}
    assert config_error(parse_stream_options, options) == (
        "Option 'upsert.tombstones' is for a batch read, not for a streaming read: remove it."
    )


@pytest.mark.parametrize("name", ["startingOffsets", "endingOffsets"])
@pytest.mark.parametrize("text", ["group", '{"t":{"0":"group"}}'])
def test_a_batch_cannot_start_or_end_at_a_group(name: str, text: str) -> None:
    error = config_error(parse_batch_options, {**READ, **GROUP, name: text})
    assert "The position 'group' is only for the start of a stream" in error


@pytest.mark.parametrize(
    ("parse", "options", "corrections"),
    [
        (
            parse_batch_options,
            {
                "startingOffsets": "latest",
                "endingOffsets": "earliest",
                "kafka.enable.auto.commit": "true",
                "failOnDataLoss": "?",
            },
            [
                ("starting offset can't be latest", {"startingOffsets": '{"t":{"0":5}}'}),
                ("ending offset can't be earliest", {"endingOffsets": '{"t":{"0":4}}'}),
                ("One of the following options", {"subscribe": ","}),
                ("No topics to subscribe to", {"subscribe": "t"}),
                ("Kafka option 'enable.auto.commit'", {"kafka.enable.auto.commit": None}),
                ("Option 'kafka.bootstrap.servers' must be", BROKERS),
                ("The specified start offset 5 is greater", {"startingOffsets": '{"t":{"0":1}}'}),
                ("Option 'failOnDataLoss' must be", {"failOnDataLoss": "false"}),
            ],
        ),
        (
            parse_stream_options,
            {
                "endingOffsets": "?",
                "endingOffsetsByTimestamp": "?",
                "kafka.enable.auto.commit": "true",
                "minOffsetsPerTrigger": "2",
                "maxOffsetsPerTrigger": "1",
                "commitOffsetsToGroup": "true",
            },
            [
                ("ending offset not valid", {"endingOffsets": None}),
                ("ending timestamp not valid", {"endingOffsetsByTimestamp": None}),
                ("One of the following options", {"subscribe": ","}),
                ("No topics to subscribe to", {"subscribe": "t", "minPartitions": "0"}),
                ("minPartitions must be positive", {"minPartitions": "1"}),
                ("Kafka option 'enable.auto.commit'", {"kafka.enable.auto.commit": None}),
                ("Option 'kafka.bootstrap.servers' must be", BROKERS),
                ("The value of minOffsetPerTrigger(2)", {"minOffsetsPerTrigger": "1"}),
                ("Option 'commitOffsetsToGroup' needs", GROUP),
            ],
        ),
    ],
    ids=["batch", "stream"],
)
def test_errors_come_in_the_order_of_sparks_connector(
    parse: Any, options: dict[str, str], corrections: list[tuple[str, dict[str, str | None]]]
) -> None:
    """After the correction of each option the next error is raised."""
    for message, correction in corrections:
        assert config_error(parse, options).startswith(message)
        options = {k: v for k, v in {**options, **correction}.items() if v is not None}
    parse(options)


JSON = {"value.format": "json", "value.schema": "id bigint"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({**JSON, "deadLetterTopic": " "}, "is empty: name a topic, or remove it"),
        ({**JSON, "deadLetterTopic": "letters", "mode": "FAILFAST"}, "and mode is FAILFAST"),
        ({**JSON, "deadLetterTopic": "letters", "mode": "permissive"}, "and mode is PERMISSIVE"),
        ({**JSON, "deadLetterTopic": "t"}, "names 't', which the query reads"),
    ],
)
def test_dead_letters_are_refused(options: dict[str, str], message: str) -> None:
    assert message in config_error(parse_batch_options, READ | options)


def test_dead_letters_in_a_topic_of_the_pattern_are_refused() -> None:
    given = {key: value for key, value in READ.items() if key != "subscribe"}
    pattern = given | JSON | {"subscribePattern": "order.*", "deadLetterTopic": "orders-dead"}
    assert "its own dead letters" in config_error(parse_batch_options, pattern)
