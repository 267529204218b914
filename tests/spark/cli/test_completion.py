"""Scripts for shells: bash itself completes with one."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_spark_source import cli

# What bash does when TAB is pressed behind some words.
_TAB = """
source {script}
COMP_WORDS=({words}) COMP_CWORD={last} COMP_TYPE=9
_shtab_pykafka pykafka "${{COMP_WORDS[{last}]}}" "${{COMP_WORDS[{last}-1]}}"
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert cli.main(["completion", "bash"]) == 0
    file = tmp_path / "pykafka"
    file.write_text(capsys.readouterr().out)
    return file


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ('pykafka "ch"', ["checkpoint"]),
        ('pykafka checkpoint "re"', ["rewind"]),
        ('pykafka lag "--fail"', ["--fail-above"]),
        ('pykafka lag --output "js"', ["json"]),
    ],
)
def test_bash_completes(script: Path, words: str, found: list[str]) -> None:
    given = _TAB.format(script=script, words=words, last=len(words.split()) - 1)
    done = subprocess.run(
        ["bash", "-c", given], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == found


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_topics(script: Path, tmp_path: Path) -> None:
    """It asks the command itself, with the options of the line that say how to connect."""
    line = 'pykafka peek -b localhost:1 --partition 0 --context prod -X "a=b" "or"'
    asked = tmp_path / "asked"
    own = f'pykafka() {{ echo "$@" > {asked}; printf "orders\npayments\norders-copy\n"; }}'
    given = _TAB.format(script=script, words=line, last=len(line.split()) - 1)
    done = subprocess.run(
        ["bash", "-c", f"{own}\nCOMP_LINE={shlex.quote(line)}\n{given}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["orders", "orders-copy"]
    expected = 'topics list --names --timeout 3 -b localhost:1 --context prod -X "a=b"'
    assert asked.read_text().strip() == expected


def test_zsh_has_a_script_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", "zsh"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("#compdef pykafka")
    assert "_pykafka_topics() {" in printed


def test_without_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "shtab" else name)
    assert cli.main(["completion", "bash"]) == 1
    assert "pip install 'pyspark-pykafka[cli]'" in capsys.readouterr().err
