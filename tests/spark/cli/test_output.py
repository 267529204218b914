"""Tables and JSON."""

from __future__ import annotations

import argparse
import json

import pytest

from kafka_spark_source.cli import console
from kafka_spark_source.cli.output import Show, count, duration, moment, moment_ms, print_rows
from kafka_spark_source.cli.parsers.arguments import add_output

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


@pytest.mark.parametrize("width", [10, 80])
def test_no_word_is_broken_in_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    # Nobody has had a reason to choose it.
    monkeypatch.setattr(console, "_WIDTH_OF_A_PIPE", width)
    headings = ["topic", "in sync", "first", "last"]
    cells = ["orders-of-the-western-region", "1, 2, 3", *["2026-11-24 21:37:50Z"] * 2]
    console.print_table(headings, [cells])
    words = capsys.readouterr().out.split()
    assert sorted(words) == sorted(" ".join([*headings, *cells]).split())


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
