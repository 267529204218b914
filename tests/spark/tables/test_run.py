"""A run that ends before the next one of its query begins."""

from __future__ import annotations

from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_spark_source.tables import run as module
from kafka_spark_source.tables.errors import TableError
from kafka_spark_source.tables.run import Run, end_run_before, starting

ID = "0c4a9b1e-6f4b-4a55-9b7e-3f3f6f1f4a10"


class Session:
    """A driver with at most one active query."""

    def __init__(self, active: Any = None, stops: str = "true") -> None:
        queries = SimpleNamespace(get=lambda _: active)
        shared = SimpleNamespace(activeStreamingQueries=lambda: queries)
        self._jsparkSession = SimpleNamespace(sharedState=lambda: shared)
        uuid = SimpleNamespace(UUID=SimpleNamespace(fromString=str))
        self._jvm = SimpleNamespace(java=SimpleNamespace(util=uuid))
        self.conf = SimpleNamespace(get=lambda _: stops)


@pytest.fixture(autouse=True)
def _with_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exists", lambda *_: True)
    monkeypatch.setattr(module, "query_id", lambda *_: ID)


def test_a_run_that_is_over_writes_nothing_more() -> None:
    run = Run()
    with run.writing(), run.topic("t"):
        pass
    run.end()
    with pytest.raises(TableError, match="was started again"), run.writing():
        pass


def test_the_end_waits_for_what_is_written() -> None:
    run, begun, goes_on = Run(), Event(), Event()
    order: list[str] = []

    def write() -> None:
        with run.writing():
            begun.set()
            assert goes_on.wait(60)
            order.append("written")

    writer = Thread(target=write)
    writer.start()
    assert begun.wait(60)

    def end() -> None:
        run.end()
        order.append("ended")

    ender = Thread(target=end)
    ender.start()
    goes_on.set()
    for each in (writer, ender):
        each.join(60)
    assert order == ["written", "ended"]


def test_a_run_that_does_not_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.01)
    run = Run()
    with run.writing(), pytest.raises(TableError, match="still being written"):
        run.end()


def test_the_run_before_is_ended_and_stopped() -> None:
    stopped: list[bool] = []
    run, active = Run(), SimpleNamespace(stop=lambda: stopped.append(True))
    run.begun(ID)
    session: Any = Session(active)
    end_run_before(session, "/c")
    assert stopped == [True]
    with pytest.raises(TableError), run.writing():
        pass
    end_run_before(Session(), "/c")  # type: ignore[arg-type]
    with pytest.raises(TableError, match="is running: stop it first"):
        end_run_before(Session(active, "false"), "/c")  # type: ignore[arg-type]


def test_a_new_query_has_no_run_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "exists", lambda *_: False)
    end_run_before(None, "/c")  # type: ignore[arg-type]


def test_a_start_waits_for_another_one_of_its_query() -> None:
    began, may_end, order = Event(), Event(), []

    def first() -> None:
        with starting("/a"):
            began.set()
            may_end.wait(60)
            order.append("first")

    def second() -> None:
        with starting("/a"):
            order.append("second")

    threads = [Thread(target=first), Thread(target=second)]
    threads[0].start()
    assert began.wait(60)
    threads[1].start()
    with starting("/b"):  # of another query
        order.append("other")
    may_end.set()
    for each in threads:
        each.join(60)
    assert order == ["other", "first", "second"]
