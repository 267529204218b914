"""The same rows written by both connectors, and rows that both refuse.

Each connector writes into a topic of its own; librdkafka reads both. The tables list all known
differences (docs/migrating.md, "Writes").
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tests.conformance.sides import FORMATS, OURS, THEIRS, dotted
from tests.conformance.sinks import Sinks
from tests.conformance.streams import LiveTopics, Streams
from tests.conformance.topics import SOON_SECONDS, START_MS, numbered
from tests.tiers import first_are_core

pytestmark = [pytest.mark.integration, pytest.mark.spark]


# --- Accepted rows --------------------------------------------------------------------------------

PAIRS: Final = "('k', 'v'), ('', ''), ('ключ', '日本'), (null, 'v'), ('k', null), (null, null)"
HEADER: Final = "array<struct<key: string, value: binary>>"

# Spark's connector caches producers by their options, so a failing write gets its own producer.
QUICK: Final = {"kafka.delivery.timeout.ms": "2000", "kafka.request.timeout.ms": "1000"}

ROWS: Final = {
    "text": f"select * from values {PAIRS} as t(key, value)",
    "bytes": f"select binary(key) as key, binary(value) as value from values {PAIRS} t(key, value)",
    "both": f"select binary(key) as key, value from values {PAIRS} as t(key, value)",
    "not text": "select X'00ff80' as key, X'ff' as value",
    "only values": "select * from values ('a'), (null), ('c') as t(value)",
    "other columns": (
        "select 'no' as Key, 'k' as key, 'v' as value, 'no' as VALUE, 7 as timestampType"
    ),
    "headers": f"""
        select value, cast(headers as {HEADER}) as headers from values
            ('null', null),
            ('empty', array()),
            ('one', array(struct('h', X'01'))),
            ('again', array(struct('h', X'01'), struct('i', X''), struct('h', X'02'))),
            ('null value', array(struct('h', null))),
            ('empty key', array(struct('', X'01'))),
            ('not Latin', array(struct('ключ', X'ff00'))) as t(value, headers)""",
    "headers of no nulls": "select 'v' as value, array(named_struct('key', 'h', 'value', X'01'))"
    " as headers",
    "no rows": "select 'k' as key, 'v' as value where 1 = 0",
}


@pytest.mark.parametrize("rows", first_are_core(ROWS, 2))
def test_the_same_records(sinks: Sinks, rows: str) -> None:
    df = sinks.sql(ROWS[rows])
    assert len(sinks.both(df)) == df.count()


@pytest.mark.core
def test_rows_land_in_the_same_partitions(sinks: Sinks) -> None:
    """By murmur2, for keys of every length, also with bytes that are negative in Java."""
    keys = "select substring(sha2(string(id), 512), 0, int(id % 40)) as key from range(1000)"
    rows = f"select unhex(key) as key, key as value from ({keys}) union all select '', 'empty'"
    texts = "select string(binary('ключ ')) || id as key, string(id) as value from range(100)"
    found = sinks.both(sinks.sql(f"{rows} union all select binary(key), value from ({texts})"), 7)
    assert len(found) == 1_101
    assert {record.partition for record in found} == {*range(7)}


def test_the_column_partition_overrides_the_key(sinks: Sinks) -> None:
    """A null partition is chosen by the key."""
    rows = """
        select 'key' || id % 5 as key, string(id) as value,
            case when id % 3 > 0 then int(id % 4) end as partition
        from range(60)"""
    found = sinks.both(sinks.sql(rows), 4)
    given = [int(record.value or b"") for record in found if record.partition == 3]
    assert {number % 4 for number in given if number % 3} == {3}
    assert len(found) == 60


def test_topics_by_column_and_by_option(sinks: Sinks) -> None:
    """The option overrides the column."""
    found = []
    for connector in FORMATS:
        names = [sinks.topic(partitions=2) for _ in range(3)]
        to = F.element_at(F.array(*map(F.lit, names)), (F.col("id") % 2 + 1).cast("int"))
        rows = sinks.sql("select id, 'key' || id as key, string(id) as value from range(20)")
        sinks.write(connector, rows.withColumn("topic", to))
        sinks.write(connector, rows.withColumn("topic", to), topic=f" {names[2]} ")
        found.append([sinks.records(name) for name in names])
    assert found[0] == found[1]
    assert [len(records) for records in found[0]] == [10, 10, 20]


def test_batches_are_split_to_fit_the_topic_in_pykafka_only(sinks: Sinks) -> None:
    """Java's producer splits down to kafka.batch.size only, and retries until its time-out."""
    rows = sinks.sql("select string(id) as key, repeat('x', 300) as value from range(200)")
    topics = [sinks.topic(max_message_bytes="2000") for _ in FORMATS]
    # Spark's connector may raise the error in a later job that has the same options.
    with contextlib.suppress(Py4JJavaError):
        sinks.write(THEIRS, rows, topic=topics[0], **QUICK)
    sinks.write(OURS, rows, topic=topics[1], **QUICK)
    theirs, ours = map(sinks.records, topics)
    assert len(theirs) < 200
    assert [int(record.key or b"") for record in ours] == [*range(200)]


def test_a_timestamp_column_is_used_in_pykafka_only(sinks: Sinks) -> None:
    rows = sinks.sql(f"select 'v' as value, timestamp_millis({START_MS}) as timestamp")
    times = []
    for connector in FORMATS:
        topic = sinks.topic()
        sinks.write(connector, rows, topic=topic)
        times += [message.timestamp()[1] for message in sinks.live.messages(topic)]
    assert times[0] > START_MS
    assert times[1] == START_MS


# --- Refused rows ---------------------------------------------------------------------------------


class Refusal(NamedTuple):
    """Rows that both refuse, and parts of the error texts.

    `rows` is a query. The option `topic` is set unless it is None in `options`.
    """

    rows: str
    theirs: str
    ours: str
    options: Mapping[str, str | None] = MappingProxyType({})


def same(rows: str, text: str, **options: str | None) -> Refusal:
    """A refusal with the same text in both."""
    return Refusal(rows, text, text, options)


def not_of_type(column: str, value: str, type_name: str, expected: str) -> Refusal:
    others = "" if column == "value" else ", 'v' as value"
    text = f"{column} attribute unsupported type {type_name}. {column} must be a(n) {expected}"
    by_column: dict[str, str | None] = {"topic": None} if column == "topic" else {}
    return same(f"select {value} as {column}{others}", text, **by_column)


def with_options(theirs: str, ours: str, **options: str) -> Refusal:
    return Refusal("select 'v' as value", theirs, ours, {**dotted(options)})


TEXT_OR_BYTES: Final = "string or binary"
HEADERS: Final = "array<struct<key:string,value:binary>>"
NOT_SUPPORTED: Final = "Kafka option '{}' is not supported"

REFUSED: Final = [
    same("select 'k' as key", "Required attribute 'value' not found"),
    same("select 'v' as VALUE", "Required attribute 'value' not found"),
    not_of_type("value", "1", "int", TEXT_OR_BYTES),
    not_of_type("key", "1", "int", TEXT_OR_BYTES),
    not_of_type("key", "null", "void", TEXT_OR_BYTES),
    not_of_type("topic", "1", "int", "string"),
    not_of_type("partition", "1L", "bigint", "int"),
    not_of_type("partition", "'1'", "string", "int"),
    not_of_type("headers", "array('h')", "array<string>", HEADERS),
    not_of_type(
        "headers",
        "array(struct('h' as key, 'text' as value))",
        "array<struct<key:string,value:string>>",
        HEADERS,
    ),
    same("select 'v' as value", "topic option required when no 'topic' attribute", topic=None),
    same("select 'v' as value, string(null) as topic", "KAFKA_NULL_TOPIC_IN_DATA", topic=None),
    with_options("Invalid topics: []", "Option 'topic' is empty", topic=" "),
    Refusal(
        "select 'v' as value",
        "Topic no-such-topic not present in metadata after 500 ms",
        "Cannot write to topic 'no-such-topic': the broker answered UNKNOWN_TOPIC_OR_PARTITION",
        {"topic": "no-such-topic", "kafka.max.block.ms": "500"},
    ),
    Refusal(
        "select 'v' as value, 2 as partition",
        "is not present in metadata after 500 ms",
        "A row is for partition 2 of topic",
        {"kafka.max.block.ms": "500"},
    ),
    Refusal(
        "select 'v' as value, -1 as partition",
        "Invalid partition: -1. Partition number should always be non-negative or null",
        "A row is for partition -1 of topic",
    ),
    Refusal(
        "select 'v' as value, array(struct(string(null) as key, X'' as value)) as headers",
        "java.lang.NullPointerException",
        "a record header has no key",
    ),
    *(
        with_options(*[NOT_SUPPORTED.format(name)] * 2, **{f"kafka.{name}": "x"})
        for name in ("key.serializer", "value.serializer")
    ),
    with_options(
        "before completing a call to initTransactions",
        "Option 'kafka.transactional.id' is not supported",
        kafka__transactional__id="x",
        **QUICK,
    ),
    with_options(
        "Must set acks to all in order to use the idempotent producer",
        "Option 'kafka.enable.idempotence' needs kafka.acks=all",
        kafka__acks="1",
        kafka__enable__idempotence="true",
    ),
    with_options(
        "Class com.example.Partitioner could not be found",
        "names 'com.example.Partitioner', but Java classes cannot be loaded here",
        kafka__partitioner__class="com.example.Partitioner",
    ),
    *(
        with_options(
            f"Invalid value {value} for configuration {name}",
            f"Option 'kafka.{name}' has the value '{value}'",
            **{f"kafka.{name}": value},
        )
        for name, value in (("acks", "2"), ("compression.type", "x"))
    ),
]


@pytest.fixture(scope="module")
def untouched(live: LiveTopics) -> str:
    """A topic of one partition that stays empty."""
    return live.make("untouched")


@pytest.mark.parametrize("case", first_are_core(REFUSED), ids=lambda case: case.ours[:40])
def test_both_refuse(sinks: Sinks, untouched: str, case: Refusal) -> None:
    df = sinks.sql(case.rows)
    for connector, text in zip(FORMATS, (case.theirs, case.ours), strict=True):
        assert text in sinks.error(connector, df, {"topic": untouched, **case.options})
    assert not sinks.records(untouched)


# Accepted by Spark's connector, refused by pykafka: a query, options, our error text, the reason.
ONLY_OURS_REFUSES: Final[list[tuple[str, dict[str, str], str, str]]] = [
    (
        "select 'v' as value",
        {"kafka.acks": "0"},
        "Option 'kafka.acks' has the value '0': brokers would not respond",
        "records may be lost",
    ),
    (
        "select 'v' as value",
        {"kafka.compresion.type": "lz4"},
        "did you mean 'kafka.compression.type'?",
        "Java's client ignores it with a warning",
    ),
    (
        "select 'v' as value, 'a' as key, 'b' as key",
        {},
        "Attribute 'key' exists 2 times",
        "the connector silently uses one of them",
    ),
]


@pytest.mark.parametrize(
    ("rows", "options", "text", "reason"),
    ONLY_OURS_REFUSES,
    ids=[row[2][:40] for row in ONLY_OURS_REFUSES],
)
def test_only_pykafka_refuses(
    sinks: Sinks, untouched: str, rows: str, options: dict[str, str], text: str, reason: str
) -> None:
    df = sinks.sql(rows)
    sinks.write(THEIRS, df, topic=sinks.topic(), **options)
    assert text in sinks.error(OURS, df, {"topic": untouched} | options)
    assert not sinks.records(untouched)


def test_a_large_record_needs_no_option_in_pykafka(sinks: Sinks) -> None:
    """pykafka only has the limit of the topic; Java's client limits requests to one mebibyte."""
    topic = sinks.topic(max_message_bytes="6000000")
    large = sinks.sql("select repeat('x', 2000000) as value")
    assert "max.request.size" in sinks.error(THEIRS, large, {"topic": topic})
    sinks.write(OURS, large, topic=topic)
    assert [len(record.value or b"") for record in sinks.records(topic)] == [2_000_000]


ERRORS_IF_EXISTS: Final = 'cannot be written in the "ErrorIfExists" mode'

# A mode, and the two error texts; None if it writes.
MODES: Final[list[tuple[str | None, str | None, str]]] = [
    ("overwrite", "Save mode Overwrite not allowed for Kafka", "Save mode Overwrite not allowed"),
    ("ignore", "Save mode Ignore not allowed for Kafka", 'cannot be written in the "Ignore" mode'),
    ("errorifexists", None, ERRORS_IF_EXISTS),
    (None, None, ERRORS_IF_EXISTS),
]


@pytest.mark.parametrize(("mode", "theirs", "ours"), MODES)
def test_save_modes(sinks: Sinks, mode: str | None, theirs: str | None, ours: str) -> None:
    for connector, text in zip(FORMATS, (theirs, ours), strict=True):
        topic = sinks.topic()
        writer = sinks.sql("select 'v' as value").write.format(connector).mode(mode)
        writer = writer.options(**sinks.servers, topic=topic)
        if text is None:
            writer.save()
        else:
            with pytest.raises(PySparkException, match=text):
                writer.save()
        assert len(sinks.records(topic)) == (text is None)


# --- Streams --------------------------------------------------------------------------------------


class Copies:
    """Queries from one topic into another, through either connector."""

    def __init__(self, sinks: Sinks, streams: Streams, folder: Path) -> None:
        self._sinks = sinks
        self._streams = streams
        self._folder = folder

    def rows(self, source: str, connector: str = THEIRS) -> DataFrame:
        """A stream of a topic."""
        return self._streams.load(connector, subscribe=source)

    def run(self, connector: str, df: DataFrame, topic: str, mode: str = "append") -> None:
        """Write all available rows. Each target topic has its own checkpoint."""
        writer = df.writeStream.format(connector).options(**self._sinks.servers, topic=topic)
        writer = writer.option("checkpointLocation", str(self._folder / topic)).outputMode(mode)
        query = writer.trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(SOON_SECONDS)
        finally:
            query.stop()


@pytest.fixture
def copies(sinks: Sinks, streams: Streams, tmp_path: Path) -> Copies:
    return Copies(sinks, streams, tmp_path)


@pytest.mark.core
def test_streams_append_the_same(sinks: Sinks, copies: Copies) -> None:
    source, *topics = (sinks.topic(partitions=3) for _ in range(3))
    for start in (0, 20):
        sinks.live.write(source, numbered(20, start // 20))
        for connector, topic in zip(FORMATS, topics, strict=True):
            copies.run(connector, copies.rows(source).select("key", "value"), topic)
    theirs, ours = map(sinks.records, topics)
    assert ours == theirs
    assert len(ours) == 40


def test_streams_write_complete_results_the_same(sinks: Sinks, copies: Copies) -> None:
    source, *topics = (sinks.topic(partitions=3) for _ in range(3))
    counts = copies.rows(source).groupBy("key").agg(F.count("*").cast("string").alias("value"))
    for _ in range(2):
        sinks.live.write(source, numbered(14))
        for connector, topic in zip(FORMATS, topics, strict=True):
            copies.run(connector, counts, topic, "complete")
    # The results of one batch are in any order.
    theirs, ours = (sorted(sinks.records(topic), key=str) for topic in topics)
    assert ours == theirs
    assert sorted(record.value or b"" for record in ours) == [b"2"] * 7 + [b"4"] * 7


def test_only_sparks_own_connector_has_update_mode(sinks: Sinks, copies: Copies) -> None:
    source, *topics = (sinks.topic() for _ in range(3))
    sinks.live.write(source, numbered(14))
    counts = copies.rows(source).groupBy("key").agg(F.count("*").cast("string").alias("value"))
    copies.run(THEIRS, counts, topics[0], "update")
    assert len(sinks.records(topics[0])) == 7
    with pytest.raises(StreamingQueryException, match="does not support Update mode"):
        copies.run(OURS, counts, topics[1], "update")


def test_a_copy_moves_there_and_back(sinks: Sinks, copies: Copies) -> None:
    """Source and sink with one checkpoint: each record is written once, in order."""
    source, topic = sinks.topic(partitions=2), sinks.topic(partitions=2)
    for turn, connector in enumerate((THEIRS, OURS, THEIRS)):
        for partition in (0, 1):
            sinks.live.write(source, numbered(10, partition, name=f"{turn}, {partition}:"))
        rows = copies.rows(source, connector).select("key", "value", "partition")
        copies.run(connector, rows, topic)
        assert sinks.records(topic) == sinks.records(source)
