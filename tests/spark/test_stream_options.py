from __future__ import annotations

import pickle

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import (
    StreamReadOptions,
    parse_batch_options,
    parse_stream_options,
)
from kafka_spark_source.planning.batch import Parts
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Committed,
    Everywhere,
    Position,
    SpecificOffsets,
    SpecificTimestamps,
    Timestamp,
)
from kafka_spark_source.planning.rate_limits import Limits
from kafka_spark_source.planning.strategies import Subscribe

BROKERS = {"kafka.bootstrap.servers": "b:1"}
READ = {**BROKERS, "subscribe": "t"}
GROUP = {"kafka.group.id": "g"}
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def stream_error(options: dict[str, str]) -> str:
    with pytest.raises(KafkaConfigError) as caught:
        parse_stream_options(options)
    return str(caught.value)


def test_a_stream_needs_brokers_and_topics_only_and_starts_at_latest() -> None:
    assert parse_stream_options(READ) == StreamReadOptions(
        strategy=Subscribe(("t",)),
        starting=TO_LATEST,
        fail_on_no_match=True,
        parts=Parts(),
        include_headers=False,
        fail_on_data_loss=True,
        poll_timeout_ms=120_000,
        planning_attempts=1,
        planning_interval_ms=1_000,
        ignored=(),
        kafka={"bootstrap.servers": "b:1"},
        limits=Limits(max_delay_ms=900_000),
        group_id=None,
        commit_to_group=False,
    )


def test_all_that_a_stream_can_be_given() -> None:
    options = {
        "KAFKA.Bootstrap.Servers": "b:1",
        "kafka.Client.Id": "Me",
        "kafka.Group.Id": "Mine",
        "SUBSCRIBE": "Topic",
        "startingoffsets": '{"Topic":{"0":3}}',
        "startingOffsetsByTimestampStrategy": "Latest",
        "IncludeHeaders": "True",
        "failOnDataLoss": "false",
        "minPartitions": "3",
        "MaxRecordsPerPartition": "4",
        "MAXOFFSETSPERTRIGGER": "700",
        "minOffsetsPerTrigger": "70",
        "maxTriggerDelay": "2m",
        "maxBytesPerTrigger": "5000",
        "commitOffsetsToGroup": "TRUE",
        "kafkaConsumer.pollTimeoutMs": "512",
        "fetchOffset.numRetries": "5",
        "fetchOffset.retryIntervalMs": "10",
        "groupIdPrefix": "mine",
        "endingTimestamp": "of no effect",
        "path": "ignored",
    }
    assert parse_stream_options(options) == StreamReadOptions(
        strategy=Subscribe(("Topic",)),
        starting=SpecificOffsets({TopicPartition("Topic", 0): 3}),
        fail_on_no_match=False,
        parts=Parts(3, 4),
        include_headers=True,
        fail_on_data_loss=False,
        poll_timeout_ms=512,
        planning_attempts=5,
        planning_interval_ms=10,
        ignored=("endingTimestamp",),
        kafka={"bootstrap.servers": "b:1", "client.id": "Me"},
        limits=Limits(max_offsets=700, max_bytes=5_000, min_offsets=70, max_delay_ms=120_000),
        group_id="Mine",
        commit_to_group=True,
    )


def test_the_options_travel_and_show_no_secret() -> None:
    options = parse_stream_options({**READ, "kafka.sasl.jaas.config": "hunter2"})
    assert "hunter2" not in repr(options)
    assert pickle.loads(pickle.dumps(options)) == options


@pytest.mark.parametrize(
    ("given", "position"),
    [
        ({}, TO_LATEST),
        ({"Offsets": "earliest"}, FROM_EARLIEST),
        ({"Offsets": "LATEST"}, TO_LATEST),
        ({"Offsets": '{"t":{"0":-1,"1":-2,"2":7}}'}, SpecificOffsets({T0: -1, T1: -2, T2: 7})),
        (
            {"Offsets": "?", "OffsetsByTimestamp": '{"t":{"0":7}}'},
            SpecificTimestamps({T0: Timestamp(7)}),
        ),
        (
            {"Offsets": "?", "OffsetsByTimestamp": "?", "Timestamp": " 5 "},
            Everywhere(Timestamp(5)),
        ),
    ],
)
def test_the_highest_of_the_options_says_where_to_start(
    given: dict[str, str], position: Position
) -> None:
    options = {**READ, **{f"starting{name}": value for name, value in given.items()}}
    assert parse_stream_options(options).starting == position


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("10", 10),
        ("0", 0),
        ("500us", 0),
        ("1500us", 1),
        ("500ms", 500),
        (" 3 S ", 3_000),
        ("15m", 900_000),
        ("15min", 900_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
    ],
)
def test_a_delay_is_a_time_as_spark_writes_it(text: str, ms: int) -> None:
    assert parse_stream_options({**READ, "maxTriggerDelay": text}).limits.max_delay_ms == ms


# --- Groups --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "position", "commits"),
    [
        ({"commitOffsetsToGroup": "true"}, TO_LATEST, True),
        ({"startingOffsets": " Group "}, Everywhere(Committed()), False),
        ({"startingOffsets": '{"t":"group"}'}, SpecificOffsets({"t": Committed()}), False),
        ({"startingOffsets": '{"t":{"0":"group"}}'}, SpecificOffsets({T0: Committed()}), False),
    ],
)
def test_what_is_done_with_a_group_is_ours_and_not_the_client_s(
    options: dict[str, str], position: Position, commits: bool
) -> None:
    parsed = parse_stream_options({**READ, **GROUP, **options})
    assert parsed.starting == position
    assert parsed.commit_to_group is commits
    assert parsed.group_id == "g"
    assert "group.id" not in parsed.kafka


def test_a_group_without_use_stays_with_the_client() -> None:
    parsed = parse_stream_options({**READ, **GROUP, "commitOffsetsToGroup": "false"})
    assert parsed.group_id is None
    assert parsed.kafka["group.id"] == "g"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"commitOffsetsToGroup": "true"}, "commitOffsetsToGroup"),
        ({"startingOffsets": "group"}, "startingOffsets"),
        ({"startingOffsets": '{"t":{"0":1,"1":"group"}}'}, "startingOffsets"),
        ({"startingOffsets": "group", "kafka.group.id": ""}, "startingOffsets"),
    ],
)
def test_a_group_must_be_named(options: dict[str, str], name: str) -> None:
    assert stream_error({**READ, **options}) == (
        f"Option '{name}' needs a consumer group: set kafka.group.id to its name."
    )


@pytest.mark.parametrize("name", ["startingOffsets", "endingOffsets"])
@pytest.mark.parametrize("text", ["group", '{"t":{"0":"group"}}'])
def test_a_batch_starts_and_ends_at_no_group(name: str, text: str) -> None:
    with pytest.raises(KafkaConfigError, match="The position 'group' is for streams"):
        parse_batch_options({**READ, **GROUP, name: text})


# --- What is refused -----------------------------------------------------------------------------


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
            {**READ, "endingOffsets": "latest"},
            "ending offset not valid in streaming queries: remove the option 'endingOffsets'.",
            id="an end",
        ),
        pytest.param(
            {**READ, "endingOffsetsByTimestamp": "?"},
            "ending timestamp not valid in streaming queries: remove the option "
            "'endingOffsetsByTimestamp'.",
            id="an end by timestamp",
        ),
        pytest.param(
            {**READ, "minOffsetsPerTrigger": "20", "maxOffsetsPerTrigger": "15"},
            "The value of minOffsetPerTrigger(20) is higher than the maxOffsetsPerTrigger(15): "
            "lower minOffsetsPerTrigger.",
            id="waits for more than it may hold",
        ),
        pytest.param(
            {**READ, "maxOffsetsPerTrigger": "0"},
            "maxOffsetsPerTrigger must be positive, got '0'.",
            id="no offsets at all",
        ),
        pytest.param(
            {**READ, "maxBytesPerTrigger": "-1"},
            "maxBytesPerTrigger must be positive, got '-1'.",
            id="less than no bytes",
        ),
        pytest.param(
            {**READ, "minOffsetsPerTrigger": "a"},
            "Option 'minOffsetsPerTrigger' must be a whole number, got 'a'.",
            id="no number",
        ),
        *[
            pytest.param(
                {**READ, "maxTriggerDelay": text},
                f"Option 'maxTriggerDelay' must be a time such as 15m, 30s or 500ms, got '{text}'.",
                id=f"no time: {text}",
            )
            for text in ("", "a", "5 parsecs", "1.5s", "-1", "1m30s")
        ],
        pytest.param(
            {**READ, "commitOffsetsToGroup": "1"},
            "Option 'commitOffsetsToGroup' must be true or false, got '1'.",
            id="no boolean",
        ),
        pytest.param(
            {**READ, "pushDownPredicate": "true"},
            "Option 'pushDownPredicate' is for a batch read, not for a streaming read: remove it.",
            id="an option for batches",
        ),
        pytest.param(
            {**READ, "topic": "t"},
            "Option 'topic' is for a write, not for a streaming read: remove it.",
            id="an option for writing",
        ),
        pytest.param(
            {**READ, "maxOffsetPerTrigger": "1"},
            "Option 'maxoffsetpertrigger' is not known to pykafka: did you mean "
            "'maxOffsetsPerTrigger'?",
            id="a typo",
        ),
        pytest.param(
            {**READ, "kafka.auto.offset.reset": "earliest"},
            "Kafka option 'auto.offset.reset' is not supported. Instead set the source option "
            "'startingOffsets' to 'earliest' or to offsets to say where to start.",
            id="auto.offset.reset",
        ),
        pytest.param(
            {**READ, "kafka.enable.auto.commit": "true"},
            "Kafka option 'enable.auto.commit' is not supported. Reading commits no offsets: "
            "remove it.",
            id="enable.auto.commit",
        ),
    ],
)
def test_a_stream_is_refused(options: dict[str, str], message: str) -> None:
    assert stream_error(options) == message


def test_errors_come_in_the_order_of_sparks_connector() -> None:
    """Each option that is put right lets the next error through."""
    options: dict[str, str] = {
        "endingOffsets": "?",
        "endingOffsetsByTimestamp": "?",
        "kafka.enable.auto.commit": "true",
        "minOffsetsPerTrigger": "2",
        "maxOffsetsPerTrigger": "1",
        "commitOffsetsToGroup": "true",
    }
    corrections: list[tuple[str, dict[str, str | None]]] = [
        ("ending offset not valid", {"endingOffsets": None}),
        ("ending timestamp not valid", {"endingOffsetsByTimestamp": None}),
        ("One of the following options", {"subscribe": ","}),
        ("No topics to subscribe to", {"subscribe": "t", "minPartitions": "0"}),
        ("minPartitions must be positive", {"minPartitions": "1"}),
        ("Kafka option 'enable.auto.commit'", {"kafka.enable.auto.commit": None}),
        ("Option 'kafka.bootstrap.servers' must be", {**BROKERS}),
        ("The value of minOffsetPerTrigger(2)", {"minOffsetsPerTrigger": "1"}),
        ("Option 'commitOffsetsToGroup' needs", {**GROUP}),
    ]
    for message, correction in corrections:
        assert stream_error(options).startswith(message)
        options = {k: v for k, v in {**options, **correction}.items() if v is not None}
    parse_stream_options(options)
