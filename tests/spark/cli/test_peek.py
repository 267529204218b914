"""`pykafka peek` on a fake cluster: what is selected, and how it is shown."""

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
from tests.times import shorten

ORDERS = TopicPartition("orders", 0)
FORMAT = ("-O", "value.format=json", "-O", "value.schema=id BIGINT")


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a broker with four records."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    shorten(monkeypatch, topic_grace_ms=10)
    records = [
        Record(0, START_MS, b"a", b'{"id": 1}', (Header(b"h", b"x"),)),
        Record(1, START_MS + 1, b"b", b"broken \xff", (Header(b"h", None),)),
        Record(2, START_MS + 2, None, b'{"id": 2}', ()),
        Record(3, START_MS + 3, b"a", None, (Header(b"g", b"h"), Header(b"h", b"y"))),
    ]
    with FakeCluster() as cluster:
        cluster.add_topic("orders")
        for each in records:
            cluster.log(ORDERS).append(batch_of(each._replace(offset=0)))
        yield ",".join(map(str, cluster.bootstrap_servers))


def test_a_broken_value_is_shown_with_its_reason_and_hides_no_other(
    servers: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["peek", "orders", "-b", servers, *FORMAT]) == 0
    first, broken, why, third, last = capsys.readouterr().out.splitlines()
    assert first.endswith('orders-0@0 a {"id":1} [h=x]')
    assert broken.endswith("orders-0@1 b 0x62726f6b656e20ff [h=null]")
    assert why.startswith("  not decoded: the value: it is not UTF-8")
    assert third.endswith('orders-0@2 null {"id":2}')
    assert last.endswith("orders-0@3 a null [g=h, h=y]")
    assert cli.main(["peek", "orders", "-b", servers, *FORMAT, "-o", "json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("value", "none") for line in lines] == [{"id": 1}, "none", {"id": 2}, None]
    assert (lines[1]["value_base64"], "error" in lines[1]) == ("YnJva2VuIP8=", True)


def test_the_options_of_a_job_may_be_in_a_context(
    servers: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands without formats do not mind them."""
    (tmp_path / "pykafka").mkdir()
    (tmp_path / "pykafka" / "default.properties").write_text(
        f"kafka.bootstrap.servers={servers}\nValue.Format=json\nvalue.schema=no such type\n"
    )
    given = ["peek", "orders", "-n", "1", "--to", "1"]
    assert cli.main([*given, "-O", "value.schema=id STRING"]) == 0
    assert '{"id":"1"}' in capsys.readouterr().out
    assert cli.main(given) == 1
    assert cli.main(["offsets", "orders"]) == 0
    of_job = ["-O", "kafka.bootstrap.servers=localhost:1", "-O", "value.schema=id INT"]
    assert cli.main([*given, *of_job]) == 1
    assert "localhost:1" in capsys.readouterr().err
    assert cli.main([*given, "-O", "subscribe=orders"]) == 1
    assert "Option 'subscribe' is not one of formats" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "offsets"),
    [
        (("--where-key", "a"), "0 3"),
        (("--where-value", "id"), "0 2"),
        (("--where-value", 'd": 2'), "2"),
        (("--where-header", "h"), "0 1 3"),
        (("--where-header", "h=y", "--where-key", "a"), "3"),
        (("--where-header", "h", "--where-header", "g=h"), "3"),
        (("--where-key", "a", "-n", "1"), "0"),
        (("--where-value", '{"id":2}', *FORMAT), "2"),
        (("--to", "2"), "0 1"),
        (("--to", "2", "-n", "1"), "1"),
        (("--from", "1", "--to", "latest-1"), "1 2"),
        (("--from", "1", "-n", "1"), "1"),
    ],
)
def test_records_are_selected(
    servers: str, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], offsets: str
) -> None:
    assert cli.main(["peek", "orders", "-b", servers, *given, "-f", "%o "]) == 0
    assert capsys.readouterr() == (f"{offsets} ", "")


def test_kcats_format(servers: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    given = ["peek", "orders", "-b", servers, "-n", "2", "--from", "0", "-f"]
    assert cli.main([*given, r"%t %p %o %k %v\n"]) == 0
    assert capsysbinary.readouterr().out == b'orders 0 0 a {"id": 1}\norders 0 1 b broken \xff\n'
    with pytest.raises(SystemExit) as exit_:
        cli.main([*given, "%q"])
    assert exit_.value.code == 2
    assert b"%q is not a field of records" in capsysbinary.readouterr().err


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--from", "5000"), "orders-0 ends at offset 4"),
        (("--from", "3", "--to", "1"), "orders-0 from offset 3 up to 1"),
        (("--where-key", "none"), "orders-0 from offset 0 up to 4"),
    ],
)
def test_where_no_record_was_found(
    servers: str, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], why: str
) -> None:
    assert cli.main(["peek", "orders", "-b", servers, *given]) == 0
    assert capsys.readouterr() == ("", f"pykafka: no such records: {why}\n")


@pytest.mark.parametrize("given", [("--to", "1", "--follow"), ("-f", "%o", "-o", "json")])
def test_contradictions(given: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        cli.main(["peek", "orders", *given])
    assert exit_.value.code == 2
    assert "not allowed with argument" in capsys.readouterr().err
