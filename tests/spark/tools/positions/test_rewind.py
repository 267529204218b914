"""Rewinds on fake brokers, of checkpoints written by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kafka_protocol.client.clock import Deadline
from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.tools.positions.checkpoint_folder import CheckpointError
from kafka_spark_source.tools.positions.checkpoints import read_checkpoint
from kafka_spark_source.tools.positions.moves import PositionError, parse_target
from kafka_spark_source.tools.positions.rewind import (
    Rewind,
    check_skips_nothing,
    plan_rewind,
    rewind,
)
from tests.fakes.cluster import FakeCluster
from tests.spark.tools.positions.test_checkpoints import write_batch
from tests.times import shorten

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
OLD = 1_000_000_000


@pytest.fixture(autouse=True)
def no_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch, topic_grace_ms=10)


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    """Ten and two records."""
    with FakeCluster() as cluster:
        cluster.add_topic("orders", partitions=2)
        cluster.append(FIRST, *(b"a%d" % number for number in range(10)))
        cluster.append(SECOND, b"b0", b"b1")
        yield cluster


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The last micro-batch has ended."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    write_batch(folder, 3, '{"orders":{"0":5,"1":1}}', "-")
    write_batch(folder, 4, '{"orders":{"0":8,"1":2}}', '{"rows": 7}')
    return folder


def quiet(folder: Path) -> None:
    """The query ended long ago."""
    for file in folder.rglob("*"):
        os.utime(file, (OLD, OLD))


def planned(cluster: FakeCluster, folder: Path, to: str, source: str | None = None) -> Rewind:
    with closing(cluster.client()) as client:
        target, deadline = parse_target(to), Deadline.after(30_000)
        return plan_rewind(read_checkpoint(str(folder)), target, client, deadline, source)


def entry(folder: Path, number: int) -> list[str]:
    return (folder / "offsets" / str(number)).read_text().split("\n")


def test_the_last_micro_batch_gets_the_position(cluster: FakeCluster, checkpoint: Path) -> None:
    quiet(checkpoint)
    before = {file.name: file.read_bytes() for file in (checkpoint / "offsets").iterdir()}
    found = planned(cluster, checkpoint, "latest-4")
    assert [(each.committed, each.offset) for each in found.moves] == [(8, 6), (2, 0)]
    assert (found.read_again, found.skipped, found.is_unfinished) == (4, 0, False)
    metadata = entry(checkpoint, 4)[:2]
    copy = rewind(found)
    assert entry(checkpoint, 4) == [*metadata, '{"orders":{"0":6,"1":0}}', '{"rows": 7}']
    assert sorted(file.name for file in (checkpoint / "offsets").iterdir()) == [".3.crc", "3", "4"]
    assert {file.name: file.read_bytes() for file in (copy / "offsets").iterdir()} == before
    assert copy.parent == checkpoint.parent
    assert read_checkpoint(str(checkpoint)).last_committed is not None


def test_an_unfinished_micro_batch_is_empty(cluster: FakeCluster, checkpoint: Path) -> None:
    """So that its number is of no other records: sinks may know it."""
    write_batch(checkpoint, 5, '{"orders": {"0": 9, "1": 2}}', '{"rows": 9}', is_committed=False)
    quiet(checkpoint)
    found = planned(cluster, checkpoint, "earliest")
    assert (found.rewritten, found.is_unfinished) == ((4, 5), True)
    rewind(found)
    assert entry(checkpoint, 4)[2:] == ['{"orders":{"0":0,"1":0}}', '{"rows": 7}']
    # The other source reads what it would have read. Texts are as the connector writes them.
    assert entry(checkpoint, 5)[2:] == ['{"orders": {"0": 0, "1": 0}}', '{"rows": 9}']
    assert not read_checkpoint(str(checkpoint)).micro_batches[-1].is_committed


def test_an_interrupted_rewind_is_done_again(
    cluster: FakeCluster, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_batch(checkpoint, 5, '{"orders":{"0":9,"1":2}}', "-", is_committed=False)
    quiet(checkpoint)
    found = planned(cluster, checkpoint, "earliest")
    replace = Path.replace

    def fail_at_the_first(self: Path, target: Path) -> Path:
        if target.name == "4":
            raise OSError("no space")
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fail_at_the_first)
        with pytest.raises(OSError, match="no space"):
            rewind(found)
    assert entry(checkpoint, 4)[2] == '{"orders":{"0":8,"1":2}}'
    quiet(checkpoint)
    again = planned(cluster, checkpoint, "earliest")
    assert again.moves == found.moves
    rewind(again)
    assert {entry(checkpoint, number)[2] for number in (4, 5)} == {'{"orders":{"0":0,"1":0}}'}


@pytest.mark.parametrize("to", ["earliest", "latest-3", '{"orders":{"0":3}}'])
def test_a_rewind_that_is_killed_gives_no_number_other_records(
    cluster: FakeCluster, checkpoint: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    """After each of its deeds the unfinished micro-batch has records of its own, or none."""
    write_batch(checkpoint, 5, '{"orders":{"0":9,"1":2}}', "-", is_committed=False)
    quiet(checkpoint)
    found = planned(cluster, checkpoint, to)
    deeds = 0

    def watch(done: Callable[..., object]) -> Callable[..., object]:
        def deed(*arguments: object, **named: object) -> object:
            nonlocal deeds
            result, deeds = done(*arguments, **named), deeds + 1
            starts, ends = (json.loads(entry(checkpoint, each)[2])["orders"] for each in (4, 5))
            for partition, (start, end) in {"0": (8, 9), "1": (2, 2)}.items():
                assert {*range(starts[partition], ends[partition])} <= {*range(start, end)}
            return result

        return deed

    for name in ("unlink", "replace"):
        monkeypatch.setattr(Path, name, watch(getattr(Path, name)))
    rewind(found)
    assert deeds == 4


def test_named_partitions_move_alone(cluster: FakeCluster, checkpoint: Path) -> None:
    found = planned(cluster, checkpoint, '{"orders":{"0":3}}')
    assert [each.offset for each in found.moves] == [3, 2]
    with pytest.raises(CheckpointError, match="has not read orders-7 yet"):
        planned(cluster, checkpoint, '{"orders":{"7":3}}')
    with pytest.raises(KafkaConfigError, match="not a position here"):
        parse_target('{"orders":"group"}')


def test_partitions_that_are_not_named_keep_the_unfinished_micro_batch(
    cluster: FakeCluster, checkpoint: Path
) -> None:
    """A sink may have it already: its records must not come again with another number."""
    write_batch(checkpoint, 5, '{"orders":{"0":9,"1":5,"2":7}}', "-", is_committed=False)
    quiet(checkpoint)
    rewind(planned(cluster, checkpoint, '{"orders":{"0":3}}'))
    assert entry(checkpoint, 4)[2] == '{"orders":{"0":3,"1":2}}'
    assert entry(checkpoint, 5)[2] == '{"orders":{"0":3,"1":5,"2":7}}'


@pytest.mark.parametrize("ended", [1, 50])
def test_a_partition_that_is_not_named_stays_outside_of_its_log_too(
    cluster: FakeCluster, tmp_path: Path, ended: int
) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    write_batch(folder, 4, f'{{"orders":{{"0":8,"1":{ended}}}}}', "-")
    quiet(folder)
    rewind(planned(cluster, folder, '{"orders":{"0":3}}'))
    assert entry(folder, 4)[2] == f'{{"orders":{{"0":3,"1":{ended}}}}}'


def test_a_position_ahead_is_to_be_asked_for(cluster: FakeCluster, checkpoint: Path) -> None:
    found = planned(cluster, checkpoint, "latest")
    with pytest.raises(CheckpointError, match="that far in orders-0: 2 offsets would"):
        check_skips_nothing(found)
    check_skips_nothing(planned(cluster, checkpoint, "latest-2"))


def test_what_the_log_does_not_have(cluster: FakeCluster, checkpoint: Path) -> None:
    with pytest.raises(PositionError, match="there is no such record yet"):
        planned(cluster, checkpoint, '{"orders":{"0":11}}')
    cluster.log(FIRST).delete_before(4)
    with pytest.raises(PositionError, match="offset 3: retention has taken it"):
        planned(cluster, checkpoint, '{"orders":{"0":3}}')
    assert [each.is_at_start for each in planned(cluster, checkpoint, "earliest").moves] == [
        True,
        False,
    ]


def test_named_sources(cluster: FakeCluster, tmp_path: Path) -> None:
    for number, offset in ((0, 5), (1, 8)):
        line = f'{{"orders":{{"0":{offset}}}}}'
        write_batch(tmp_path, number, f"b:{line}", f"a:{line}", version="v2")
    quiet(tmp_path)
    with pytest.raises(CheckpointError, match="with --source: a, b"):
        planned(cluster, tmp_path, "2")
    with pytest.raises(CheckpointError, match="with --source: a, b"):
        planned(cluster, tmp_path, "2", "0")
    copy = rewind(planned(cluster, tmp_path, "2", "a"))
    assert entry(tmp_path, 1)[2:] == ['b:{"orders":{"0":8}}', 'a:{"orders":{"0":2}}']
    assert json.loads(entry(copy, 1)[3].removeprefix("a:")) == {"orders": {"0": 8}}


def test_partitions_that_are_gone(cluster: FakeCluster, tmp_path: Path) -> None:
    write_batch(tmp_path, 0, '{"orders":{"0":5,"2":1}}')
    with pytest.raises(CheckpointError, match="orders-2 no longer exists"):
        planned(cluster, tmp_path, "earliest")


def test_queries_that_cannot_be_moved(cluster: FakeCluster, checkpoint: Path) -> None:
    found = planned(cluster, checkpoint, "earliest")
    with pytest.raises(CheckpointError, match="may be running"):
        rewind(found)
    quiet(checkpoint)
    write_batch(checkpoint, 5, '{"orders":{"0":9,"1":2}}', "-")
    quiet(checkpoint)
    with pytest.raises(CheckpointError, match="has changed meanwhile"):
        rewind(found)
    (checkpoint / "state").mkdir()
    with pytest.raises(CheckpointError, match="keeps state"):
        planned(cluster, checkpoint, "earliest")
