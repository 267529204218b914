from __future__ import annotations

import pickle

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import (
    BatchReadOptions,
    parse_batch_options,
)
from kafka_spark_source.options.write import parse_write_options
from kafka_spark_source.planning.batch import Parts
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Everywhere,
    Position,
    SpecificOffsets,
    SpecificTimestamps,
    Timestamp,
)
from kafka_spark_source.planning.strategies import Assign, Strategy, Subscribe, SubscribePattern

BROKERS = {"kafka.bootstrap.servers": "b:1"}
READ = {**BROKERS, "subscribe": "t"}
T0 = TopicPartition("t", 0)


def read_error(options: dict[str, str]) -> str:
    with pytest.raises(KafkaConfigError) as caught:
        parse_batch_options(options)
    return str(caught.value)


def test_a_read_needs_brokers_and_topics_only() -> None:
    assert parse_batch_options(READ) == BatchReadOptions(
        strategy=Subscribe(("t",)),
        starting=FROM_EARLIEST,
        ending=TO_LATEST,
        fail_on_no_match=True,
        parts=Parts(),
        push_down_predicate=False,
        include_headers=False,
        fail_on_data_loss=True,
        poll_timeout_ms=120_000,
        planning_attempts=1,
        planning_interval_ms=1_000,
        ignored=(),
        kafka={"bootstrap.servers": "b:1"},
    )


def test_all_that_a_read_can_be_given() -> None:
    options = {
        "KAFKA.Bootstrap.Servers": "b:1",
        "kafka.Client.Id": "Me",
        "SUBSCRIBE": "Topic",
        "startingoffsets": '{"Topic":{"0":3}}',
        "ENDINGOFFSETS": '{"Topic":{"0":5}}',
        "IncludeHeaders": "True",
        "failOnDataLoss": "false",
        "startingOffsetsByTimestampStrategy": "Latest",
        "minPartitions": "3",
        "MaxRecordsPerPartition": "4",
        "pushDownPredicate": "true",
        "kafkaConsumer.pollTimeoutMs": "512",
        "fetchOffset.numRetries": "5",
        "fetchOffset.retryIntervalMs": "10",
        "groupIdPrefix": "mine",
        "MAXOFFSETSPERTRIGGER": "7",
        "path": "ignored",
        "Paths": '["ignored"]',
    }
    topic_partition = TopicPartition("Topic", 0)
    assert parse_batch_options(options) == BatchReadOptions(
        strategy=Subscribe(("Topic",)),
        starting=SpecificOffsets({topic_partition: 3}),
        ending=SpecificOffsets({topic_partition: 5}),
        fail_on_no_match=False,
        parts=Parts(3, 4),
        push_down_predicate=True,
        include_headers=True,
        fail_on_data_loss=False,
        poll_timeout_ms=512,
        planning_attempts=5,
        planning_interval_ms=10,
        ignored=("maxOffsetsPerTrigger",),
        kafka={"bootstrap.servers": "b:1", "client.id": "Me"},
    )


@pytest.mark.parametrize(
    ("name", "value", "strategy"),
    [
        ("subscribe", "a,b", Subscribe(("a", "b"))),
        ("subscribePattern", "a.*", SubscribePattern("a.*")),
        ("assign", '{"t":[0]}', Assign((T0,))),
    ],
)
def test_each_strategy_is_read(name: str, value: str, strategy: Strategy) -> None:
    assert parse_batch_options({**BROKERS, name: value}).strategy == strategy


def test_secrets_do_not_show_but_travel() -> None:
    secret = {"kafka.sasl.jaas.config": "hunter2"}
    for options in (parse_batch_options(READ | secret), parse_write_options(BROKERS | secret)):
        assert "hunter2" not in repr(options)
        assert pickle.loads(pickle.dumps(options)).kafka["sasl.jaas.config"] == "hunter2"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param(
            BROKERS,
            "One of the following options must be specified for Kafka source: subscribe, "
            "subscribePattern, assign. Set one of them to say which topics to read.",
            id="no strategy",
        ),
        pytest.param(
            {**READ, "assign": '{"t":[0]}'},
            "Only one of the following options can be specified for Kafka source: subscribe, "
            "subscribePattern, assign. Of subscribe and assign, keep one.",
            id="two strategies",
        ),
        pytest.param(
            {"subscribe": "t"},
            "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer: "
            "set it to the brokers to ask first, host:port.",
            id="no brokers",
        ),
        pytest.param(
            {**READ, "startingOffsets": "LATEST"},
            "starting offset can't be latest for batch queries on Kafka: set startingOffsets to "
            "earliest (-2 for one partition) or to offsets.",
            id="from latest",
        ),
        pytest.param(
            {**READ, "startingOffsets": '{"t":{"1":-1,"0":-1}}'},
            "startingOffsets for t-0 can't be latest for batch queries on Kafka: set "
            "startingOffsets to earliest (-2 for one partition) or to offsets.",
            id="one from latest",
        ),
        pytest.param(
            {**READ, "endingOffsets": "earliest"},
            "ending offset can't be earliest for batch queries on Kafka: set endingOffsets to "
            "latest (-1 for one partition) or to offsets.",
            id="to earliest",
        ),
        pytest.param(
            {**READ, "endingOffsets": '{"t":{"0":-2}}'},
            "ending offset for t-0 can't be earliest for batch queries on Kafka: set "
            "endingOffsets to latest (-1 for one partition) or to offsets.",
            id="one to earliest",
        ),
        pytest.param(
            {**READ, "startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"0":4}}'},
            "The specified start offset 5 is greater than the end offset 4 for topic t partition "
            "0: lower startingOffsets or raise endingOffsets.",
            id="backwards",
        ),
        pytest.param(
            {**READ, "failOnDataLoss": "maybe"},
            "Option 'failOnDataLoss' must be true or false, got 'maybe'.",
            id="no boolean",
        ),
        pytest.param(
            {**READ, "Topic": "t"},
            "Option 'topic' is for a write, not for a batch read: remove it.",
            id="an option for writing",
        ),
        pytest.param(
            {**READ, "kafka.Auto.Offset.Reset": "earliest"},
            "Kafka option 'auto.offset.reset' is not supported. Instead set the source option "
            "'startingOffsets' to 'earliest' or to offsets to say where to start.",
            id="auto.offset.reset",
        ),
        pytest.param(
            {**READ, "kafka.key.deserializer": "x"},
            "Kafka option 'key.deserializer' is not supported. Keys are read as binary: use "
            "DataFrame operations to deserialize the column 'key'.",
            id="key.deserializer",
        ),
        pytest.param(
            {**READ, "kafka.value.deserializer": "x"},
            "Kafka option 'value.deserializer' is not supported. Values are read as binary: use "
            "DataFrame operations to deserialize the column 'value'.",
            id="value.deserializer",
        ),
        pytest.param(
            {**READ, "kafka.enable.auto.commit": "false"},
            "Kafka option 'enable.auto.commit' is not supported. Reading commits no offsets: "
            "remove it.",
            id="enable.auto.commit",
        ),
        pytest.param(
            {**READ, "kafka.interceptor.classes": "x"},
            "Kafka option 'interceptor.classes' is not supported. Java classes cannot be loaded: "
            "use DataFrame operations instead.",
            id="interceptor.classes",
        ),
        pytest.param(
            {**READ, "startingOffset": "earliest"},
            "Option 'startingoffset' is not known to pykafka: did you mean 'startingOffsets'?",
            id="a typo",
        ),
        pytest.param(
            {**READ, "minPartition": "4"},
            "Option 'minpartition' is not known to pykafka: did you mean 'minPartitions'?",
            id="another typo",
        ),
        pytest.param(
            {"subscribe": "t", "bootstrap.servers": "b:1"},
            "Option 'bootstrap.servers' is not known to pykafka: did you mean "
            "'kafka.bootstrap.servers'?",
            id="a forgotten prefix",
        ),
        pytest.param(
            {**READ, "security.protocol": "SSL"},
            "Option 'security.protocol' is not known to pykafka: a batch read takes "
            "kafka.bootstrap.servers, kafka.*, subscribe, subscribePattern, assign, "
            "startingTimestamp, startingOffsetsByTimestamp, startingOffsets, "
            "startingOffsetsByTimestampStrategy, endingTimestamp, endingOffsetsByTimestamp, "
            "endingOffsets, minPartitions, maxRecordsPerPartition, pushDownPredicate, "
            "includeHeaders, failOnDataLoss, kafkaConsumer.pollTimeoutMs, fetchOffset.numRetries, "
            "fetchOffset.retryIntervalMs, groupIdPrefix; an option of the Kafka client needs "
            "'kafka.' before its name.",
            id="like nothing",
        ),
    ],
)
def test_a_read_is_refused(options: dict[str, str], message: str) -> None:
    assert read_error(options) == message


def test_a_typing_error_of_a_stream_s_option_is_refused() -> None:
    assert read_error({**READ, "maxOffsetPerTrigger": "1"}) == (
        "Option 'maxoffsetpertrigger' is not known to pykafka: did you mean 'maxOffsetsPerTrigger'?"
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("minPartitions", "0", "minPartitions must be positive, got '0'."),
        ("minPartitions", "-1", "minPartitions must be positive, got '-1'."),
        ("minPartitions", "1.0", "Option 'minPartitions' must be a whole number, got '1.0'."),
        ("minPartitions", "a", "Option 'minPartitions' must be a whole number, got 'a'."),
        (
            "minPartitions",
            "2147483648",
            "Option 'minPartitions' must be a whole number, got '2147483648'.",
        ),
        ("maxRecordsPerPartition", "0", "maxRecordsPerPartition must be positive, got '0'."),
        (
            "maxRecordsPerPartition",
            "9223372036854775808",
            "Option 'maxRecordsPerPartition' must be a whole number, got '9223372036854775808'.",
        ),
        (
            "startingOffsetsByTimestampStrategy",
            "earliest",
            "Option 'startingOffsetsByTimestampStrategy' must be error or latest, got 'earliest'.",
        ),
    ],
)
def test_a_value_is_refused(name: str, value: str, message: str) -> None:
    assert read_error({**READ, name: value}) == message


TIMES = '{"t":{"0":7}}'
PRECEDENCE = [
    ({"Offsets": "?", "OffsetsByTimestamp": TIMES}, SpecificTimestamps({T0: Timestamp(7)})),
    (
        {"Offsets": "?", "OffsetsByTimestamp": "?", "Timestamp": " 5 "},
        Everywhere(Timestamp(5)),
    ),
]


@pytest.mark.parametrize(("given", "position"), PRECEDENCE)
def test_the_highest_of_the_options_counts_and_the_others_are_not_read(
    given: dict[str, str], position: Position
) -> None:
    starting = parse_batch_options({**READ, **{f"starting{k}": v for k, v in given.items()}})
    ending = parse_batch_options({**READ, **{f"ending{k}": v for k, v in given.items()}})
    assert starting.starting == ending.ending == position
    assert starting.ending == TO_LATEST
    assert ending.starting == FROM_EARLIEST


def test_what_is_forbidden_to_one_side_is_allowed_to_the_other() -> None:
    read = parse_batch_options({**READ, "kafka.key.serializer": "x"})
    write = parse_write_options({**BROKERS, "kafka.enable.auto.commit": "x"})
    assert read.kafka["key.serializer"] == write.kafka["enable.auto.commit"] == "x"


def test_errors_come_in_the_order_of_sparks_connector() -> None:
    """Each option that is put right lets the next error through."""
    options: dict[str, str] = {
        "startingOffsets": "latest",
        "endingOffsets": "earliest",
        "kafka.enable.auto.commit": "true",
        "failOnDataLoss": "?",
    }
    corrections: list[tuple[str, dict[str, str | None]]] = [
        ("starting offset can't be latest", {"startingOffsets": '{"t":{"0":5}}'}),
        ("ending offset can't be earliest", {"endingOffsets": '{"t":{"0":4}}'}),
        ("One of the following options", {"subscribe": ","}),
        ("No topics to subscribe to", {"subscribe": "t"}),
        ("Kafka option 'enable.auto.commit'", {"kafka.enable.auto.commit": None}),
        ("Option 'kafka.bootstrap.servers' must be", {**BROKERS}),
        ("The specified start offset 5 is greater", {"startingOffsets": '{"t":{"0":1}}'}),
        ("Option 'failOnDataLoss' must be", {"failOnDataLoss": "false"}),
    ]
    for message, correction in corrections:
        assert read_error(options).startswith(message)
        options = {k: v for k, v in {**options, **correction}.items() if v is not None}
    parse_batch_options(options)
