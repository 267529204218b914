"""`pykafka write` on a fake cluster: what is written, and what is refused before."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kafka_protocol.client.cluster.rights import Operation
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.records.record import Header, Record
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import cli
from tests.fakes import faults
from tests.fakes.cluster import FakeCluster
from tests.protocol.records.batches import batch_of
from tests.times import shorten

SOURCE, COPY = TopicPartition("orders", 0), TopicPartition("copies", 0)
Pipe = Callable[..., None]


@pytest.fixture
def cluster() -> Iterator[FakeCluster]:
    with FakeCluster() as cluster:
        cluster.add_topic("orders")
        cluster.add_topic("copies", config={"message.timestamp.after.max.ms": str(2**63 - 1)})
        yield cluster


@pytest.fixture
def to(cluster: FakeCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command without more arguments."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    shorten(monkeypatch, topic_grace_ms=10)
    return ["write", "copies", "-b", ",".join(map(str, cluster.bootstrap_servers))]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    """Makes bytes the standard input: a pipe, or a file."""
    with ExitStack() as opened:

        def make(data: bytes, *, is_file: bool = False) -> None:
            if is_file:
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
                return
            read, write = os.pipe()
            os.write(write, data)
            os.close(write)
            monkeypatch.setattr(sys, "stdin", opened.enter_context(os.fdopen(read)))

        yield make


def written(cluster: FakeCluster, place: TopicPartition = COPY) -> list[Record]:
    return cluster.log(place).records


def test_lines(
    cluster: FakeCluster, to: list[str], pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(b"one\n\ntwo \xff")
    assert cli.main(to) == 0
    assert capsys.readouterr().out == "3 records were written to 'copies'\n"
    assert [each.value for each in written(cluster)] == [b"one", b"", b"two \xff"]
    pipe(b"k\tv\n")
    assert cli.main([*to, "--input", "tab"]) == 0
    assert written(cluster)[-1][2:4] == (b"k", b"v")
    pipe(b"")
    assert cli.main(to) == 0
    assert capsys.readouterr().out.endswith("0 records were written to 'copies'\n")


def test_a_copy_of_what_peek_prints_is_the_same(
    cluster: FakeCluster, to: list[str], pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = (
        Header(b"h", b"1"),
        Header(b"h", None),
        Header(b"\xc3\xa9", b"\xff"),
        Header(b"", b""),
    )
    records = [
        Record(0, 1_500, b"k", b"v\n\t", headers),
        Record(1, 0, b"\xff", None),
        Record(2, 1_760_000_000_000_000, None, b""),
        Record(3, 7, b"", "\x1b\u2028\U0001f600".encode()),
    ]
    for each in records:
        cluster.log(SOURCE).append(batch_of(each._replace(offset=0)))
    servers = to[-1]
    assert cli.main(["peek", "orders", "-b", servers, "--from", "earliest", "-o", "json"]) == 0
    pipe(capsys.readouterr().out.encode())
    assert cli.main(to) == 0
    assert written(cluster) == records


@pytest.mark.parametrize("is_file", [False, True])
def test_a_broken_line(
    cluster: FakeCluster,
    to: list[str],
    pipe: Pipe,
    capsys: pytest.CaptureFixture[str],
    is_file: bool,
) -> None:
    """Of a file nothing is written then; of a pipe what was before it."""
    pipe(b"a\t1\nb\t2\nc3\nd\t4\n", is_file=is_file)
    assert cli.main([*to, "--input", "tab"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("pykafka: line 3: there is no tab")
    assert [each.key for each in written(cluster)] == ([] if is_file else [b"a", b"b"])
    end = "Nothing was written." if is_file else "Lines 1 to 2 were written, no later ones."
    assert error.splitlines()[1] == end


def test_a_value_that_does_not_fit_its_schema(
    cluster: FakeCluster,
    to: list[str],
    pipe: Pipe,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["-O", "value.format=json", "-O", "value.schema=id BIGINT"]
    pipe(b'{"id": 1}\n{"id": "x"}\n{"id": 3}\n')
    assert cli.main([*to, *options]) == 1
    assert "line 2: value.id: " in capsys.readouterr().err
    assert [each.value for each in written(cluster)] == [b'{"id":1}']
    file = tmp_path / "lines"
    file.write_text('{"id": 2}\n{"idd": 3}\n')
    assert cli.main([*to, *options, "--from-file", str(file)]) == 1
    error = capsys.readouterr().err
    assert "line 2: the schema has no field 'value.idd'\nNothing was written." in error
    assert len(written(cluster)) == 1


def test_what_is_refused_before_a_line_is_read(
    cluster: FakeCluster, to: list[str], pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(b"one\n")
    for given, reason in [
        (["write", "none", *to[2:]], "UNKNOWN_TOPIC_OR_PARTITION"),
        ([*to, "--partition", "7"], "There is no partition 7 of 'copies'"),
        ([*to, "-O", "value.format=avro"], "needs a schema"),
        ([*to, "--from-file", "/none"], "No such file or directory (/none)"),
    ]:
        assert cli.main(given) == 1
        assert reason in capsys.readouterr().err
    assert sys.stdin.buffer.read() == b"one\n"
    assert not cluster.asked(ProduceRequest)


def test_a_right_that_is_missing(
    cluster: FakeCluster, to: list[str], pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brokers that tell rights have DESCRIBE among them; the others do not forbid."""
    pipe(b"one\n")
    cluster.add_fault(MetadataRequest, faults.granting(1 << Operation.DESCRIBE))
    assert cli.main(to) == 1
    assert "the principal lacks the right WRITE" in capsys.readouterr().err
    cluster.add_fault(MetadataRequest, faults.granting(1 << Operation.READ))
    assert cli.main(to) == 0
    assert [each.value for each in written(cluster)] == [b"one"]


def test_a_broker_that_refuses(
    cluster: FakeCluster, to: list[str], pipe: Pipe, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe(b"one\n")
    cluster.add_fault(ProduceRequest, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED, count=1)
    assert cli.main(to) == 1
    error = capsys.readouterr().err
    assert "TOPIC_AUTHORIZATION_FAILED" in error
    assert "Some lines may have been written." in error


def test_lines_are_written_as_they_arrive(
    cluster: FakeCluster, to: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is not complete waits for its end; those before it do not."""
    arrived = [b"one\ntw", b"o", b"\nthree\n", b""]
    seen = []

    class Arriving(io.BytesIO):
        def read1(self, _size: int | None = -1, /) -> bytes:
            seen.append([each.value for each in written(cluster)])
            return arrived.pop(0)

        def seekable(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Arriving()))
    assert cli.main(to) == 0
    assert seen == [[], [b"one"], [b"one"], [b"one", b"two", b"three"]]
