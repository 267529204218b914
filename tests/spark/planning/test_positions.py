from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.planning.offsets_json import EARLIEST, LATEST, offsets_to_log
from kafka_spark_source.planning.positions import (
    FROM_EARLIEST,
    TO_LATEST,
    Ago,
    BeforeLatest,
    Bound,
    Committed,
    Everywhere,
    Position,
    SpecificOffsets,
    SpecificTimestamps,
    Timestamp,
    bounds_of,
    check_limits,
    has_bound_for,
    needs_group_offsets,
    parse_position,
    parse_timestamp,
    parse_timestamps,
)
from tests.config_error import config_error

T0, T1, T10 = (TopicPartition("t", number) for number in (0, 1, 10))

topic_partitions = st.builds(TopicPartition, st.text(max_size=5), st.integers(0, 2**31 - 1))
offset_maps = st.dictionaries(topic_partitions, st.integers(EARLIEST, 2**63 - 1), max_size=8)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("earliest", FROM_EARLIEST),
        (" Latest ", TO_LATEST),
        ('{"t":{"0":23,"1":-1,"10":-2}}', SpecificOffsets({T0: 23, T1: LATEST, T10: EARLIEST})),
        (' {"t": {"0": 9223372036854775807}} ', SpecificOffsets({T0: 2**63 - 1})),
        ("{}", SpecificOffsets({})),
        # A whole topic by its name (SPARK-58774), next to partitions.
        (
            '{"t":"Earliest","u":{"0":23}}',
            SpecificOffsets({"t": EARLIEST, TopicPartition("u", 0): 23}),
        ),
        ('{"t":"latest"}', SpecificOffsets({"t": LATEST})),
        # Relative positions.
        ("-10m", Everywhere(Ago(600_000))),
        (" -2 H ", Everywhere(Ago(7_200_000))),
        ("-1ms", Everywhere(Ago(1))),
        ("-30s", Everywhere(Ago(30_000))),
        ("-7d", Everywhere(Ago(604_800_000))),
        ("latest-100", Everywhere(BeforeLatest(100))),
        ("Latest - 5", Everywhere(BeforeLatest(5))),
        (
            '{"t":{"0":"latest-100","1":"-10m","10":"earliest"}}',
            SpecificOffsets({T0: BeforeLatest(100), T1: Ago(600_000), T10: EARLIEST}),
        ),
        ('{"t":"latest-100"}', SpecificOffsets({"t": BeforeLatest(100)})),
        # Committed offsets of a consumer group.
        (" Group ", Everywhere(Committed())),
        ('{"t":"group"}', SpecificOffsets({"t": Committed()})),
        ('{"t":{"0":"group","1":7}}', SpecificOffsets({T0: Committed(), T1: 7})),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_positions_are_read(text: str, position: Position) -> None:
    assert parse_position("startingOffsets", text) == position


@pytest.mark.parametrize(
    "position",
    [FROM_EARLIEST, TO_LATEST, SpecificOffsets({T0: 4})],
    ids=["earliest", "latest", "offsets"],
)
def test_positions_can_be_pickled(position: Position) -> None:
    assert pickle.loads(pickle.dumps(position)) == position


def test_a_position_has_a_bound_for_each_partition() -> None:
    assert FROM_EARLIEST.bound_of(T0) == EARLIEST == -2
    assert TO_LATEST.bound_of(T0) == LATEST == -1
    assert SpecificOffsets({T0: 4, "u": 5}).bound_of(T0) == 4
    assert SpecificOffsets({T0: 4, "u": 5}).bound_of(TopicPartition("u", 9)) == 5
    assert SpecificTimestamps({T0: Timestamp(4)}).bound_of(T0) == Timestamp(4)
    for position in (SpecificOffsets({T0: 4}), SpecificTimestamps({T0: Timestamp(4)})):
        with pytest.raises(KeyError):
            position.bound_of(T1)


def test_a_position_names_partitions() -> None:
    for position in (FROM_EARLIEST, SpecificOffsets({T0: 4}), SpecificOffsets({"t": 4})):
        assert has_bound_for(position, T0)
    for other in (SpecificOffsets({T0: 4, "u": 4}), SpecificTimestamps({T0: Timestamp(4)})):
        assert not has_bound_for(other, T1)


def test_bounds_of_different_kinds_are_not_the_same() -> None:
    kinds: list[Bound] = [5, Timestamp(5), Ago(5), BeforeLatest(5), Committed()]
    assert len(set(kinds)) == 5


@pytest.mark.parametrize(
    ("position", "bounds", "needs_group"),
    [
        (FROM_EARLIEST, [EARLIEST], False),
        (Everywhere(Committed()), [Committed()], True),
        (SpecificOffsets({T0: 4, "u": Committed()}), [4, Committed()], True),
        (SpecificOffsets({T0: 4, T1: Ago(1)}), [4, Ago(1)], False),
        (SpecificTimestamps({T0: Timestamp(4)}), [Timestamp(4)], False),
        (SpecificOffsets({}), [], False),
    ],
    ids=["earliest", "group", "group of a topic", "offsets", "timestamps", "no partition"],
)
def test_a_position_with_any_group_bound_needs_group_offsets(
    position: Position, bounds: list[Bound], needs_group: bool
) -> None:
    assert [*bounds_of(position)] == bounds
    assert needs_group_offsets(position) is needs_group


NO_WORD = "write earliest, latest, latest-100, -10m, or such JSON"
NO_OFFSET = "which is neither an offset nor -1 (latest) nor -2 (earliest)"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("newest", NO_WORD),
        ("", NO_WORD),
        ('{"t":{"0":1}', "Expecting ',' delimiter"),
        ("[]", NO_WORD),
        ("7", NO_WORD),
        ('{"t":5}', 'the value of topic "t" is not a JSON object'),
        ("-10", NO_WORD),
        ("-10x", NO_WORD),
        ("-1234567890m", NO_WORD),
        ("latest-1234567890123456789", NO_WORD),
        ("earliest-1", "did you mean 'earliest'?"),
        ("earlist", "did you mean 'earliest'?"),
        ("LATES", "did you mean 'latest'?"),
        ('{"t":"newest"}', 'topic "t" maps to "newest", which is neither "earliest" nor "latest"'),
        ('{"t":"-1"}', 'topic "t" maps to "-1", which is neither "earliest" nor "latest"'),
        ('{"t":[0,1]}', 'the value of topic "t" is not a JSON object'),
        ('{"t":{"0":1},"t":{"1":1}}', '"t" occurs twice'),
        ('{"t":{"0":1,"0":1}}', '"0" occurs twice'),
        ('{"t":{"-1":1}}', '"-1" of topic "t" is not a partition'),
        ('{"t":{"x":1}}', '"x" of topic "t" is not a partition'),
        ('{"t":{"":1}}', '"" of topic "t" is not a partition'),
        ('{"t":{"00":1}}', '"00" of topic "t" is not a partition'),
        ('{"t":{" 0":1}}', '" 0" of topic "t" is not a partition'),
        ('{"t":{"1.0":1}}', '"1.0" of topic "t" is not a partition'),
        ('{"t":{"\u0663":1}}', r'"\u0663" of topic "t" is not a partition'),
        ('{"t":{"2147483648":1}}', '"2147483648" of topic "t" is not a partition'),
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
    assert config_error(parse_position, "endingOffsets", text).startswith(
        f'Expected e.g. {{"topicA":{{"0":23,"1":-1}},"topicB":{{"0":-2}}}}, got {text} as the '
        f"value of option 'endingOffsets': {reason}"
    )


@pytest.mark.parametrize(
    ("text", "word"), [('{"t":"earlist"}', "earliest"), ('{"t":{"0":"lastest"}}', "latest")]
)
def test_a_misspelt_word_in_json_is_told(text: str, word: str) -> None:
    error = config_error(parse_position, "startingOffsets", text)
    assert error.endswith(f"; did you mean '{word}'?")


def test_an_offset_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(KafkaConfigError, match=r"^Expected e\.g\. "):
        parse_position("endingOffsets", '{"t":{"0":' + "9" * 10_000 + "}}")


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(KafkaConfigError, match=r"'endingOffsets': it is nested too deeply$"):
        parse_position("endingOffsets", '{"t":' * 100_000)


def test_a_refused_value_is_quoted_on_one_line_and_cut() -> None:
    error = config_error(parse_position, "startingOffsets", '{\n  "t": ' + "7" * 1_000 + "}")
    assert 'got { "t": 777' in error
    assert "777... as the value of option 'startingOffsets'" in error
    assert "\n" not in error
    assert len(error) < 800


@pytest.mark.parametrize(
    ("starting", "ending"),
    [
        (FROM_EARLIEST, TO_LATEST),
        (FROM_EARLIEST, SpecificOffsets({T0: 4})),
        (SpecificOffsets({T0: 4}), TO_LATEST),
        (SpecificOffsets({T0: 4, T1: 5}), SpecificOffsets({T1: 5, T0: 9})),
        (SpecificOffsets({T0: 4}), SpecificOffsets({T0: LATEST})),
        (SpecificOffsets({T0: EARLIEST}), SpecificOffsets({T0: 0})),
    ],
    ids=["whole log", "no start", "no end", "two partitions", "latest", "earliest"],
)
def test_limits_that_can_be_met_pass(starting: Position, ending: Position) -> None:
    check_limits(starting, ending)


def test_limits_for_different_partitions_are_refused() -> None:
    assert config_error(
        check_limits, SpecificOffsets({T0: 1, T10: 1}), SpecificOffsets({T0: 2, T1: 2})
    ) == (
        "The specified start offset and end offset should have the same topic-partitions: name "
        "t-1, t-10 in both startingOffsets and endingOffsets, or in neither."
    )


def test_a_start_after_its_end_is_refused() -> None:
    assert config_error(
        check_limits, SpecificOffsets({T0: 0, T1: 1}), SpecificOffsets({T0: 0, T1: 0})
    ) == (
        "The specified start offset 1 is greater than the end offset 0 for topic t partition 1: "
        "lower startingOffsets or raise endingOffsets."
    )


def test_timestamps_are_read() -> None:
    assert parse_timestamp("startingTimestamp", " 1760000000000 ") == Everywhere(
        Timestamp(1_760_000_000_000)
    )
    assert parse_timestamps("x", '{"t":{"0":0,"1":7}}') == SpecificTimestamps(
        {T0: Timestamp(0), T1: Timestamp(7)}
    )


# -1 and -2 would be "latest" and "earliest" to a broker.
@pytest.mark.parametrize("text", ["", "x", "1.5", "-1", "-2", "9223372036854775808", "1_000", "٣"])
def test_other_timestamps_are_refused(text: str) -> None:
    assert config_error(parse_timestamp, "endingTimestamp", text) == (
        f"Expected a single long value, got {text} as the value of option 'endingTimestamp': write "
        "milliseconds since 1970, for example 1760000000000."
    )


@pytest.mark.parametrize("value", ["-1", '"latest"', "1.5", "true", "9223372036854775808"])
def test_timestamps_of_partitions_are_numbers(value: str) -> None:
    error = config_error(parse_timestamps, "startingOffsetsByTimestamp", f'{{"t":{{"0":{value}}}}}')
    assert error.startswith('Expected e.g. {"topicA":{"0":1760000000000,')
    assert error.endswith(
        f"for t-0 it holds {value}, which is not a number of milliseconds since 1970"
    )


def test_limits_of_different_kinds_are_not_compared() -> None:
    check_limits(SpecificOffsets({T0: 9}), SpecificTimestamps({T1: Timestamp(1)}))
    check_limits(Everywhere(Timestamp(9)), Everywhere(Timestamp(1)))


def test_a_start_timestamp_after_its_end_is_refused() -> None:
    assert config_error(
        check_limits, SpecificTimestamps({T0: Timestamp(9)}), SpecificTimestamps({T0: Timestamp(8)})
    ) == (
        "The specified start timestamp 9 is greater than the end timestamp 8 for topic t "
        "partition 0: lower startingOffsetsByTimestamp or raise endingOffsetsByTimestamp."
    )


def test_a_whole_topic_names_all_its_partitions() -> None:
    check_limits(SpecificOffsets({"t": EARLIEST}), SpecificOffsets({T0: 5, T1: 7}))
    with pytest.raises(KafkaConfigError, match=r"name u-0 in both startingOffsets"):
        check_limits(
            SpecificOffsets({"t": EARLIEST, TopicPartition("u", 0): 1}), SpecificOffsets({T0: 5})
        )


@given(st.text())
def test_any_text_parses_or_is_a_config_error(text: str) -> None:
    for parse in (parse_position, parse_timestamp, parse_timestamps):
        for given_text in (text, "{" + text):
            try:
                parse("an option", given_text)
            except KafkaConfigError as error:
                assert "an option" in str(error)


@given(offset_maps)
def test_offsets_are_read_as_they_are_written(offsets: dict[TopicPartition, int]) -> None:
    assert parse_position("x", json.dumps(offsets_to_log(offsets))) == SpecificOffsets(
        dict(offsets.items())
    )
