"""Tables and JSON."""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path
from typing import Final

import pytest

from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source import cli
from kafka_spark_source.cli.parsers.arguments import add_output
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import (
    Show,
    count,
    duration,
    moment,
    moment_ms,
    print_rows,
)
from tests.fakes.cluster import FakeCluster
from tests.simulation.kafka.groups import Group
from tests.spark.tools.positions.test_checkpoints import write_batch
from tests.times import shorten

ROWS = [
    {"topic": "t", "planned_at_ms": 1_500, "records": 1_234},
    {"topic": "u", "planned_at_ms": 0, "records": None},
]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    parser = argparse.ArgumentParser()
    add_output(parser)
    columns: dict[str, Show] = {"topic": str, "planned_at_ms": duration, "records": count}
    print_rows(parser.parse_args(arguments), ROWS, columns)
    return capsys.readouterr().out


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()
    assert [line.split() for line in lines] == [
        ["topic", "planned", "at", "records"],
        ["t", "1.5", "s", "1,234"],
        ["u", "0", "-"],
    ]


class Screen(io.StringIO):
    """The standard output at a terminal."""

    def isatty(self) -> bool:
        return True


def screen_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """The standard output from now on. Not a fixture: pytest replaces it after the fixtures."""
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    return screen


TOPIC: Final = f"{'t' * 120}-{'u' * 128}"
GROUP: Final = "g" * 255
PLACES: Final = [TopicPartition(TOPIC, 0), TopicPartition("orders", 0)]


def checkpoint(folder: Path) -> str:
    folder.mkdir()
    for number, end in enumerate((1, 2)):
        write_batch(folder, number, json.dumps({each.topic: {"0": end} for each in PLACES}))
    return str(folder)


def test_nothing_is_wider_than_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the longest names that Kafka has. Only lines to paste are left to the terminal."""
    screen = screen_of_80_columns(monkeypatch)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shorten(monkeypatch, topic_grace_ms=10)
    folder = checkpoint(tmp_path / ("c" * 200))
    with FakeCluster() as cluster:
        for each in PLACES:
            cluster.add_topic(each.topic)
            cluster.append(each, b"a", b"b", b"c")
        cluster.commit(GROUP, dict.fromkeys(PLACES, 5))
        cluster.describe_group(GROUP, Group("classic", {"m" * 255: PLACES}))
        given = ["--timeout", "120", "-b", str(*cluster.bootstrap_servers)]
        for command, code in {
            "topics list": 0,
            f"topics describe {TOPIC}": 0,
            "groups list": 0,
            f"groups describe {GROUP}": 0,
            f"lag {folder} --group {GROUP}": 0,
            f"checkpoint rewind {folder} --to earliest --dry-run": 0,
        }.items():
            assert cli.main([*command.split(), *given]) == code, command
        assert cli.main(["checkpoint", "show", folder]) == 0
        assert cli.main(["checkpoint", "diff", folder, "0", "1"]) == 0
        lines = screen.getvalue().split("\n")
        assert len(lines) > 80
        assert [line for line in lines if len(line) > 80] == []
        assert cli.main(["offsets", *(each.topic for each in PLACES), *given]) == 0
    to_paste = [line for line in screen.getvalue().split("\n") if len(line) > 80]
    assert [line[:8] for line in to_paste] == [".option("]


def test_sentences_of_a_terminal_are_broken_between_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = screen_of_80_columns(monkeypatch)
    words = ["nothing"] * 15
    console.print_sentences(" ".join(words))
    assert screen.getvalue() == f"{' '.join(words[:10])}\n{' '.join(words[10:])}\n"
    console.print_error(" ".join(words))
    assert capsys.readouterr().err == f"pykafka: {' '.join(words)}\n"


def test_forced_colours_make_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    console.print_table(["topic"], [["t" * 200]])
    assert "t" * 200 in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed(capsys, "--output", "json")) == ROWS


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0"),
        (40, "0.0 s"),
        (4_210, "4.2 s"),
        (59_999, "60.0 s"),
        (61_000, "1 min 1 s"),
        (7_260_000, "2 h 1 min"),
        (93_600_000, "1 d 2 h"),
    ],
)
def test_durations(ms: int, shown: str) -> None:
    assert duration(ms) == shown


@pytest.mark.parametrize(
    ("ms", "second", "millisecond"),
    [
        (0, "1970-01-01 00:00:00Z", "1970-01-01 00:00:00.000Z"),
        (-1, "1969-12-31 23:59:59Z", "1969-12-31 23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31 23:59:59Z", "9999-12-31 23:59:59.999Z"),
        *((ms, f"{ms} ms", f"{ms} ms") for ms in (253_402_300_800_000, 2**63 - 1, -(2**63))),
    ],
)
def test_times(ms: int, second: str, millisecond: str) -> None:
    assert moment(ms) == second
    assert moment_ms(ms) == millisecond
