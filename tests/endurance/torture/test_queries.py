from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.config.client import ClientConfig
from kafka_spark_source.options.read import parse_batch_options, parse_stream_options
from tests.endurance.torture.made_up import BEGUN_MS, TRUTH, partition_of, row, topic_of
from tests.endurance.torture.positions import Form
from tests.endurance.torture.queries import (
    COLUMNS,
    DEAD_LETTERS,
    IDENTITY,
    STREAMS,
    WAYS,
    WRITES,
    Query,
    draw,
    ranges_of,
    read_options,
)
from tests.endurance.torture.rows import Truth

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
seeds = st.integers(0, 2**32)
ways = st.sampled_from([*WAYS])


def drawn(seed: int, way: str | None = None, truth: Truth = TRUTH) -> Query:
    return draw(random.Random(seed), truth, BEGUN_MS, way)


@given(seeds, ways)
def test_the_source_takes_the_options(seed: int, way: str) -> None:
    query = drawn(seed, way)
    if query.way in {"threads", "group"}:
        ClientConfig.from_options({"bootstrap.servers": "a:1"} | dict(query.options))
    elif query.way in STREAMS:
        options = parse_stream_options(SERVERS | read_options(query))
        ClientConfig.from_options(options.kafka)
    else:
        parsed = parse_batch_options(SERVERS | read_options(query))
        ClientConfig.from_options(parsed.kafka)


@given(seeds, ways)
def test_no_range_is_outside_of_the_log(seed: int, way: str) -> None:
    query = drawn(seed, way)
    for (topic, partition), (first, last) in ranges_of(query, TRUTH).items():
        truth = TRUTH[topic].partitions[partition]
        assert truth.start <= first <= last <= truth.end
    assert {topic for topic, _ in query.places} == {*query.topics}
    if query.strategy != "assign" and query.way not in {"threads", "group"}:
        every = {(t, p) for t in query.topics for p in TRUTH[t].partitions}
        assert {*query.places} == every


@given(seeds)
def test_the_same_seed_draws_the_same(seed: int) -> None:
    assert drawn(seed) == drawn(seed)


@given(seeds, ways)
def test_what_is_written_or_streamed_has_all_columns(seed: int, way: str) -> None:
    query = drawn(seed, way)
    if way in STREAMS | WRITES:
        assert query.columns == COLUMNS
    assert len({*query.columns}) == len(query.columns) > 0


@given(seeds)
def test_rows_of_compacted_topics_tell_their_place_and_are_not_sought_by_time(seed: int) -> None:
    plain = topic_of("a")
    truth = {"a": plain._replace(plan=plain.plan._replace(cleanup="compact"))}
    query = drawn(seed, truth=truth)
    assert {*IDENTITY} <= {*query.columns}
    assert {query.start.form, query.end.form}.isdisjoint({Form.TIME, Form.TIMES})


@given(seeds, st.sampled_from(["upsert", "upsert stream"]))
def test_a_table_of_a_compacted_topic_is_the_same_for_each_reader(seed: int, way: str) -> None:
    plain = topic_of("a")
    truth = {"a": plain._replace(plan=plain.plan._replace(cleanup="compact"))}
    query = drawn(seed, way, truth)
    assert query.committed
    assert query.end.form is (Form.LATEST if way == "upsert" else Form.OMITTED)
    assert "upsert.tombstones" not in query.options


@given(seeds, st.sampled_from(sorted(DEAD_LETTERS)))
def test_dead_letters_of_compacted_topics_are_not_looked_for(seed: int, way: str) -> None:
    plain = topic_of("a")
    compacted = {"a": plain._replace(plan=plain.plan._replace(cleanup="compact"))}
    assert drawn(seed, way, compacted).way == "spark batch"
    query = drawn(seed, way, {**compacted, "b": topic_of("b")})
    assert (query.way, query.topics) == (way, ("b",))
    assert query.types["value"] == "string"


def test_times_of_the_run_are_not_asked_for_if_there_are_markers() -> None:
    rows = [row("a", 0, n)._replace(timestamp=BEGUN_MS + n) for n in range(4)]
    plain = topic_of("a")
    timed = {Form.TIME, Form.TIMES}
    for end, expected in ((4, True), (5, False)):
        truth = {"a": plain._replace(partitions={0: partition_of(rows, 0, end)})}
        forms = {drawn(seed, "spark batch", truth).start.form for seed in range(200)}
        assert bool(forms & timed) == expected


def test_everything_is_drawn_sooner_or_later() -> None:
    queries = [drawn(seed) for seed in range(3_000)]
    assert {each.way for each in queries} == {*WAYS}
    assert {each.start.form for each in queries} >= {*Form} - {Form.LATEST}
    assert {each.end.form for each in queries} >= {*Form} - {Form.EARLIEST}
    assert {each.strategy for each in queries} == {"subscribe", "subscribePattern", "assign"}
    filters = Counter(name.column for each in queries for name in each.filters)
    assert {*filters} == {"length", "key", "value", *IDENTITY, "timestamp"}
    options = {name for each in queries for name in each.options}
    assert options >= {"maxOffsetsPerTrigger", "maxBytesPerTrigger", "minOffsetsPerTrigger"}
    assert options >= {"minPartitions", "maxRecordsPerPartition", "pushDownPredicate"}
    assert options >= {"kafka.check.crcs", "startingOffsetsByTimestampStrategy"}
    assert {each.committed for each in queries} == {True, False}
    typed = [each for each in queries if each.types and each.way not in DEAD_LETTERS]
    assert {name for each in typed for name in each.types} == {"key", "value", "headers"}
    assert {"spark batch", "spark stream", "upsert"} <= {each.way for each in typed}


@pytest.mark.parametrize("topics", [{"a"}, {"a", "b", "c"}])
def test_few_topics_are_enough(topics: set[str]) -> None:
    truth = {name: TRUTH[name] for name in topics}
    for seed in range(50):
        assert {*drawn(seed, truth=truth).topics} <= topics
