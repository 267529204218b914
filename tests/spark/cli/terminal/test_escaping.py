"""No character of others reaches a terminal as a command."""

from __future__ import annotations

import json
import unicodedata
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.escaping import escaped, escaped_json, escaped_lines
from kafka_spark_source.cli.terminal.output import json_line, print_json

# Controls, marks of direction, separators of lines, and halves of surrogate pairs.
HARMFUL: Final = [
    chr(code)
    for code in range(0x11_0000)
    if unicodedata.category(chr(code)) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
]


def test_each_harmful_character_is_escaped() -> None:
    assert "\x1b" in HARMFUL
    for character in HARMFUL:
        assert escaped(f"a{character}ü").isprintable()
        printed = escaped_json(json.dumps(character, ensure_ascii=False))
        assert printed.isprintable()
        assert json.loads(printed) == character


@given(st.text())
def test_json_keeps_its_values(text: str) -> None:
    assert json.loads(json_line({"a": text})) == {"a": text}
    assert json_line(text).isprintable()


def test_printable_texts_stay() -> None:
    assert escaped("größe = 3 €, 日本 \\n") == "größe = 3 €, 日本 \\n"
    assert escaped("a\nb\x1b[31m\x9b") == r"a\nb\x1b[31m\x9b"
    assert escaped_lines("a\nb\r\n") == "a\nb\\r\n"


RED: Final = "\x1b[31mred\x9b0m\r\u202e"


@pytest.mark.parametrize(
    "show",
    [
        lambda: console.print_text(RED),
        lambda: console.print_error(RED),
        lambda: console.print_properties([(RED, RED)]),
        lambda: console.print_table([RED], [["a\nb"], [RED]]),
        lambda: print_json({RED: RED}),
    ],
    ids=["text", "error", "properties", "table", "JSON"],
)
def test_the_console_escapes_all_that_it_prints(
    show: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(show)
    show()
    captured = capsys.readouterr()
    printed = captured.out + captured.err
    assert "red" in printed
    assert all(line.isprintable() for line in printed.split("\n"))


@pytest.mark.parametrize("quiet", [True, False])
def test_progress_is_escaped(quiet: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress(quiet=quiet) as step:
        step(RED)
    printed = capsys.readouterr().err
    assert printed == ("" if quiet else f"{escaped(RED)} ...\n")


def test_the_console_takes_no_text_for_an_emoji_or_a_style(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = ":100: [red]a[/red]"
    console.print_text(text)
    console.print_properties([("a", text)])
    console.print_table(["a"], [[text]])
    assert capsys.readouterr().out.count(text) == 3
