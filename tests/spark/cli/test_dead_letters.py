"""The command `pykafka dead-letters`, on a fake broker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_protocol.records.record import Header, Record
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import cli
from tests.fakes.cluster import FakeCluster
from tests.fakes.log import START_MS
from tests.protocol.records.batches import batch_of

HOUR_MS = 3_600_000
RED = "\x1b[31m"


def letter(place: int, exception: str, reason: str, *, hours: int = 0) -> Record:
    """A dead letter of the topic `orders`."""
    headers = {
        "topic": "orders",
        "partition": "0",
        "offset": str(place),
        "stage": "VALUE_CONVERTER",
        "exception.class.name": f"kafka_formats.errors.{exception}",
        "exception.message": reason,
    }
    named = [
        Header(f"__connect.errors.{name}".encode(), each.encode()) for name, each in headers.items()
    ]
    return Record(0, START_MS + hours * HOUR_MS, None, b"{", tuple(named))


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A broker with dead letters in two partitions, and a record that is none."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    with FakeCluster() as cluster:
        cluster.add_topic("dead", partitions=2)
        logs = [cluster.log(TopicPartition("dead", each)) for each in (0, 1)]
        for record in (
            letter(1, "PayloadError", "the value: old"),
            letter(2, "PayloadError", f"the value: new {RED}", hours=2),
            letter(2, "PayloadError", f"the value: new {RED}", hours=2),
            Record(0, START_MS, None, b"no letter"),
        ):
            logs[0].append(batch_of(record))
        logs[1].append(batch_of(letter(3, "UnknownSchemaError", "the value (schema id 7): none")))
        yield ",".join(map(str, cluster.bootstrap_servers))


def test_letters_are_counted_by_their_kind(
    servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["dead-letters", "dead", "-b", servers, "-o", "json"]) == 0
    broken, unknown = json.loads(capsys.readouterr().out)
    assert broken == {
        "topic": "orders",
        "stage": "VALUE_CONVERTER",
        "exception": "kafka_formats.errors.PayloadError",
        "records": 3,
        "repeated": 1,
        "newest_ms": START_MS + 2 * HOUR_MS,
        "reason": f"the value: new {RED}",
    }
    assert (unknown["exception"], unknown["records"]) == (
        "kafka_formats.errors.UnknownSchemaError",
        1,
    )
    assert cli.main(["dead-letters", "dead", "-b", servers]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines)
    assert [line.split()[2:5] for line in lines[1:]] == [
        ["PayloadError", "3", "1"],
        ["UnknownSchemaError", "1", "0"],
    ]


def test_a_monitor_is_told_by_the_exit_code(servers: str) -> None:
    count = ["dead-letters", "dead", "-b", servers, "--fail-above"]
    # Three places, as one of the four is repeated.
    assert cli.main([*count, "3"]) == 0
    assert cli.main([*count, "2"]) == 4
    assert cli.main([*count, "0", "--from", "latest"]) == 0


def test_a_topic_that_does_not_exist(servers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["dead-letters", "none", "-b", servers]) == 1
    assert "none" in capsys.readouterr().err
