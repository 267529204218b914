from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.offsets import (
    EARLIEST,
    LATEST,
    EarliestPosition,
    LatestPosition,
    Position,
    SpecificOffsets,
    check_offset_limits,
    join_partitions,
    offsets_to_json,
    parse_assignment,
    parse_offsets,
    parse_position,
)

T0, T1, T10 = (TopicPartition("t", number) for number in (0, 1, 10))

topic_partitions = st.builds(TopicPartition, st.text(max_size=5), st.integers(0, 2**31 - 1))
offset_maps = st.dictionaries(topic_partitions, st.integers(EARLIEST, 2**63 - 1), max_size=8)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", EarliestPosition()),
        (" Latest ", LatestPosition()),
        ('{"t":{"0":23,"1":-1,"10":-2}}', SpecificOffsets({T0: 23, T1: LATEST, T10: EARLIEST})),
        (' {"t": {"0": 9223372036854775807}} ', SpecificOffsets({T0: 2**63 - 1})),
        ("{}", SpecificOffsets({})),
    ],
)
def test_positions_are_read(text: str, position: Position) -> None:
    assert parse_position("startingOffsets", text) == position


def test_positions_print_as_they_are_given() -> None:
    assert str(EarliestPosition()) == "earliest"
    assert str(LatestPosition()) == "latest"
    assert str(SpecificOffsets({T10: 7, T0: LATEST})) == '{"t": {"0": -1, "10": 7}}'


@pytest.mark.parametrize(
    "position", [EarliestPosition(), LatestPosition(), SpecificOffsets({T0: 4})]
)
def test_positions_travel_to_executors(position: Position) -> None:
    assert pickle.loads(pickle.dumps(position)) == position


def test_positions_know_the_offset_of_each_partition() -> None:
    assert EarliestPosition().offset_of(T0) == EARLIEST == -2
    assert LatestPosition().offset_of(T0) == LATEST == -1
    assert SpecificOffsets({T0: 4}).offset_of(T0) == 4
    with pytest.raises(KeyError):
        SpecificOffsets({T0: 4}).offset_of(T1)


NO_OFFSET = "which is neither an offset nor -1 (latest) nor -2 (earliest)"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("newest", "Expecting value: line 1 column 1 (char 0)"),
        ("", "Expecting value: line 1 column 1 (char 0)"),
        ('{"t":{"0":1}', "Expecting ',' delimiter"),
        ("[]", "the value is no JSON object"),
        ("7", "the value is no JSON object"),
        ('{"t":5}', 'what topic "t" maps to is no JSON object'),
        ('{"t":"earliest"}', 'what topic "t" maps to is no JSON object'),
        ('{"t":[0,1]}', 'what topic "t" maps to is no JSON object'),
        ('{"t":{"0":1},"t":{"1":1}}', '"t" occurs twice'),
        ('{"t":{"0":1,"0":1}}', '"0" occurs twice'),
        ('{"t":{"-1":1}}', '"-1" of topic "t" is no partition'),
        ('{"t":{"x":1}}', '"x" of topic "t" is no partition'),
        ('{"t":{"":1}}', '"" of topic "t" is no partition'),
        ('{"t":{"00":1}}', '"00" of topic "t" is no partition'),
        ('{"t":{" 0":1}}', '" 0" of topic "t" is no partition'),
        ('{"t":{"1.0":1}}', '"1.0" of topic "t" is no partition'),
        ('{"t":{"\u0663":1}}', r'"\u0663" of topic "t" is no partition'),
        ('{"t":{"2147483648":1}}', '"2147483648" of topic "t" is no partition'),
        ('{"t":{"0":-3}}', f"for t-0 it holds -3, {NO_OFFSET}"),
        ('{"t":{"0":1.0}}', f"for t-0 it holds 1.0, {NO_OFFSET}"),
        ('{"t":{"0":1e3}}', f"for t-0 it holds 1000.0, {NO_OFFSET}"),
        ('{"t":{"0":NaN}}', f"for t-0 it holds NaN, {NO_OFFSET}"),
        ('{"t":{"0":true}}', f"for t-0 it holds true, {NO_OFFSET}"),
        ('{"t":{"0":"5"}}', f'for t-0 it holds "5", {NO_OFFSET}'),
        ('{"t":{"0":null}}', f"for t-0 it holds null, {NO_OFFSET}"),
        ('{"t":{"0":9223372036854775808}}', f"for t-0 it holds 9223372036854775808, {NO_OFFSET}"),
    ],
)
def test_other_offsets_are_refused(text: str, reason: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_position("endingOffsets", text)
    assert str(caught.value).startswith(
        f'Expected e.g. {{"topicA":{{"0":23,"1":-1}},"topicB":{{"0":-2}}}}, got {text} as the '
        f"value of option 'endingOffsets': {reason}"
    )


def test_an_offset_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(KafkaConfigError, match=r"^Expected e\.g\. "):
        parse_offsets("endingOffsets", '{"t":{"0":' + "9" * 10_000 + "}}")


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(KafkaConfigError, match=r"'endingOffsets': it is nested too deeply$"):
        parse_offsets("endingOffsets", '{"t":' * 100_000)


def test_a_refused_value_is_quoted_in_one_line_and_not_at_any_length() -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_offsets("startingOffsets", '{\n  "t": ' + "7" * 1_000 + "}")
    assert 'got { "t": 777' in str(caught.value)
    assert "777... as the value of option 'startingOffsets'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 800


@given(offset_maps)
def test_offsets_survive_json(offsets: dict[TopicPartition, int]) -> None:
    assert parse_offsets("startingOffsets", offsets_to_json(offsets)) == offsets


@given(offset_maps)
def test_json_is_sorted_and_as_json_dumps_writes_it(offsets: dict[TopicPartition, int]) -> None:
    text = offsets_to_json(offsets)
    read = json.loads(text)
    assert json.dumps(read) == text
    assert [TopicPartition(t, int(p)) for t in read for p in read[t]] == sorted(offsets)


def test_partitions_are_sorted_by_number() -> None:
    backwards = {TopicPartition("u", 2): 1, T10: 4, T0: 3}
    assert offsets_to_json(backwards) == '{"t": {"0": 3, "10": 4}, "u": {"2": 1}}'
    assert join_partitions(backwards) == "t-0, t-10, u-2"


def test_assignments_are_read_and_sorted() -> None:
    assert parse_assignment("assign", ' {"u":[2],"t":[10,0]} ') == (T0, T10, ("u", 2))


@pytest.mark.parametrize("text", ["", " ", "t", "[0]", "{}", '{"t":[]}'])
def test_an_assignment_of_nothing_is_refused(text: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_assignment("assign", text)
    assert str(caught.value) == (
        f"No topicpartitions to assign as specified value for option 'assign' is '{text.strip()}': "
        'write for example {"topicA":[0,1],"topicB":[0,1]}'
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"t":[0}', "Expecting ',' delimiter"),
        ('{"t":0}', 'what topic "t" maps to is no JSON array'),
        ('{"t":{"0":1}}', 'what topic "t" maps to is no JSON array'),
        ('{"t":["0"]}', '"0" of topic "t" is no partition'),
        ('{"t":[true]}', 'true of topic "t" is no partition'),
        ('{"t":[1.0]}', '1.0 of topic "t" is no partition'),
        ('{"t":[-1]}', '-1 of topic "t" is no partition'),
        ('{"t":[2147483648]}', '2147483648 of topic "t" is no partition'),
        ('{"t":[0,1,0]}', 'partition 0 of topic "t" occurs twice'),
        ('{"t":[0],"t":[1]}', '"t" occurs twice'),
    ],
)
def test_other_assignments_are_refused(text: str, reason: str) -> None:
    with pytest.raises(KafkaConfigError) as caught:
        parse_assignment("assign", text)
    assert str(caught.value).startswith(
        f'Expected e.g. {{"topicA":[0,1],"topicB":[0,1]}}, got {text} as the value of option '
        f"'assign': {reason}"
    )


@given(st.text())
def test_no_text_makes_a_parser_fail_in_another_way(text: str) -> None:
    for parse in (parse_position, parse_assignment):
        try:
            parse("an option", "{" + text)
        except KafkaConfigError as error:
            assert "an option" in str(error)


@pytest.mark.parametrize(
    ("starting", "ending"),
    [
        (EarliestPosition(), LatestPosition()),
        (EarliestPosition(), SpecificOffsets({T0: 4})),
        (SpecificOffsets({T0: 4}), LatestPosition()),
        (SpecificOffsets({T0: 4, T1: 5}), SpecificOffsets({T1: 5, T0: 9})),
        (SpecificOffsets({T0: 4}), SpecificOffsets({T0: LATEST})),
        (SpecificOffsets({T0: EARLIEST}), SpecificOffsets({T0: 0})),
    ],
)
def test_limits_that_can_be_met_pass(starting: Position, ending: Position) -> None:
    check_offset_limits(starting, ending)


def test_limits_for_different_partitions_are_refused() -> None:
    with pytest.raises(KafkaConfigError) as caught:
        check_offset_limits(SpecificOffsets({T0: 1, T10: 1}), SpecificOffsets({T0: 2, T1: 2}))
    assert str(caught.value) == (
        "The specified start offset and end offset should have the same topic-partitions: name "
        "t-1, t-10 in both startingOffsets and endingOffsets, or in neither."
    )


def test_a_start_behind_its_end_is_refused() -> None:
    with pytest.raises(KafkaConfigError) as caught:
        check_offset_limits(SpecificOffsets({T0: 0, T1: 1}), SpecificOffsets({T0: 0, T1: 0}))
    assert str(caught.value) == (
        "The specified start offset 1 is greater than the end offset 0 for topic t partition 1: "
        "lower startingOffsets or raise endingOffsets."
    )
