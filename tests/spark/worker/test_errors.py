"""Errors as Spark shows them: a KafkaError as one sentence, a bug with its traceback."""

from __future__ import annotations

import importlib.util
import inspect
import os
import pkgutil
import sys
from collections.abc import Iterator
from types import FunctionType, SimpleNamespace
from typing import Final

import pytest

import kafka_spark_source
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.worker.errors import hide_traceback

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


HAS_42: Final = importlib.util.find_spec("pyspark.sql.streaming.datasource") is not None
DATA_SOURCES: Final = {"pyspark.sql.datasource", "pyspark.sql.streaming.datasource"}
# Without a decorator: they do nothing that fails, or `read_partition` does it for them.
BARE: Final = {
    *("name", "read", "stop", "getDefaultReadLimit", "prepareForTriggerAvailableNow"),
    "reportLatestOffset",
}


def called_by_spark() -> Iterator[tuple[str, FunctionType]]:
    """The methods of data source classes of PySpark that classes of this package override."""
    for module in pkgutil.walk_packages(kafka_spark_source.__path__, "kafka_spark_source."):
        if module.name.endswith("reader_42") and not HAS_42:
            continue
        if module.name.endswith(".sail"):  # not called in a worker of Spark's
            continue
        for _, owner in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if owner.__module__ == module.name:
                yield from overridden_in(owner)


def overridden_in(owner: type) -> Iterator[tuple[str, FunctionType]]:
    theirs = [each for each in owner.__mro__ if each.__module__ in DATA_SOURCES]
    for name, value in vars(owner).items():
        if isinstance(value, FunctionType) and any(name in vars(each) for each in theirs):
            yield f"{owner.__name__}.{name}", value


def test_every_method_that_spark_calls_hides_tracebacks() -> None:
    methods = dict(called_by_spark())
    assert {"KafkaDataSource.schema", "KafkaBatchWriter.commit"} <= methods.keys()
    for name, method in methods.items():
        if name.partition(".")[2] not in BARE:
            assert hasattr(method, "__wrapped__"), name
            assert not inspect.isgeneratorfunction(method.__wrapped__), name
