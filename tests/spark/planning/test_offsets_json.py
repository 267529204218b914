from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import (
    EARLIEST,
    join_partitions,
    offsets_from_log,
    offsets_to_log,
    parse_assignment,
)
from tests.config_error import config_error

T0, T1, T10 = (TopicPartition("t", number) for number in (0, 1, 10))

topic_partitions = st.builds(TopicPartition, st.text(max_size=5), st.integers(0, 2**31 - 1))
offset_maps = st.dictionaries(topic_partitions, st.integers(EARLIEST, 2**63 - 1), max_size=8)


@given(offset_maps)
def test_offsets_are_sorted_by_topic_and_number(offsets: dict[TopicPartition, int]) -> None:
    logged = offsets_to_log(offsets)
    assert [TopicPartition(t, int(p)) for t in logged for p in logged[t]] == sorted(offsets)


def test_partitions_are_named_by_number() -> None:
    assert join_partitions([TopicPartition("u", 2), T10, T0]) == "t-0, t-10, u-2"


# --- The log of a stream -------------------------------------------------------------------------


def test_logged_offsets_are_sorted() -> None:
    """Spark compares offsets as text."""
    logged = offsets_to_log({TopicPartition("u", 2): 1, T10: 4, T1: 5, T0: 3})
    assert json.dumps(logged) == '{"t": {"0": 3, "1": 5, "10": 4}, "u": {"2": 1}}'
    assert offsets_to_log({}) == {}


@given(st.dictionaries(topic_partitions, st.integers(0, 2**63 - 1), max_size=8))
def test_logged_offsets_round_trip(offsets: dict[TopicPartition, int]) -> None:
    through_spark = json.loads(json.dumps(offsets_to_log(offsets)))
    assert offsets_from_log(through_spark) == offsets


@pytest.mark.parametrize(
    ("logged", "offsets"),
    [
        ({"t": {"10": 4, "0": 3}}, {T0: 3, T10: 4}),  # as Spark's own connector writes it
        ({"t": {}, "none-.*": {}}, {}),  # topics without partitions, a pattern without topics
        ({}, {}),
        ({"t": {"2147483647": 2**63 - 1}}, {TopicPartition("t", 2**31 - 1): 2**63 - 1}),
    ],
)
def test_other_logs_are_read_too(logged: Any, offsets: dict[TopicPartition, int]) -> None:
    assert offsets_from_log(logged) == offsets


@pytest.mark.parametrize(
    ("logged", "reason"),
    [
        (None, "the offset is not a JSON object"),
        (7, "the offset is not a JSON object"),
        ([{"t": {"0": 1}}], "the offset is not a JSON object"),
        ({"t": 7}, 'the value of topic "t" is not a JSON object'),
        ({"offset": {"x": 1}}, '"x" of topic "offset" is not a partition'),
        ({"t": {"0": -1}}, "for t-0 it holds -1, which is not an offset"),
        ({"t": {"0": 1.0}}, "for t-0 it holds 1.0, which is not an offset"),
        ({"t": {"0": True}}, "for t-0 it holds true, which is not an offset"),
        ({"t": {"0": None}}, "for t-0 it holds null, which is not an offset"),
        ({"t": {"0": 2**63}}, "for t-0 it holds 9223372036854775808, which is not an offset"),
    ],
)
def test_the_log_of_another_source_is_refused(logged: Any, reason: str) -> None:
    assert config_error(offsets_from_log, logged) == (
        f"The checkpoint holds {json.dumps(logged)}, which are not offsets of Kafka ({reason}): "
        "use a checkpointLocation of this query's own."
    )


# --- Assignments ---------------------------------------------------------------------------------


def test_assignments_are_read_and_sorted() -> None:
    assert parse_assignment("assign", ' {"u":[2],"t":[10,0]} ') == (T0, T10, ("u", 2))


@pytest.mark.parametrize("text", ["", " ", "t", "[0]", "{}", '{"t":[]}'])
def test_an_assignment_of_nothing_is_refused(text: str) -> None:
    assert config_error(parse_assignment, "assign", text) == (
        f"No topicpartitions to assign as specified value for option 'assign' is '{text.strip()}': "
        'write for example {"topicA":[0,1],"topicB":[0,1]}'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"t":[0}', "Expecting ',' delimiter"),
        ('{"t":0}', 'the value of topic "t" is not a JSON array'),
        ('{"t":{"0":1}}', 'the value of topic "t" is not a JSON array'),
        ('{"t":["0"]}', '"0" of topic "t" is not a partition'),
        ('{"t":[true]}', 'true of topic "t" is not a partition'),
        ('{"t":[1.0]}', '1.0 of topic "t" is not a partition'),
        ('{"t":[-1]}', '-1 of topic "t" is not a partition'),
        ('{"t":[2147483648]}', '2147483648 of topic "t" is not a partition'),
        ('{"t":[0,1,0]}', 'partition 0 of topic "t" occurs twice'),
        ('{"t":[0],"t":[1]}', '"t" occurs twice'),
    ],
)
def test_other_assignments_are_refused(text: str, reason: str) -> None:
    assert config_error(parse_assignment, "assign", text).startswith(
        f'Expected e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text} as the value of option '
        f"'assign': {reason}"
    )


@given(st.text())
def test_any_text_parses_or_is_a_config_error(text: str) -> None:
    try:
        parse_assignment("an option", "{" + text)
    except KafkaConfigError as error:
        assert "an option" in str(error)
