"""The progress of tables: offsets add up, a late table keeps them, and threads may share it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kafka_spark_source.tables.progress import Progress, State, TableProgress

WRITTEN, FILLING, SUSPENDED = State


def test_a_run_begins_without_tables() -> None:
    assert Progress().tables() == []


def test_the_offsets_of_micro_batches_add_up() -> None:
    progress = Progress()
    progress.written("t", 3, 10, 0.5)
    progress.written("t", 5, 7, 0.25)
    assert progress.tables() == [TableProgress("t", WRITTEN, 5, 17, 0, 0.25)]


def test_a_suspended_table_keeps_its_offsets() -> None:
    progress = Progress()
    progress.written("t", 3, 10, 0.5)
    progress.suspended("t", 4, 6, "it is gone")
    progress.suspended("t", 5, 8, "it is still gone")
    assert progress.tables() == [TableProgress("t", SUSPENDED, 5, 10, 8, 0.5, "it is still gone")]


def test_a_suspended_table_keeps_its_name() -> None:
    progress = Progress()
    progress.written("t", 3, 10, 0.5, ("`lake`.`t`",))
    progress.suspended("t", 4, 6, "it is gone")
    assert progress.tables()[0].tables == ("`lake`.`t`",)


def test_a_table_that_was_never_written_has_no_offsets() -> None:
    progress = Progress()
    progress.suspended("t", 0, 6, "it is gone")
    assert progress.tables() == [TableProgress("t", SUSPENDED, 0, 0, 6, 0.0, "it is gone")]


def test_a_table_that_is_written_again_lacks_nothing() -> None:
    progress = Progress()
    progress.written("t", 3, 10, 0.5)
    progress.suspended("t", 4, 6, "it is gone")
    progress.written("t", 5, 8, 1.5)
    assert progress.tables() == [TableProgress("t", WRITTEN, 5, 18, 0, 1.5, "")]


def test_a_table_that_is_filled_anew() -> None:
    progress = Progress()
    progress.filling("t", 9)
    assert progress.tables() == [TableProgress("t", FILLING, -1, 0, 0, 0.0, to_fill=9)]
    progress.written("t", 3, 10, 0.5)
    progress.filling("t", 4)
    progress.not_filled("t", "it is locked")
    assert progress.tables() == [TableProgress("t", FILLING, 3, 10, 0, 0.5, "it is locked", 4)]
    progress.suspended("t", 4, 6, "it is gone")
    assert progress.tables() == [TableProgress("t", SUSPENDED, 4, 10, 6, 0.5, "it is gone", 4)]
    progress.written("t", 5, 6, 0.5)
    progress.filling("t", 0)
    assert progress.tables() == [TableProgress("t", WRITTEN, 5, 16, 0, 0.5)]


def test_tables_are_sorted_by_topic_and_do_not_mix() -> None:
    progress = Progress()
    for number, topic in enumerate("cab"):
        progress.written(topic, number, number + 1, 0.0)
    assert [(each.topic, each.batch_id, each.offsets) for each in progress.tables()] == [
        *(("a", 1, 2), ("b", 2, 3), ("c", 0, 1))
    ]


def test_a_list_that_was_taken_does_not_change() -> None:
    progress = Progress()
    progress.written("t", 0, 1, 0.0)
    before = progress.tables()
    progress.written("t", 1, 1, 0.0)
    progress.written("u", 1, 1, 0.0)
    assert before == [TableProgress("t", WRITTEN, 0, 1, 0, 0.0)]


def test_no_offset_of_threads_is_lost() -> None:
    progress = Progress()

    def write(number: int) -> None:
        for batch_id in range(200):
            progress.written(f"t{number % 2}", batch_id, 1, 0.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert [each.offsets for each in progress.tables()] == [800, 800]


@pytest.mark.parametrize(("state", "text"), [(WRITTEN, "written"), (SUSPENDED, "suspended")])
def test_states_have_words(state: State, text: str) -> None:
    assert state.value == text
