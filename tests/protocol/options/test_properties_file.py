"""Files of properties, compared with Java's own reader."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import Final

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.properties_file import parse_properties
from kafka_spark_source.testing.java import find_java
from tests.config_error import config_error

_PROGRAM: Final = Path(__file__).with_name("java") / "LoadProperties.java"
_FILES: Final = 1_000
_PIECES: Final = (
    *("a", "b.c", "=", ":", " ", "\t", "\f", "#", "!", "\\", "\\\\", "\n", "\r", "\r\n", "x=y\n"),
    *("\\n", "\\t", "\\r", "\\f", "\\:", "\\=", "\\ ", "\\#", "\\q", "\\\n", "\\\r\n", "\\\n  "),
    *("\\u0041", "\\u00e9", "\\u000a", "\\u005c", "\\uD83D\\uDE00", "\\ud83d", "\\u12", "\\U0041"),
    *("\u00e9", "\U0001f600", "\u2028", "\x85", "\v", "\x00", "\u00a0", "\\\u00e9", "\n#", "\n!"),
)


def test_files_are_read_as_java_reads_them(tmp_path: Path) -> None:
    drawn = random.Random(60)
    texts = ["".join(drawn.choices(_PIECES, k=drawn.randrange(25))) for _ in range(_FILES)]
    for number, text in enumerate(texts):
        (tmp_path / str(number)).write_text(text, "utf-8", newline="")
    command = [str(find_java()), str(_PROGRAM), str(tmp_path), str(_FILES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    lines = done.stdout.splitlines()
    assert len(lines) == _FILES
    assert 10 < lines.count("malformed") < _FILES / 2
    for text, line in zip(texts, lines, strict=True):
        assert _as_java_prints(text) == line, repr(text)


def _as_java_prints(text: str) -> str:
    try:
        properties = parse_properties(text)
    except KafkaConfigError:
        return "malformed"
    named = sorted((_hex(name), _hex(value)) for name, value in properties.items())
    return "".join(f"{name}={value} " for name, value in named)


def _hex(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("# a comment\n! another\n\n  a = 1 \nb:2\nc 3\nd=x=y", {"a": "1 ", "b": "2", "c": "3"}),
        ("e\\=f=4\ng=1,\\\n    2\nh=\ni", {"e=f": "4", "g": "1,2", "h": "", "i": ""}),
        ("k=a\\tb\\u0041\\\nk\nk=2\\", {"k": "2"}),
        ("k=\\uD83D\\uDE00\\\\n", {"k": "\U0001f600\\n"}),
        ("k=a\u2028b\x85c\vd", {"k": "a\u2028b\x85c\vd"}),
        ("# \\\na=1\rb=2\r\nc=3", {"a": "1", "b": "2", "c": "3"}),
        ("=1\n\\\n#=2", {"": "1"}),
    ],
)
def test_examples(text: str, properties: dict[str, str]) -> None:
    assert properties.items() <= parse_properties(text).items()


def test_an_error_names_the_line_and_shows_no_value() -> None:
    text = config_error(parse_properties, "a=1\n\nb=secret\\\n  \\u12x4")
    assert text == "line 3 has no four hexadecimal digits after \\u"
