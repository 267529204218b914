"""The state of late tables: it survives, and neither the newest one nor the one before is lost."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import OffsetRange, TopicPartition
from kafka_spark_source.reading.range_reader import PlannedRange
from kafka_spark_source.tables.late import LateState, LateTopic, LateTopics
from tests.tiers import first_are_quick

pytestmark = pytest.mark.spark

FOLDER = "pykafka-tables"
TOPIC_ID = uuid.UUID(int=2**128 - 1)


def late(number: int) -> dict[str, LateTopic]:
    """A topic whose range is different for each number."""
    wanted = OffsetRange(TopicPartition("t", number), number, 2**62 + number)
    return {"t": LateTopic((PlannedRange(wanted, TOPIC_ID),), number, "it is gone", 5.0)}


@pytest.fixture
def topics(tmp_path: Path) -> LateTopics:
    return LateTopics(str(tmp_path))


def slot(tmp_path: Path, state: LateState) -> Path:
    return tmp_path / FOLDER / str(state.slot)


def put(tmp_path: Path, number: int, text: str) -> None:
    folder = tmp_path / FOLDER / str(number)
    folder.mkdir(parents=True)
    (folder / "part-00000.txt").write_text(text)


@pytest.mark.core
def test_a_state_survives(spark: SparkSession, tmp_path: Path) -> None:
    topics = LateTopics(f"{tmp_path}/a checkpoint/")
    assert topics.newest(spark) == topics.before(spark, 0) == LateState()
    other = PlannedRange(OffsetRange(TopicPartition("ü", 0), 0, 1), None)
    reason = "'quoted' \"twice\"\nand\r\nlines\u2028\\ [red] é \ud800"
    given = {**late(7), "ü": LateTopic((other, *late(3)["t"].ranges), 0, reason, 1.5)}
    state = topics.save(spark, 5, given)
    assert (state.batch_id, state.topics) == (5, given)
    again = LateTopics(f"{tmp_path}/a checkpoint")
    assert again.newest(spark) == again.before(spark, 6) == state
    assert again.before(spark, 5) == LateState()


@pytest.mark.parametrize(
    "batch_ids",
    first_are_quick(
        [
            [0, 3, 3, 3, 4, 9, 9],
            [0, 0, 0, 0],
            [1, 2, 3, 4, 5],
            [7, 7, 100, 100, 100, 101],
            [5, 6, 6, 5, 6, 7, 7, 7, 7],
        ]
    ),
)
def test_the_newest_state_and_the_one_before_are_always_there(
    spark: SparkSession, topics: LateTopics, batch_ids: Sequence[int]
) -> None:
    last: dict[int, LateState] = {}
    for number, batch_id in enumerate(batch_ids):
        last[batch_id] = topics.save(spark, batch_id, late(number))
        newest, *others = sorted(last, reverse=True)
        assert topics.newest(spark) == last[newest]
        before = last[others[0]] if others else LateState()
        assert topics.before(spark, newest) == before
        assert topics.before(spark, newest + 1) == last[newest]


def test_a_table_that_was_written_is_late_no_more(spark: SparkSession, topics: LateTopics) -> None:
    topics.save(spark, 1, late(1))
    state = topics.save(spark, 1, {})
    assert topics.newest(spark) == state
    assert state.topics == {}


@pytest.mark.parametrize("is_gone", first_are_quick([False, True]))
def test_an_attempt_that_was_cut_off_leaves_the_other_states(
    spark: SparkSession, topics: LateTopics, tmp_path: Path, is_gone: bool
) -> None:
    states = [topics.save(spark, batch_id, late(batch_id)) for batch_id in (1, 2, 3)]
    folder = slot(tmp_path, states[2])
    rmtree(folder)
    if not is_gone:
        # As Spark leaves it that was killed while it wrote.
        (folder / "_temporary" / "0").mkdir(parents=True)
    assert topics.newest(spark) == topics.before(spark, 3) == states[1]
    again = topics.save(spark, 3, late(4))
    assert topics.newest(spark) == again
    assert topics.before(spark, 3) == states[1]


def test_an_attempt_in_the_place_of_an_old_state_takes_no_other(
    spark: SparkSession, topics: LateTopics, tmp_path: Path
) -> None:
    """A save that is cut off may have removed the state in its place: it must be an old one."""
    first, second = topics.save(spark, 1, late(1)), topics.save(spark, 2, late(2))
    third = topics.save(spark, 2, late(3))
    assert len({first.slot, second.slot, third.slot}) == 3
    fourth = topics.save(spark, 2, late(4))
    assert fourth.slot == second.slot
    rmtree(slot(tmp_path, fourth))
    assert topics.newest(spark) == third
    assert topics.before(spark, 2) == first


def state_text(**changed: object) -> str:
    late_topic = {"ranges": [["t", 0, 0, 5, None]], "since": 1, "reason": "why", "at": 2.0}
    return json.dumps(
        {"version": 1, "batch": 1, "number": 1, "topics": {"t": late_topic}} | changed
    )


@pytest.mark.parametrize(
    "content",
    first_are_quick(
        [
            "garbage",
            "{",
            "[]",
            "5",
            "null",
            "{}",
            "\n",
            "\x00\x01",
            f"{state_text()}\ngarbage",
            state_text(version=2),
            state_text(version=None),
            state_text(topics=None),
            state_text(topics=[]),
            state_text(topics={"t": "x"}),
            state_text(topics={"t": {"ranges": [], "since": 1}}),
            state_text(topics={"t": {"ranges": [["t", 0, 1]], "since": 1, "reason": ""}}),
            state_text(topics={"t": {"ranges": [["t", 0, 1, 2, "x"]], "since": 1, "reason": ""}}),
            state_text(topics={"t": {"ranges": [["t", 0, 1, 2, 5]], "since": 1, "reason": ""}}),
        ]
    ),
)
def test_a_file_that_has_no_state_is_named(
    spark: SparkSession, topics: LateTopics, tmp_path: Path, content: str
) -> None:
    put(tmp_path, 2, content)
    with pytest.raises(KafkaConfigError, match=rf"{FOLDER}/2 .*backup") as caught:
        topics.newest(spark)
    assert str(tmp_path) in str(caught.value)


def test_no_call_goes_on_without_the_state(
    spark: SparkSession, topics: LateTopics, tmp_path: Path
) -> None:
    put(tmp_path, 3, "garbage")
    with pytest.raises(KafkaConfigError, match=f"{FOLDER}/3"):
        topics.before(spark, 1)
    with pytest.raises(KafkaConfigError, match=f"{FOLDER}/3"):
        topics.save(spark, 1, {})
    assert (tmp_path / FOLDER / "3" / "part-00000.txt").read_text() == "garbage"


def test_the_text_of_a_state_is_read(
    spark: SparkSession, topics: LateTopics, tmp_path: Path
) -> None:
    """The form in files: a newer release must read it, too."""
    put(tmp_path, 2, state_text())
    wanted = OffsetRange(TopicPartition("t", 0), 0, 5)
    topic = LateTopic((PlannedRange(wanted, None),), 1, "why", 2.0)
    assert topics.newest(spark) == LateState(1, {"t": topic}, slot=2, number=1)


@pytest.mark.parametrize("changed", first_are_quick([{"batch": "1"}, {"batch": None}]))
def test_a_state_with_other_types_is_named(
    spark: SparkSession, topics: LateTopics, tmp_path: Path, changed: dict[str, object]
) -> None:
    put(tmp_path, 2, state_text(**changed))
    with pytest.raises(KafkaConfigError, match=f"{FOLDER}/2"):
        topics.before(spark, 5)


@pytest.mark.parametrize("name", first_are_quick(["a[1]", "a{1}", "a*", "a?", "a\\b"]))
def test_a_checkpoint_with_any_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / "ab").mkdir()
    LateTopics(f"{tmp_path}/ab").save(spark, 9, late(9))
    topics = LateTopics(f"{tmp_path}/{name}")
    assert topics.newest(spark) == LateState()
    state = topics.save(spark, 1, late(1))
    assert topics.newest(spark) == state
