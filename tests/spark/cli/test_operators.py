"""The commands of operators on fake brokers, and on checkpoints written by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.cluster.groups import commit_offsets
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.list_transactions import ListTransactionsRequest
from kafka_protocol.records.record import Header, Record
from kafka_protocol.records.transactions import ABORT, COMMIT
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import cli
from kafka_spark_source.cli import peek
from tests.fakes.broker import Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS, batch_of, in_transaction, marker
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.transactions import opened, soon, transactional
from tests.protocol.records.batches import batch_of as records_batch
from tests.spark.lag.prometheus_text import parse
from tests.spark.tools.positions.test_checkpoints import write_batch
from tests.times import shorten

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """A broker with five and two records."""
    with FakeCluster() as cluster:
        cluster.add_topic("orders", partitions=2)
        cluster.append(FIRST, *(b"a%d" % number for number in range(5)))
        cluster.append(SECOND, b"b0", b"\xff\x00")
        yield cluster


@pytest.fixture
def servers(cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address, without a configuration of the user's."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shorten(monkeypatch, topic_grace_ms=10)
    return ",".join(map(str, cluster.bootstrap_servers))


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    write_batch(folder, 0, '{"orders":{"0":1,"1":0}}')
    write_batch(folder, 1, '{"orders":{"0":3,"1":2}}', is_committed=False)
    return str(folder)


def test_offsets(servers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["offsets", "orders", "-b", servers, "--at", "latest-1"]) == 0
    out = capsys.readouterr().out
    assert """.option("startingOffsets", '{"orders":{"0":4,"1":1}}')""" in out
    assert cli.main(["offsets", "orders", "-b", servers, "--at", "-1h", "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["earliest"], row["latest"]) for row in rows] == [(0, 5), (0, 2)]


def test_lag(servers: str, checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["lag", checkpoint, "-b", servers]) == 0
    assert "micro-batch 1 (unfinished), 6 records behind" in capsys.readouterr().out
    given = ["lag", checkpoint, "-b", servers, "--fail-above", "1", "-o", "json"]
    assert cli.main(given) == 4
    rows = json.loads(capsys.readouterr().out)
    assert [(row["committed"], row["planned"], row["records"]) for row in rows] == [
        (1, 3, 4),
        (0, 2, 2),
    ]


def test_a_topic_that_was_created_again(
    servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_batch(tmp_path, 0, '{"orders":{"0":5,"1":150}}')
    assert cli.main(["lag", str(tmp_path), "-b", servers, "--fail-above", "300"]) == 4
    assert "Committed beyond the end of the log: orders-1. The topic" in capsys.readouterr().out


def test_lag_for_prometheus(
    servers: str, checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["lag", checkpoint, "-b", servers, "--prometheus"]) == 0
    gauges = parse(capsys.readouterr().out)
    labels = {"query": checkpoint, "source": "0", "topic": "orders", "partition": "0"}
    found, records = gauges["pykafka_lag_records"][0]
    assert (found, records) == (labels, 4)
    assert gauges["pykafka_lag_seconds"][0][1] > 0
    assert [value for _, value in gauges["pykafka_lost_records"]] == [0, 0]


def test_lag_is_watched(
    cluster: FakeCluster, servers: str, checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses = count()

    def meanwhile(ms: float) -> None:
        if ms == 7_000:
            if next(pauses) == 1:
                raise KeyboardInterrupt
            cluster.append(FIRST, b"new")

    with sleeps_take_no_time(meanwhile):
        assert cli.main(["lag", checkpoint, "-b", servers, "--watch", "7"]) == 130
    out = capsys.readouterr().out
    assert [out.count(f"{number} records behind") for number in (6, 7)] == [1, 1]
    assert cli.main(["lag", "-b", servers]) == 1
    assert "Name a checkpoint, or a consumer group" in capsys.readouterr().err


def test_the_lag_of_a_group(servers: str, capsys: pytest.CaptureFixture[str]) -> None:
    client = ClientConfig.from_options({"bootstrap.servers": servers})
    with closing(Cluster(client)) as writer:
        commit_offsets(writer, "readers", {FIRST: 2, SECOND: 2}, soon())
    assert cli.main(["lag", "--group", "readers", "-b", servers]) == 0
    assert "group readers, 3 records behind" in capsys.readouterr().out
    assert cli.main(["lag", "--group", "readers", "-b", servers, "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["group"], row["partition"], row["records"]) for row in rows] == [
        ("readers", 0, 3),
        ("readers", 1, 0),
    ]
    assert cli.main(["lag", "--group", "nobody", "-b", servers]) == 1
    assert "'nobody' has committed no offsets" in capsys.readouterr().err


def test_checkpoint(checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["checkpoint", "show", checkpoint, "-n", "1"]) == 0
    row = capsys.readouterr().out.splitlines()[1].split()
    assert row[-5:] == ["unfinished", "0", "orders", "2", "4"]
    assert cli.main(["checkpoint", "diff", checkpoint, "0", "1", "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["start"], row["end"], row["records"]) for row in rows] == [(1, 3, 2), (0, 2, 2)]
    assert cli.main(["checkpoint", "export", checkpoint]) == 0
    assert json.loads(capsys.readouterr().out) == {"orders": {"0": 1, "1": 0}}
    assert cli.main(["checkpoint", "diff", checkpoint, "0", "9"]) == 1
    assert "has no micro-batch 9" in capsys.readouterr().err


def test_rewind(servers: str, checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["checkpoint", "rewind", checkpoint, "-b", servers, "--to"]
    assert cli.main([*given, "latest", "--dry-run"]) == 1
    assert "that far in orders-0, orders-1: 6 offsets would never" in capsys.readouterr().err
    assert cli.main([*given, "latest", "--skip", "--dry-run"]) == 0
    assert "6 offsets are never read" in capsys.readouterr().out
    assert cli.main([*given, "earliest", "--yes"]) == 1
    assert "may be running" in capsys.readouterr().err
    for file in Path(checkpoint).rglob("*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    assert cli.main([*given, "earliest"]) == 1
    printed = capsys.readouterr()
    assert "Micro-batch 1 has begun and not ended" in printed.out
    assert "not confirmed (use --yes)" in printed.err
    assert cli.main([*given, "earliest", "--yes", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["micro_batches"], found["read_again"]) == ([0, 1], 1)
    assert (Path(found["copy"]) / "offsets" / "0").exists()
    assert cli.main(["checkpoint", "export", checkpoint]) == 0
    assert json.loads(capsys.readouterr().out) == {"orders": {"0": 0, "1": 0}}


def test_peek(servers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["peek", "orders", "-b", servers, "--from", "earliest", "-o", "json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each.get("value", each.get("value_base64")) for each in found] == [
        *("a0", "a1", "a2", "a3", "a4", "b0", "/wA=")
    ]
    given = ["peek", "orders", "-b", servers, "--partition", "1", "-n", "1"]
    assert cli.main(given) == 0
    assert capsys.readouterr().out.endswith("orders-1@1 null 0xff00\n")
    assert cli.main(["peek", "orders", "-b", servers, "--where-key", "none"]) == 0
    assert capsys.readouterr().out == ""
    assert cli.main(["peek", "orders", "-b", servers, "--partition", "7"]) == 1
    assert "There is no partition 7" in capsys.readouterr().err


def peeked(servers: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[str]:
    """The values, the newest last."""
    assert cli.main(["peek", "orders", "-b", servers, *more]) == 0
    return [line.split()[-1] for line in capsys.readouterr().out.splitlines()]


def test_the_newest_are_records_and_not_offsets(
    cluster: FakeCluster, servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Markers and aborted records, and gaps as compaction makes them, are between them."""
    log = cluster.log(FIRST)
    for number, type_ in enumerate([COMMIT, ABORT, COMMIT, *[ABORT] * 20]):
        log.append(in_transaction(number, b"t%d" % number))
        log.end_transaction(number, type_)
    committed = ["--partition", "0", "-X", "isolation.level=read_committed"]
    assert peeked(servers, capsys, "-n", "4", *committed) == ["a3", "a4", "t0", "t2"]
    assert peeked(servers, capsys, "-n", "2", "--partition", "0") == ["t21", "t22"]
    log.append_at(1_000_000, marker(1, COMMIT))
    assert peeked(servers, capsys, "-n", "1", *committed) == ["t2"]
    assert peeked(servers, capsys, "-n", "100", *committed)[:2] == ["a0", "a1"]
    assert cli.main(["topics", "describe", "orders", "-b", servers, "-o", "json"]) == 0
    described = json.loads(capsys.readouterr().out)["partitions"]
    assert [each["last_ms"] for each in described] == [START_MS] * 2


@pytest.mark.parametrize("time", [1_760_000_000_000_000, 1_760_000_000_000_000_000, -(2**62)])
def test_a_time_that_no_calendar_has(
    cluster: FakeCluster, servers: str, capsys: pytest.CaptureFixture[str], time: int
) -> None:
    """Microseconds or nanoseconds where milliseconds belong. It hides no other record."""
    cluster.log(SECOND).append(batch_of(b"later", timestamp=time))
    assert cli.main(["peek", "orders", "-b", servers, "-n", "9"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert f"{time} ms orders-1@2 null later" in lines
    assert cli.main(["peek", "orders", "-b", servers, "-n", "9", "-o", "json"]) == 0
    times = [json.loads(line)["timestamp_ms"] for line in capsys.readouterr().out.splitlines()]
    assert time in times
    assert cli.main(["topics", "describe", "orders", "-b", servers]) == 0
    assert f"{time} ms" in capsys.readouterr().out


def test_names_and_values_of_others_are_escaped(
    cluster: FakeCluster, servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    red = "\x1b[31m\x9b\u202e"
    record = Record(0, START_MS, red.encode(), red.encode(), (Header(red.encode(), red.encode()),))
    cluster.log(SECOND).append(records_batch(record))
    for output in ("text", "json"):
        assert cli.main(["peek", "orders", "-b", servers, "-o", output]) == 0
        printed = capsys.readouterr().out
        assert all(line.isprintable() for line in printed.split("\n"))
    shown = json.loads(printed.splitlines()[-1])
    assert (shown["key"], shown["headers"]) == (red, [{"name": red, "value": red}])


def test_a_followed_record_is_shown_once(
    cluster: FakeCluster, servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if it is written after the first look at the logs, before the records are read."""
    fetches, pauses = count(), count()

    def written_before(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            if next(fetches) == 0:
                cluster.append(FIRST, b"new")
            return handler(request, version)

        return handle

    def meanwhile(ms: float) -> None:
        if ms == peek._FOLLOW_MS and next(pauses) == 2:
            raise KeyboardInterrupt

    cluster.add_fault(FetchRequest, written_before)
    with sleeps_take_no_time(meanwhile):
        assert cli.main(["peek", "orders", "-b", servers, "--follow"]) == 130
    shown = [line.split()[-1] for line in capsys.readouterr().out.splitlines()]
    assert sorted(shown) == ["0xff00", "a0", "a1", "a2", "a3", "a4", "b0", "new"]


def test_topics(cluster: FakeCluster, servers: str, capsys: pytest.CaptureFixture[str]) -> None:
    """These brokers know no sizes."""
    assert cli.main(["topics", "list", "-b", servers, "-o", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["topic"], row["partitions"], row["offsets"], row["size"]) == ("orders", 2, 7, None)
    assert cli.main(["topics", "describe", "orders", "-b", servers]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("1 ")
    as_json = ["topics", "describe", "orders", "-b", servers, "-o", "json"]
    assert cli.main(as_json) == 0
    assert json.loads(capsys.readouterr().out)["configs"] == {}
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    cluster.add_fault(DescribeConfigsRequest, error=denied, topic="orders")
    assert cli.main(as_json) == 0
    assert json.loads(capsys.readouterr().out)["configs"] is None
    assert cli.main(["topics", "describe", "none", "-b", servers]) == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in capsys.readouterr().err
    assert cli.main(["topics", "delete", "orders", "-b", servers]) == 1
    assert "nothing was deleted" in capsys.readouterr().err


def test_txn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shorten(monkeypatch, topic_grace_ms=10)
    with transactional() as (cluster, client):
        opened(client, b"a", b"b", name="copy-3-0")
        given = ["-b", ",".join(map(str, cluster.bootstrap_servers))]
        assert cli.main(["txn", "list", *given]) == 0
        heading, row = capsys.readouterr().out.splitlines()
        names = "transactional id  open for  ends in  partitions  waiting  decided"
        assert heading.split() == names.split()
        assert row.split()[0] == "copy-3-0"
        assert row.split()[-3:] == ["1", "2", "no"]
        assert cli.main(["txn", "list", "--prefix", "copy", "-o", "json", *given]) == 0
        (found,) = json.loads(capsys.readouterr().out)
        assert found["held"][0]["waiting"] == 2
        assert cli.main(["txn", "abort", "copy-3-0", *given]) == 1
        assert "nothing was aborted" in capsys.readouterr().err
        assert cli.main(["txn", "abort", "copy-3-0", "--yes", *given]) == 0
        assert cli.main(["txn", "abort", "copy-3-0", "--yes", *given]) == 1
        assert "is not open" in capsys.readouterr().err
        assert cli.main(["txn", "list", "-o", "json", *given]) == 0
        assert json.loads(capsys.readouterr().out) == []
        assert cli.main(["txn", "list", "--prefix", "copy", *given]) == 0
        assert capsys.readouterr().out == "no transaction whose id begins with 'copy' is open\n"
        cluster.add_fault(
            ListTransactionsRequest, error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, count=1
        )
        assert cli.main(["txn", "list", *given]) == 1
        assert "CLUSTER_AUTHORIZATION_FAILED" in capsys.readouterr().err


def test_dashboard(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dashboard"]) == 0
    assert json.loads(capsys.readouterr().out)["panels"][0]["type"] == "timeseries"
    assert cli.main(["dashboard", "--alerts"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert group["rules"][0]["alert"] == "PykafkaQueryBehind"
