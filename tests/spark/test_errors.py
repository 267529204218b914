"""Errors as Spark shows them: a KafkaError as one sentence, a bug with its traceback."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.errors import hide_traceback

pytestmark = pytest.mark.core

HIDE = "SPARK_HIDE_TRACEBACK"


@pytest.fixture
def in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HIDE, raising=False)
    main = SimpleNamespace(__spec__=SimpleNamespace(name="pyspark.daemon"))
    monkeypatch.setitem(sys.modules, "__main__", main)


def hidden(monkeypatch: pytest.MonkeyPatch, error: Exception) -> bool:
    with pytest.raises(type(error)), hide_traceback():
        raise error
    found = HIDE in os.environ
    monkeypatch.delenv(HIDE, raising=False)
    return found


@pytest.mark.usefixtures("in_a_worker")
def test_a_kafka_error_loses_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hidden(monkeypatch, KafkaConfigError("no such topic"))


@pytest.mark.usefixtures("in_a_worker")
def test_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hidden(monkeypatch, ZeroDivisionError())


def test_outside_of_a_worker_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HIDE, raising=False)
    assert not hidden(monkeypatch, KafkaConfigError("no such topic"))
