"""`pykafka lag` where a checkpoint or a group cannot be looked at: the others are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kafka_protocol.client.cluster.groups import commit_offsets
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import cli
from tests.fakes.broker import Close, Handler
from tests.fakes.cluster import FakeCluster
from tests.fakes.skipping_time import sleeps_take_no_time
from tests.fakes.transactions import soon
from tests.spark.lag.prometheus_text import parse
from tests.spark.tools.positions.test_checkpoints import write_batch
from tests.times import shorten

ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    """A broker with three records, of which the group `readers` has read one."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shorten(monkeypatch, topic_grace_ms=10)
    with FakeCluster() as cluster:
        cluster.add_topic("orders")
        cluster.add_topic("copies")
        cluster.append(ORDERS, b"a", b"b", b"c")
        with closing(cluster.client()) as client:
            commit_offsets(client, "readers", {ORDERS: 1}, soon())
        yield cluster


@pytest.fixture
def good(tmp_path: Path) -> str:
    """The checkpoint of a query that has read one record."""
    folder = tmp_path / "good"
    folder.mkdir()
    write_batch(folder, 0, '{"orders":{"0":1}}')
    return str(folder)


@pytest.fixture
def stray(tmp_path: Path) -> str:
    """A folder that is not a checkpoint."""
    folder = tmp_path / "stray"
    folder.mkdir()
    return str(folder)


def lag(cluster: FakeCluster, *arguments: str) -> int:
    return cli.main(["lag", *arguments, "-b", ",".join(map(str, cluster.bootstrap_servers))])


def test_the_lag_of_the_others_is_shown(
    cluster: FakeCluster, good: str, stray: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lag(cluster, stray, good, "--group", "nobody", "--group", "readers") == 5
    printed = capsys.readouterr()
    assert f"{good}: micro-batch 0 (ended), 2 records behind" in printed.out
    assert "group readers, 2 records behind" in printed.out
    assert [line.partition(" is not known: ")[0] for line in printed.err.splitlines()] == [
        f"pykafka: the lag of the checkpoint {stray}",
        "pykafka: the lag of the group nobody",
    ]
    assert "is not a checkpoint of a streaming query" in printed.err
    assert "has committed no offsets" in printed.err


def test_rows_of_json_have_the_same_fields(
    cluster: FakeCluster, good: str, stray: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lag(cluster, stray, good, "-o", "json") == 5
    known, unknown = json.loads(capsys.readouterr().out)
    assert (known["checkpoint"], known["records"], known["error"]) == (good, 2, None)
    assert known.keys() == unknown.keys()
    assert unknown["checkpoint"] == stray
    assert "is not a checkpoint" in unknown["error"]
    assert {value for name, value in unknown.items() if name not in {"checkpoint", "error"}} == {
        None
    }
    assert lag(cluster, "--group", "nobody", "--group", "readers", "-o", "json") == 5
    known, unknown = json.loads(capsys.readouterr().out)
    assert known.keys() == unknown.keys()
    assert (unknown["group"], unknown["records"]) == ("nobody", None)


def test_gauges_of_the_others_are_exported(
    cluster: FakeCluster, good: str, stray: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lag(cluster, stray, good, "--prometheus") == 5
    printed = capsys.readouterr()
    gauges = parse(printed.out)
    ((labels, records),) = gauges["pykafka_lag_records"]
    assert (labels["query"], records) == (good, 2)
    assert gauges["pykafka_lag_known"] == [({"query": good}, 1), ({"query": stray}, 0)]
    assert stray in printed.err


def test_one_that_is_named_twice_has_gauges_once(
    cluster: FakeCluster, good: str, capsys: pytest.CaptureFixture[str]
) -> None:
    twice = (good, good, "--group", "readers", "--group", "readers")
    assert lag(cluster, *twice, "--prometheus") == 0
    for samples in parse(capsys.readouterr().out).values():
        labels = [tuple(sorted(each.items())) for each, _ in samples]
        assert len({*labels}) == len(labels)


def test_a_topic_that_is_gone_is_no_query_that_is_up_to_date(
    cluster: FakeCluster, good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    write_batch(gone, 0, '{"gone":{"0":5}}')
    assert lag(cluster, str(gone), "--fail-above", "1e12") == 4
    assert "No longer there: gone-0." in capsys.readouterr().out
    assert lag(cluster, str(gone), "-o", "json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert [row[name] for name in ("latest", "records", "lost", "behind_ms")] == [None] * 4


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "1e400", "x"])
def test_a_limit_is_a_number(
    cluster: FakeCluster, good: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No lag is more than nan: a script would never hear of one."""
    with pytest.raises(SystemExit, match="2"):
        lag(cluster, good, f"--fail-above={text}")
    assert "--fail-above" in capsys.readouterr().err


def test_behind_goes_before_incomplete_and_an_error_is_that_nothing_is_known(
    cluster: FakeCluster, good: str, stray: str
) -> None:
    assert lag(cluster, stray, good, "--fail-above", "1") == 4
    assert lag(cluster, stray, good, "--fail-above", "1e12") == 5
    assert lag(cluster, stray) == 1
    assert lag(cluster, stray, "--group", "nobody") == 1


def test_a_topic_that_may_not_be_read_hides_no_other(
    cluster: FakeCluster, good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers refuse what the first checkpoint asks for."""
    refused = tmp_path / "refused"
    refused.mkdir()
    write_batch(refused, 0, '{"copies":{"0":0}}')
    cluster.add_fault(ListOffsetsRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
    assert lag(cluster, str(refused), good) == 5
    printed = capsys.readouterr()
    assert f"{good}: micro-batch 0" in printed.out
    assert f"the lag of the checkpoint {refused} is not known" in printed.err
    assert "TOPIC_AUTHORIZATION_FAILED" in printed.err


def test_one_that_is_not_answered_leaves_time_for_the_next(
    cluster: FakeCluster, good: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = tmp_path / "waiting"
    waiting.mkdir()
    write_batch(waiting, 0, '{"copies":{"0":0}}')
    with sleeps_take_no_time() as time:

        def late(handler: Handler) -> Handler:
            def handle(request: Any, version: int) -> Any:
                if "copies" in {each.name for each in request.topics or ()}:
                    time(60)
                    raise Close
                return handler(request, version)

            return handle

        cluster.add_fault(MetadataRequest, late)
        assert lag(cluster, str(waiting), good) == 5
    printed = capsys.readouterr()
    assert f"{good}: micro-batch 0" in printed.out
    assert f"the lag of the checkpoint {waiting} is not known" in printed.err


def test_a_watch_goes_on_until_all_are_known(
    cluster: FakeCluster, good: str, stray: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses = count()

    def meanwhile(ms: float) -> None:
        if ms == 7_000:
            if next(pauses) == 1:
                raise KeyboardInterrupt
            write_batch(Path(stray), 0, '{"orders":{"0":3}}')

    with sleeps_take_no_time(meanwhile):
        assert lag(cluster, stray, good, "--watch", "7") == 130
    printed = capsys.readouterr()
    assert printed.out.count(f"{good}: micro-batch 0") == 2
    assert printed.out.count(f"{stray}: micro-batch 0 (ended), 0 records behind") == 1
    assert printed.err.count("is not known") == 1
