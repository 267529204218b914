"""Many histories of rows in one table, against the database that they come from.

The number of a history is a part of the key, and of the name of its topic, so one micro-batch has a
round of all of them. A history that fails is run again alone, with less and less in it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from kafka_spark_source.changes.arguments import ChangeError
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.change_data.histories import (
    ADDED_IN,
    ROUNDS,
    WIDER_IN,
    Config,
    History,
    Op,
    Record,
    draw,
    expected,
    records_of,
)
from tests.change_data.tables import MakeTarget, Target
from tests.spark_session import INTERPRETED, SPARK_ERRORS, settings
from tests.truth.shrink import shrink

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(3600)]

CONFIGS: Final = (
    Config(by_values=True),
    Config(),
    Config(before=True),
    Config(tombstones=False),
    Config(history=True),
    Config(history=True, before=True),
    Config(history=True, by_values=True, adds=False),
)
_SHRINK_SECONDS: Final = 300
_NONE: Final = Op("none", 0, 0)
FAILED_ONCE: Final[Mapping[Config, tuple[History, ...]]] = {
    # A row gets another key and the old one back, and Debezium writes that again: the delete
    # within is older than the row of the table.
    CONFIGS[0]: (
        History(
            (
                *(_NONE, Op("again", 2, 0), Op("keep", 1, 1), Op("delete", 0, 0)),
                *(Op("keep", 1, 3), Op("insert", 3, 3), Op("insert", 3, 2), Op("back", 2, 1)),
                *(Op("late", 0, 2), Op("back", 1, 1), Op("back", 3, 2), Op("again", 1, 1)),
            ),
            ((0, 4, 1), (4, 9, 1), (9, 11, 1), (11, 11, 1), (11, 12, 1)),
        ),
        # Two late changes of a row in one micro-batch: the draw gave them one sequence.
        History(
            (Op("insert", 3, 1), Op("late", 3, 0), Op("late", 3, 0)),
            ((0, 3, 1), (3, 3, 1), (3, 3, 1), (3, 3, 1), (3, 3, 1)),
        ),
    ),
}


@pytest.mark.core
def test_no_micro_batch_has_two_changes_in_no_order() -> None:
    """Those would be refused, as the page says."""
    config, chance = CONFIGS[0], random.Random(1)
    for history in [*FAILED_ONCE[config], *(draw(config, chance) for _ in range(5_000))]:
        records, delivered = records_of(history, config), 0
        for begin, end, _ in history.rounds:
            given = [(at, each) for at in range(begin, end) for each in records[at]]
            changes: dict[tuple[int, int], Any] = {}
            for at, each in given:
                change = each.op, each.values, each.is_sent
                first = changes.setdefault((each.id, each.lsn), change)
                # What the table has already does no harm.
                assert first == change or at < delivered
            delivered = max(delivered, end)


@pytest.mark.core
def test_500_histories(new_target: MakeTarget, spark: SparkSession) -> None:
    run_histories(new_target, spark, CONFIGS[0], 500, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_10_000_histories(new_target: MakeTarget, spark: SparkSession, config: Config) -> None:
    count = -(-10_000 // len(CONFIGS))
    run_histories(new_target, spark, config, count, seed=random.randrange(1_000_000))


def run_histories(
    new_target: MakeTarget, spark: SparkSession, config: Config, count: int, seed: int
) -> None:
    """Run histories of a seed, and those that failed once; the smallest that fails is told."""
    chance = random.Random(seed)
    drawn = [draw(config, chance) for _ in range(count)]
    histories = dict(enumerate([*FAILED_ONCE.get(config, ()), *drawn]))

    def failure(of: Mapping[int, History]) -> tuple[set[int], str] | None:
        with settings(spark, INTERPRETED):
            return failing(new_target(COLUMNS), spark, config, of)

    found = failure(histories)
    if found is None:
        return
    history, reason = shrunk(histories, found, failure)
    shown = "\n".join(str(each) for group in records_of(history, config) for each in group)
    pytest.fail(f"seed {seed}, {config}: {history}\n{shown}\n{reason}")


@pytest.mark.parametrize("tells_which", [True, False])
def test_a_history_that_fails_is_cut_down_in_few_runs(tells_which: bool) -> None:
    """It fails while it has a delete and a repeated round."""
    runs = []

    def fails(history: History) -> bool:
        repeats = any(times > 1 for _, _, times in history.rounds)
        return repeats and any(each.kind == "delete" for each in history.ops)

    def failure(of: Mapping[int, History]) -> Failure | None:
        runs.append(len(of))
        wrong = {number for number, each in of.items() if fails(each)}
        return ({*wrong} if tells_which else {*of}, f"{len(of)}") if wrong else None

    chance = random.Random(1)
    histories = dict(enumerate(draw(CONFIGS[0], chance) for _ in range(40)))
    found = failure(histories)
    assert found
    history, _ = shrunk(histories, found, failure)
    assert [each.kind for each in history.ops if each.kind != "none"] == ["delete"]
    assert sum(times > 1 for _, _, times in history.rounds) == 1
    assert len(runs) <= (20 if tells_which else 100)


COLUMNS: Final = "case int, id bigint, size bigint"
Failure = tuple[set[int], str]


def failing(
    target: Target, spark: SparkSession, config: Config, histories: Mapping[int, History]
) -> Failure | None:
    """The histories whose rows are wrong after a round, all of them if it is not known; why."""
    for number in range(ROUNDS):
        rows = [
            row for case, each in histories.items() for row in _rows(case, each, config, number)
        ]
        if number == 1:
            _refuse_poison(target, spark, config, rows, number)
        frame = spark.createDataFrame(rows, _schema(config, number))
        try:
            target.function(**config.arguments)(frame, number)
        except (ChangeError, *SPARK_ERRORS) as error:
            return {*histories}, f"in round {number}: {error}"[:2_000]
        there = _table(target, config)
        for case, history in histories.items():
            wanted, given = expected(history, config, number + 1), there.get(case, {})
            if wanted != given:
                wrong = {
                    each
                    for each in histories
                    if expected(histories[each], config, number + 1) != there.get(each, {})
                }
                return wrong, f"after round {number}: wanted\n{wanted}\ngot\n{given}"
    return None


def shrunk(
    histories: Mapping[int, History],
    found: Failure,
    failure: Callable[[Mapping[int, History]], Failure | None],
) -> tuple[History, str]:
    """One history that fails, with as little in it as time allows; why."""
    at, reason = _one_of(histories, found, failure)
    reasons = [reason]
    deadline = Deadline(_SHRINK_SECONDS)

    def first(smaller: Sequence[History]) -> int | None:
        """All in one run: a run takes seconds, however many there are."""
        candidates = dict(enumerate(smaller))
        again = None if deadline.has_passed else failure(candidates)
        if again is None:
            return None
        place, why = _one_of(candidates, again, failure)
        reasons.append(why)
        return place

    return shrink(histories[at], History.smaller, first), reasons[-1]


def _one_of(
    histories: Mapping[int, History],
    found: Failure,
    failure: Callable[[Mapping[int, History]], Failure | None],
) -> tuple[int, str]:
    """The number of a history that fails, and why: if it is an error of all, found by halves."""
    wrong, reason = found
    while len(wrong) > 1 and len(wrong) == len(histories):
        cases = sorted(wrong)
        half = {each: histories[each] for each in cases[: len(cases) // 2]}
        rest = {each: histories[each] for each in cases if each not in half}
        first = failure(half)
        histories = half if first else rest
        wrong, reason = first or (set(rest), reason)
    return min(wrong), reason


def _refuse_poison(
    target: Target,
    spark: SparkSession,
    config: Config,
    rows: Sequence[tuple[Any, ...]],
    number: int,
) -> None:
    """A micro-batch that fails before its commit changes nothing."""
    before = _table(target, config)
    poison = _row(-1, Record("x", 1, 1, 1, 0, 1, None), config, number)
    frame = spark.createDataFrame([*rows, poison], _schema(config, number))
    with pytest.raises(ChangeError, match="op is not one of"):
        target.function(**config.arguments)(frame, number)
    assert _table(target, config) == before


def _rows(case: int, history: History, config: Config, number: int) -> list[tuple[Any, ...]]:
    begin, end, times = history.rounds[number]
    groups = records_of(history, config)[begin:end]
    return [_row(case, each, config, number) for group in groups for each in group] * times


def _row(case: int, record: Record, config: Config, number: int) -> tuple[Any, ...]:
    name, note, size, added = record.values or (None, None, None, None)
    return (
        *(case, record.id, name, note if record.is_sent else None, size),
        *([added] if config.adds and number >= ADDED_IN else []),
        *(record.op, f"t{case}", record.partition, record.offset, f"id of t{case}"),
        record.ts * 1_000,
        None if record.is_sent else ["note"],
        *([(record.lsn, record.ts * 1_000)] if config.by_values else []),
        *([_before(case, record)] if config.before else []),
    )


def _before(case: int, record: Record) -> tuple[int, int] | None:
    """The key of the row before, which events of `REPLICA IDENTITY FULL` have."""
    if record.op == "c":
        return None
    return case, record.id if record.old is None else record.old


def _schema(config: Config, number: int) -> str:
    parts = [
        f"case int, id bigint, name string, note string, size {_size_type(number)}",
        *(["added string"] if config.adds and number >= ADDED_IN else []),
        "op string, topic string, partition int, offset bigint, topicId string, ts_ms bigint",
        "_unavailable array<string>",
        *(["source struct<lsn: bigint, ts_ms: bigint>"] if config.by_values else []),
        *(["before struct<case: int, id: bigint>"] if config.before else []),
    ]
    return ", ".join(parts)


def _size_type(number: int) -> str:
    return "bigint" if number >= WIDER_IN else "int"


def _table(target: Target, config: Config) -> dict[int, dict[tuple[Any, ...], Any]]:
    """The rows of each history."""
    if "name" not in target.schema():
        return {}
    added = "added" if "added" in target.schema() else "CAST(NULL AS STRING) AS added"
    key, more = ["case", "id"], []
    if config.history:
        at = "_position" if config.by_values else "_sequence"
        key += ["unix_seconds(valid_from)", f"{at}.offset"]
        more = ["unix_seconds(valid_to)", "current"]
    where = "_tombstone IS NOT TRUE" if config.tombstones else "true"
    values = ["name", "note", "size", added, *more]
    found: dict[int, dict[tuple[Any, ...], Any]] = {}
    for case, *row in target.rows(*key, *values, where=where):
        of_case, at_key = found.setdefault(case, {}), tuple(row[: len(key) - 1])
        # Two rows with one key are equal to nothing.
        of_case[at_key] = "twice" if at_key in of_case else tuple(row[len(key) - 1 :])
    return found
