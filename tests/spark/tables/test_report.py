"""How tables are shown: all that is there, and nothing of a topic or an error takes effect."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.tables.progress import PlannedTable, State, TableProgress
from kafka_spark_source.tables.report import metrics, plan_text, progress_text
from kafka_spark_source.tables.sizes import Size
from tests.hostile.names import HOSTILE_NAMES
from tests.spark.lag.prometheus_text import parse

WRITTEN = TableProgress("orders", State.WRITTEN, 7, 1_234_567, 0, 1.25)
LATE = TableProgress("shop", State.SUSPENDED, 8, 10, 2_000, 0.5, "the table is gone", 99)
GAUGES = {
    "pykafka_table_written_offsets": (1_234_567, 10),
    "pykafka_table_late_offsets": (0, 2_000),
    "pykafka_table_backfill_offsets": (0, 99),
    "pykafka_table_is_suspended": (0, 1),
    "pykafka_table_write_seconds": (1.25, 0.5),
}
HOSTILE = [
    "[red]alert[/red]",
    "[link=http://canary.invalid]orders[/link]",
    "[/]",
    "[bold",
    ":warning:",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\u202egnp.exe",
    "a\x00b\x08c\rd\x9be",
]


def cells(text: str) -> list[list[str]]:
    """The cells of each row, with the lines of a cell in one text."""
    rows: list[list[str]] = []
    for line in text.splitlines():
        if not line.startswith("│"):
            continue
        parts = [each.strip() for each in line.strip("│").split("│")]
        if parts[0] or not rows:
            rows.append(parts)
        else:
            rows[-1] = [f"{a} {b}".strip() for a, b in zip(rows[-1], parts, strict=True)]
    return rows


def shown(text: str) -> str:
    """A text as a terminal gets it: one mark for a character that is not printed."""
    return "".join(each if each.isprintable() else "?" for each in text)


def no_control_character(text: str) -> bool:
    return all(each.isprintable() or each == "\n" for each in text)


def test_the_files_of_tables() -> None:
    text = progress_text([WRITTEN, LATE], {"orders": Size(1_200, 3_000_000_000)})
    assert cells(text) == [
        ["orders", "written", "7", "1,234,567", "0", "0", "1.2", "1,200", "2.5", ""],
        ["shop", "suspended", "8", "10", "2,000", "99", "0.5", "", "", "the table is gone"],
    ]


def test_a_table_of_tables() -> None:
    text = progress_text([WRITTEN, LATE])
    assert cells(text) == [
        ["orders", "written", "7", "1,234,567", "0", "0", "1.2", ""],
        ["shop", "suspended", "8", "10", "2,000", "99", "0.5", "the table is gone"],
    ]
    for heading in (
        "topic",
        "state",
        "micro-batch",
        "offsets",
        "late",
        "to fill",
        "seconds",
        "why",
    ):
        assert heading in text.splitlines()[1]


def test_a_plan_shows_statements_refusals_and_tables_that_are_ready() -> None:
    planned = [
        PlannedTable("a", "`lake`.`a`", ("CREATE TABLE `a`", "ALTER TABLE `a`"), ""),
        PlannedTable("b", "", (), "no name"),
        PlannedTable("c", "`lake`.`c`", (), ""),
    ]
    rows = cells(plan_text(planned))
    assert rows[0] == ["a", "`lake`.`a`", "CREATE TABLE `a` ALTER TABLE `a`"]
    assert rows[1] == ["b", "", "no name"]
    assert rows[2][:2] == ["c", "`lake`.`c`"]
    assert rows[2][2].startswith("nothing")


def test_a_refusal_is_shown_and_not_the_statements() -> None:
    (row,) = cells(plan_text([PlannedTable("a", "`a`", ("CREATE TABLE `a`",), "cannot be")]))
    assert row == ["a", "`a`", "cannot be"]


def test_no_table_is_a_table_without_rows() -> None:
    assert cells(progress_text([])) == cells(plan_text([])) == []
    assert parse(metrics([])) == {name: [] for name in GAUGES}


@pytest.mark.parametrize("hostile", HOSTILE)
def test_markup_and_control_characters_have_no_effect(hostile: str) -> None:
    table = TableProgress(hostile, State.SUSPENDED, 1, 2, 3, 0.5, f"why: {hostile}")
    text = progress_text([table])
    assert no_control_character(text)
    assert cells(text) == [
        [shown(hostile), "suspended", "1", "2", "3", "0", "0.5", f"why: {shown(hostile)}"]
    ]
    text = plan_text([PlannedTable(hostile, hostile, (hostile,), "")])
    assert no_control_character(text)
    assert cells(text) == [[shown(hostile)] * 3]
    text = plan_text([PlannedTable("t", "", (), hostile)])
    assert cells(text) == [["t", "", shown(hostile)]]


@given(st.text(max_size=60) | st.sampled_from(HOSTILE_NAMES), st.text(max_size=400))
def test_no_text_has_an_effect(topic: str, reason: str) -> None:
    table = TableProgress(topic, State.SUSPENDED, 1, 2, 3, 0.5, reason)
    for text in (
        progress_text([table]),
        plan_text([PlannedTable(topic, reason, (reason,), reason)]),
    ):
        assert no_control_character(text)


def test_a_long_reason_is_shown_whole() -> None:
    words = [f"word{number}" for number in range(100)]
    text = progress_text([TableProgress("t" * 249, State.SUSPENDED, 1, 2, 3, 0.5, " ".join(words))])
    assert max(map(len, text.splitlines())) <= 160
    assert [each for each in words if not re.search(rf"\b{each}\b", text)] == []


def test_long_names_are_shown_whole() -> None:
    topic = "q" * 249
    assert progress_text([TableProgress(topic, State.WRITTEN, 1, 2, 3, 0.5)]).count("q") == 249
    statement = f"CREATE TABLE `{topic}`"
    assert plan_text([PlannedTable(topic, topic, (statement,), "")]).count("q") == 3 * 249


def test_gauges_of_each_table() -> None:
    gauges = parse(metrics([WRITTEN, LATE]))
    assert gauges == {
        name: [({"topic": "orders"}, values[0]), ({"topic": "shop"}, values[1])]
        for name, values in GAUGES.items()
    }


def test_tables_may_come_from_a_generator() -> None:
    assert metrics(each for each in [WRITTEN, LATE]) == metrics([WRITTEN, LATE])


def test_labels_are_escaped() -> None:
    hostile = TableProgress('a\\b"c\nd"} 9\n', State.WRITTEN, 0, 1, 0, 0.0)
    lines = metrics([hostile]).splitlines()
    assert r'pykafka_table_written_offsets{topic="a\\b\"c\nd\"} 9\n"} 1' in lines
    assert len(lines) == 3 * len(GAUGES)


@given(st.text(max_size=60) | st.sampled_from([*HOSTILE, *HOSTILE_NAMES]))
def test_the_name_of_a_topic_is_read_back(topic: str) -> None:
    gauges = parse(metrics([TableProgress(topic, State.WRITTEN, 0, 1, 0, 0.0)]))
    assert [samples for samples in gauges.values() if samples[0][0] != {"topic": topic}] == []


@pytest.mark.parametrize("show", [progress_text, plan_text])
def test_without_rich_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, show: Callable[[list[Any]], str]
) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    with pytest.raises(KafkaConfigError, match=r"rich .*pip install"):
        show([])
    assert metrics([WRITTEN])
