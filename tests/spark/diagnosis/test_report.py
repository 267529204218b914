"""Findings of several places as text, what is installed, and what is hidden."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafka_protocol.errors import BrokerConnectionError
from kafka_spark_source.diagnosis import environment
from kafka_spark_source.diagnosis.findings import Finding, Result, tried
from kafka_spark_source.diagnosis.report import Place, pasteable, side_by_side, verdict
from kafka_spark_source.tools.masking import masked

GOOD = Finding("TCP", "broker 1", Result.GOOD, "connected")
BAD = Finding("TCP", "broker 1", Result.BAD, "connection refused")
COSTLY = Finding("setting", "spark.x", Result.COSTLY, "it is off")
DRIVER = Place("driver", {"python": "3.11", "lz4": "4"}, [COSTLY, GOOD])
EXECUTOR = Place("executor on a", {"python": "3.11", "lz4": "3"}, [BAD])


def test_places_stand_side_by_side() -> None:
    text = """\
1  driver
2  executor on a
3  executor on b

1   2   3   step     of
!!  -   -   setting  spark.x
ok  NO  NO  TCP      broker 1

[1] !! setting: spark.x: it is off

[2, 3] NO TCP: broker 1: connection refused"""
    assert side_by_side([DRIVER, EXECUTOR, EXECUTOR._replace(name="executor on b")]) == text
    assert [DRIVER.is_good, EXECUTOR.is_good] == [True, False]


def test_a_block_to_paste() -> None:
    text = """\
```
python: 3.11
lz4: 4
lz4 of executor on a: 3
client.id = x
driver:
  !! setting: spark.x: it is off
  ok TCP: broker 1: connected
executor on a:
  NO TCP: broker 1: connection refused
```"""
    assert pasteable([DRIVER, EXECUTOR], {"client.id": "x"}) == text


def test_the_verdict_comes_first_and_then_what_is_not_good() -> None:
    assert verdict(DRIVER) == (
        "It works. Steps: 1 cost something, 1 good.\n"
        "  !! setting: spark.x: it is off\n"
        "  ok TCP: broker 1: connected"
    )
    lines = verdict(DRIVER._replace(findings=[GOOD, COSTLY, BAD])).splitlines()
    assert lines[0] == "It does not work. Steps: 1 must be mended, 1 cost something, 1 good."
    assert [line[2:4] for line in lines[1:]] == ["NO", "!!", "ok"]


def test_a_step_has_its_time_or_its_error() -> None:
    def fail() -> str:
        raise BrokerConnectionError("refused")

    assert tried("TCP", "b", fail) == Finding("TCP", "b", Result.BAD, "refused")
    found = tried("TCP", "b", lambda: "connected")
    assert found.result is Result.GOOD
    assert found.detail.startswith("connected (")


def test_only_known_options_are_shown() -> None:
    options = {"sasl.password": "x", "client.id": "me", "BOOTSTRAP.servers": "h:1", "new": "y"}
    assert masked(options) == {
        "BOOTSTRAP.servers": "h:1",
        "client.id": "me",
        "new": "(set)",
        "sasl.password": "(set)",
    }


def test_what_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = environment.environment()
    assert found["python"].startswith("3.")
    assert found["executable"] == sys.executable
    assert found["codecs"] == "none, gzip, snappy, lz4, zstd"
    assert "missing" not in found.values()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = environment.environment(["no-such-package"])
    assert (found["java"], found["no-such-package"]) == ("missing", "missing")


def test_a_codec_without_its_package_cannot_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    assert environment.codecs() == ["none", "gzip", "snappy", "lz4"]
