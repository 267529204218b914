"""`pykafka offsets`: what is said of an offset that is not in the log, and the line for scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import cli
from tests.fakes.cluster import FakeCluster
from tests.times import shorten


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A broker with seven partitions: offsets 2 to 5, and six times 0 to 2."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shorten(monkeypatch, topic_grace_ms=10)
    with FakeCluster() as cluster:
        cluster.add_topic("orders", partitions=7)
        for number in range(7):
            cluster.append(TopicPartition("orders", number), b"a", b"b")
        first = TopicPartition("orders", 0)
        cluster.append(first, b"c", b"d", b"e")
        cluster.log(first).delete_before(2)
        yield ",".join(map(str, cluster.bootstrap_servers))


def offsets(servers: str, *arguments: str) -> int:
    return cli.main(["offsets", "orders", "-b", servers, *arguments])


def test_an_offset_that_is_not_in_the_log_is_named(
    servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offsets(servers, "--at", "5000") == 0
    printed = capsys.readouterr()
    assert printed.out.endswith(
        """.option("startingOffsets", """
        """'{"orders":{"0":5,"1":2,"2":2,"3":2,"4":2,"5":2,"6":2}}')\n"""
    )
    assert printed.err == (
        "pykafka: offset 5,000 is beyond the end of the log, which is shown instead: "
        "orders-0, orders-1, orders-2, orders-3, orders-4, and 2 more\n"
    )
    assert offsets(servers, "--at", "1", "-o", "json") == 0
    printed = capsys.readouterr()
    assert [row["at"] for row in json.loads(printed.out)] == [2, 1, 1, 1, 1, 1, 1]
    assert printed.err == (
        "pykafka: offset 1 is before the start of the log, which is shown instead: orders-0\n"
    )


@pytest.mark.parametrize("position", ["earliest", "latest", "latest-50", "-1h", "2999-01-01"])
def test_other_positions_are_always_in_the_log(
    servers: str, capsys: pytest.CaptureFixture[str], position: str
) -> None:
    assert offsets(servers, "--at", position) == 0
    assert capsys.readouterr().err == ""


def test_only_starting_offsets_for_scripts(
    servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert offsets(servers, "--at", "4", "-o", "spark") == 0
    printed = capsys.readouterr()
    (line,) = printed.out.splitlines()
    assert json.loads(line) == {"orders": {"0": 4} | {str(number): 2 for number in range(1, 7)}}
    assert "beyond the end" in printed.err
    assert offsets(servers, "-o", "spark") == 0
    assert json.loads(capsys.readouterr().out)["orders"]["0"] == 5
