from __future__ import annotations

import pickle
from typing import Any

import pytest

from kafka_formats.options.envelope import Envelope, EnvelopeOptions, NullKeys, Tombstones
from kafka_formats.options.settings import Mode
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.options.read import (
    BatchReadOptions,
    StreamReadOptions,
    parse_batch_options,
    parse_stream_options,
)
from kafka_spark_source.options.write import parse_write_options
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
from kafka_spark_source.planning.rate_limits import RateLimits
from kafka_spark_source.planning.strategies import Assign, Strategy, Subscribe, SubscribePattern

BROKERS = {"kafka.bootstrap.servers": "b:1"}
READ = {**BROKERS, "subscribe": "t"}
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def test_a_read_needs_brokers_and_topics_only() -> None:
    both: dict[str, Any] = {
        "strategy": Subscribe(("t",)),
        "fail_on_no_match": True,
        "parts": Parts(are_coalesced=True),
        "include_headers": False,
        "include_topic_id": False,
        "fail_on_data_loss": True,
        "poll_timeout_ms": 120_000,
        "planning_attempts": 1,
        "planning_interval_ms": 1_000,
        "partitions_ttl_ms": None,
        "formats": None,
        "mode": None,
        "dead_letter_topic": None,
        "envelope": EnvelopeOptions(),
        "ignored": (),
        "argument": None,
        "kafka": {"bootstrap.servers": "b:1"},
    }
    assert parse_batch_options(READ) == BatchReadOptions(
        **both, starting=FROM_EARLIEST, ending=TO_LATEST, push_down_predicate=False
    )
    limits = RateLimits(max_delay_ms=900_000)
    assert parse_stream_options(READ) == StreamReadOptions(
        **both, starting=TO_LATEST, limits=limits, group_id=None, commit_to_group=False
    )


@pytest.mark.parametrize("envelope", ["upsert", "debezium", "none"])
def test_rows_of_an_envelope_have_the_ids_of_their_topics(envelope: str) -> None:
    options = {**READ, "envelope": envelope, "value.format": "json"}
    for parse in (parse_batch_options, parse_stream_options):
        assert parse(options).include_topic_id is (envelope != "none")
        assert not parse(options | {"includeTopicId": "false"}).include_topic_id


def test_all_options_of_a_read() -> None:
    options = {
        "KAFKA.Bootstrap.Servers": "b:1",
        "kafka.Client.Id": "Me",
        "SUBSCRIBE": "Topic",
        "startingoffsets": '{"Topic":{"0":3}}',
        "IncludeHeaders": "True",
        "includetopicid": "TRUE",
        "failOnDataLoss": "false",
        "startingOffsetsByTimestampStrategy": "Latest",
        "minPartitions": "3",
        "MaxRecordsPerPartition": "4",
        "coalescepartitions": "False",
        "kafkaConsumer.pollTimeoutMs": "512",
        "fetchOffset.numRetries": "5",
        "fetchOffset.retryIntervalMs": "10",
        "groupIdPrefix": "mine",
        "partition.metadata.cache.ttl.ms": "30000",
        "path": "other",
    }
    topic_partition = TopicPartition("Topic", 0)
    both: dict[str, Any] = {
        "strategy": Subscribe(("Topic",)),
        "starting": SpecificOffsets({topic_partition: 3}),
        "fail_on_no_match": False,
        "parts": Parts(3, 4, are_coalesced=False),
        "include_headers": True,
        "include_topic_id": True,
        "fail_on_data_loss": False,
        "poll_timeout_ms": 512,
        "planning_attempts": 5,
        "planning_interval_ms": 10,
        "partitions_ttl_ms": 30_000,
        "formats": None,
        "mode": None,
        "dead_letter_topic": None,
        "envelope": EnvelopeOptions(),
        "argument": "other",
        "kafka": {"bootstrap.servers": "b:1", "client.id": "Me"},
    }
    of_batch = {
        "ENDINGOFFSETS": '{"Topic":{"0":5}}',
        "pushDownPredicate": "true",
        "MAXOFFSETSPERTRIGGER": "7",
        "Paths": '["ignored"]',
    }
    assert parse_batch_options(options | of_batch) == BatchReadOptions(
        **both,
        ending=SpecificOffsets({topic_partition: 5}),
        push_down_predicate=True,
        ignored=("maxOffsetsPerTrigger",),
    )
    of_stream = {
        "kafka.Group.Id": "Mine",
        "MAXOFFSETSPERTRIGGER": "700",
        "minOffsetsPerTrigger": "70",
        "minOffsetsPerTopic": "7",
        "maxTriggerDelay": "2m",
        "maxBytesPerTrigger": "5000",
        "commitOffsetsToGroup": "TRUE",
        "endingTimestamp": "of no effect",
    }
    assert parse_stream_options(options | of_stream) == StreamReadOptions(
        **both,
        limits=RateLimits(700, 5_000, 70, min_offsets_per_topic=7, max_delay_ms=120_000),
        group_id="Mine",
        commit_to_group=True,
        ignored=("endingTimestamp",),
    )


def test_a_table_is_read_by_whole_partitions() -> None:
    upsert = {**READ, "envelope": "upsert", "minPartitions": "9"}
    whole = Parts(9, are_coalesced=True, are_whole=True)
    batch = parse_batch_options({**upsert, "upsert.nullKeys": "keep"})
    assert batch.parts == whole
    assert batch.envelope == EnvelopeOptions(Envelope.UPSERT, null_keys=NullKeys.KEEP)
    stream = parse_stream_options(upsert)
    assert stream.parts == whole
    assert stream.envelope == EnvelopeOptions(Envelope.UPSERT, Tombstones.KEEP)


@pytest.mark.parametrize(
    ("name", "value", "strategy"),
    [
        ("subscribe", "a,b", Subscribe(("a", "b"))),
        ("subscribePattern", "a.*", SubscribePattern("a.*")),
        ("assign", '{"t":[0]}', Assign((T0,))),
    ],
    ids=["subscribe", "subscribePattern", "assign"],
)
def test_each_strategy_is_read(name: str, value: str, strategy: Strategy) -> None:
    assert parse_batch_options({**BROKERS, name: value}).strategy == strategy


@pytest.mark.parametrize("parse", [parse_batch_options, parse_stream_options, parse_write_options])
def test_pickled_options_keep_secrets_and_repr_hides_them(parse: Any) -> None:
    read = {} if parse is parse_write_options else {"subscribe": "t"}
    options = parse(BROKERS | read | {"kafka.sasl.jaas.config": "hunter2"})
    assert "hunter2" not in repr(options)
    pickled = pickle.loads(pickle.dumps(options))
    assert pickled == options
    assert pickled.kafka["sasl.jaas.config"] == "hunter2"


def test_read_and_write_forbid_different_options() -> None:
    read = parse_batch_options({**READ, "kafka.key.serializer": "x"})
    write = parse_write_options({**BROKERS, "kafka.enable.auto.commit": "x"})
    assert read.kafka["key.serializer"] == write.kafka["enable.auto.commit"] == "x"


OVERRIDDEN: list[tuple[dict[str, str], Position]] = [
    (
        {"Offsets": "?", "OffsetsByTimestamp": '{"t":{"0":7}}'},
        SpecificTimestamps({T0: Timestamp(7)}),
    ),
    ({"Offsets": "?", "OffsetsByTimestamp": "?", "Timestamp": " 5 "}, Everywhere(Timestamp(5))),
]


@pytest.mark.parametrize(
    ("given", "position"), OVERRIDDEN, ids=["timestamps before offsets", "timestamp before all"]
)
def test_lower_priority_options_are_not_parsed(given: dict[str, str], position: Position) -> None:
    starting = parse_batch_options({**READ, **{f"starting{k}": v for k, v in given.items()}})
    ending = parse_batch_options({**READ, **{f"ending{k}": v for k, v in given.items()}})
    assert starting.starting == ending.ending == position
    assert starting.ending == TO_LATEST
    assert ending.starting == FROM_EARLIEST


@pytest.mark.parametrize(
    ("given", "position"),
    [
        ({}, TO_LATEST),
        ({"Offsets": "earliest"}, FROM_EARLIEST),
        ({"Offsets": "LATEST"}, TO_LATEST),
        ({"Offsets": '{"t":{"0":-1,"1":-2,"2":7}}'}, SpecificOffsets({T0: -1, T1: -2, T2: 7})),
        *OVERRIDDEN,
    ],
    ids=str,
)
def test_where_a_stream_starts(given: dict[str, str], position: Position) -> None:
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


@pytest.mark.parametrize(
    ("options", "position", "commits"),
    [
        ({"commitOffsetsToGroup": "true"}, TO_LATEST, True),
        ({"startingOffsets": " Group "}, Everywhere(Committed()), False),
        ({"startingOffsets": '{"t":"group"}'}, SpecificOffsets({"t": Committed()}), False),
        ({"startingOffsets": '{"t":{"0":"group"}}'}, SpecificOffsets({T0: Committed()}), False),
    ],
    ids=["commit", "start", "start of a topic", "start of a partition"],
)
def test_the_group_id_is_not_an_option_of_the_client(
    options: dict[str, str], position: Position, commits: bool
) -> None:
    parsed = parse_stream_options({**READ, "kafka.group.id": "g", **options})
    assert parsed.starting == position
    assert parsed.commit_to_group is commits
    assert parsed.group_id == "g"
    assert "group.id" not in parsed.kafka


def test_an_unused_group_id_stays_a_client_option() -> None:
    options = {**READ, "kafka.group.id": "g", "commitOffsetsToGroup": "false"}
    parsed = parse_stream_options(options)
    assert parsed.group_id is None
    assert parsed.kafka["group.id"] == "g"


JSON = {"value.format": "json", "value.schema": "id bigint"}


@pytest.mark.parametrize("mode", [{}, {"mode": "DROPMALFORMED"}])
def test_dead_letters_are_left_out_of_the_rows(mode: dict[str, str]) -> None:
    found = parse_batch_options(READ | JSON | mode | {"deadLetterTopic": " letters "})
    assert found.dead_letter_topic == "letters"
    assert found.formats is not None
    assert found.formats.mode is Mode.DROPMALFORMED
    assert found.mode is Mode.DROPMALFORMED
