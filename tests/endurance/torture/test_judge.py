from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.endurance.torture import judge
from tests.endurance.torture.expected import Answer, as_written, expected_rows
from tests.endurance.torture.judge import Ran, check_written, run_query
from tests.endurance.torture.made_up import TRUTH
from tests.endurance.torture.positions import Form, Position
from tests.endurance.torture.queries import COLUMNS, WAYS, Query
from tests.endurance.torture.rows import Row
from tests.endurance.torture.sail_process import Sail
from tests.endurance.torture.ways.place import Place
from tests.endurance.torture.written import Gave, Written, at_header

OMITTED = Position(Form.OMITTED)
QUERY = Query("made up", ("a",), "subscribe", (("a", 0), ("a", 1)), OMITTED, OMITTED, False)
ROWS = expected_rows(QUERY, TRUTH)


class NoSession:
    """Takes the place of a Spark session."""

    def createDataFrame(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def place(tmp_path: Path) -> Place:
    session: Any = NoSession()
    return Place(session, "localhost:9092", tmp_path, Sail(tmp_path))


def ran(place: Place, gave: Gave) -> Ran:
    return run_query(place, QUERY, TRUTH, {"made up": lambda _place, _query: gave})


def test_each_way_that_is_drawn_can_run() -> None:
    assert {*judge.WAYS} == {*WAYS}


def test_what_was_read_is_compared(place: Place) -> None:
    right = ran(place, Gave(Answer([ROWS])))
    assert (right.error, right.difference, right.rows) == ("", None, 40)
    wrong = ran(place, Gave(Answer([ROWS[:-1]])))
    assert wrong.difference is not None
    assert wrong.difference.kind == "behind"


def test_an_error_is_that_of_the_query(place: Place) -> None:
    failed = run_query(place, QUERY, TRUTH)
    assert failed.error == "KeyError: 'made up'"
    assert failed.difference is None


@pytest.mark.parametrize(("lost", "kind"), [(0, None), (1, "behind")])
def test_what_was_written_is_compared_later(place: Place, lost: int, kind: str | None) -> None:
    def read(_servers: str, topic: str, starts: Mapping[int, int], _level: str) -> Any:
        assert (topic, {*starts}) == ("to", {0, 1, 2})
        copies = [_copied(row) for row in as_written(ROWS, COLUMNS)]
        return {1: copies[: len(copies) - lost]}

    unread = ran(place, Gave(written=Written("to", 3, once=True)))
    assert unread.difference is None
    checked = check_written("localhost:9092", unread, TRUTH, read)
    assert (checked.difference and checked.difference.kind) == kind
    assert checked.rows == 40 - lost


def _copied(row: Row) -> Row:
    at = at_header(row.topic, row.partition, row.offset)
    return row._replace(topic="to", partition=1, headers=(*row.headers, at))
