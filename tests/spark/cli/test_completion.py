"""Scripts for shells: real shells complete with them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_spark_source import cli
from tests.spark.cli.tab import Tab, shell_with_tab

SHELLS = [
    pytest.param(name, marks=pytest.mark.skipif(not shutil.which(name), reason=f"needs {name}"))
    for name in ("bash", "zsh", "fish")
]


def script_for(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture(params=SHELLS)
def tab(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Tab]:
    """A shell in a folder with a file and a folder."""
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "orders.tsv").write_text("")
    with shell_with_tab(request.param, script_for(request.param, capsys), tmp_path) as tab:
        yield tab


def test_a_shell_completes(tab: Tab) -> None:
    lines = {
        "pykafka ch": ["checkpoint"],
        "pykafka checkpoint re": ["rewind"],
        "pykafka lag --fail": ["--fail-above"],
        "pykafka lag --output js": ["json"],
        "pykafka completion z": ["zsh"],
        "pykafka checkpoint show che": ["checkpoints"],
        "pykafka write orders --from-file ord": ["orders.tsv"],
        "pykafka peek orders --properties ord": ["orders.tsv"],
        "pykafka peek or": ["orders", "orders-copy"],
        "pykafka peek -b localhost:1 or": ["orders", "orders-copy"],
        "pykafka peek orders --context pr": ["prod"],
        "pykafka context show st": ["staging"],
    }
    assert {line: tab.completions(line) for line in lines} == lines


def test_topics_are_those_of_the_brokers_of_the_line(tab: Tab) -> None:
    """The command is asked with the options that say how to connect, unquoted."""
    line = """pykafka peek -b localhost:1 --partition 0 --context prod -X 'a="b c"' or"""
    assert tab.completions(line) == ["orders", "orders-copy"]
    assert tab.asked() == [
        *("topics", "list", "--names", "--timeout", "3"),
        *("-b", "localhost:1", "--context", "prod", "-X", 'a="b c"'),
    ]


def test_an_option_and_its_value_may_be_one_word(tab: Tab) -> None:
    assert tab.completions("pykafka peek --context=prod or") == ["orders", "orders-copy"]
    assert " ".join(tab.asked()).replace("=", " ").endswith(" --timeout 3 --context prod")


HOSTILE = (
    "$(touch${IFS}canary)",
    "`touch canary`",
    "(touch canary)",
    "<(touch canary)",
    ";touch canary",
    "orders;touch canary",
    "orders|touch canary",
    "orders$(touch canary)",
    "'$(touch canary)",
    '"$(touch canary)',
    "${canary:=1}$(touch canary)",
    "$canary[$(touch canary)]",
    "a[$(touch canary)]",
    "*",
    "~",
    "!!",
    "\\",
    "{a,b}",
    "\x1b[31m",
    "\x16\x03",
    "orders\tdescription",
    "--plugin=x",
    "\u202eorders",
)


def test_names_of_a_hostile_broker_are_not_expanded_nor_offered(tab: Tab, tmp_path: Path) -> None:
    """`compgen -W`, which is the way of most scripts, runs `$(...)` in them."""
    names = "".join(f"{name}\n" for name in HOSTILE)
    for file in ("topics", "context"):
        (tmp_path / file).write_text(f"{names}orders\n{names}")
    assert tab.completions("pykafka peek or") == ["orders"]
    assert tab.completions("pykafka peek ") == ["orders"]
    assert tab.completions("pykafka peek x --context ") == ["orders"]
    assert not list(tmp_path.glob("canary*"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_names_of_topics_and_contexts_are_asked_for(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be checked without the shell."""
    script = script_for(shell, capsys)
    assert script.startswith("#compdef pykafka" if shell == "zsh" else "# AUTOMATICALLY GENERATED")
    for function in ("_pykafka_topics", "_pykafka_contexts"):
        head = f"function {function}\n" if shell == "fish" else f"{function}() {{"
        assert head in script
        assert script.count(function) > 1


def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "shtab" else name)
    assert cli.main(["completion", "bash"]) == 1
    assert "pip install 'pyspark-pykafka[cli]'" in capsys.readouterr().err
