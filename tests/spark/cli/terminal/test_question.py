"""The question before a change: only a person at a terminal can say yes."""

from __future__ import annotations

import io

import pytest

from kafka_spark_source.cli.terminal.question import is_sure


class Terminal(io.StringIO):
    """Standard input at which somebody sits."""

    def isatty(self) -> bool:
        return True


def test_the_end_of_the_input_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-D. The next output begins a line."""
    monkeypatch.setattr("sys.stdin", Terminal(""))
    assert not is_sure("Write the topic's name", "orders")
    assert capsys.readouterr().err.endswith("(orders): \n")


@pytest.mark.parametrize(
    ("answer", "sure"), [("orders\n", True), (" orders \n", True), ("y\n", False), ("\n", False)]
)
def test_only_the_expected_word_counts(
    answer: str, sure: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert is_sure("Write the topic's name", "orders") is sure
    assert capsys.readouterr().err == "Write the topic's name (orders): "


def test_nobody_is_asked_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("orders\n"))
    assert not is_sure("Write the topic's name", "orders")
