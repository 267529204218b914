"""How errors look to Spark: ours as one sentence, bugs with their stack."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.errors import one_sentence

HIDE = "SPARK_HIDE_TRACEBACK"


@pytest.fixture
def in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HIDE, raising=False)
    main = SimpleNamespace(__spec__=SimpleNamespace(name="pyspark.daemon"))
    monkeypatch.setitem(sys.modules, "__main__", main)


def hidden(monkeypatch: pytest.MonkeyPatch, error: Exception) -> bool:
    with pytest.raises(type(error)), one_sentence():
        raise error
    found = HIDE in os.environ
    monkeypatch.delenv(HIDE, raising=False)
    return found


@pytest.mark.usefixtures("in_a_worker")
def test_ours_lose_their_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hidden(monkeypatch, KafkaConfigError("no such topic"))


@pytest.mark.usefixtures("in_a_worker")
def test_bugs_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not hidden(monkeypatch, ZeroDivisionError())


def test_outside_of_a_worker_nothing_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HIDE, raising=False)
    assert not hidden(monkeypatch, KafkaConfigError("no such topic"))
