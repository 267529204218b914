"""Sessions in pages, and the terminal that runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.terminal import ENVIRONMENT, Terminal
from tests.transcripts import Command, commands_in, with_outputs

PAGE = """\
Text.

```
$ pykafka one \\
    --more
1
2

$ pykafka two
```

```python
print()
```
"""


def test_commands_have_their_outputs() -> None:
    assert commands_in(PAGE) == [
        Command("pykafka one \\\n    --more", "1\n2\n"),
        Command("pykafka two", ""),
    ]


def test_outputs_are_replaced() -> None:
    changed = with_outputs(PAGE, ["3\n", "4\n"])
    assert [each.output for each in commands_in(changed)] == ["3\n", "4\n"]
    assert changed.replace("3\n", "1\n2\n").replace("4\n", "") == PAGE


@pytest.mark.parametrize(
    "block",
    ["```\npykafka one\n```\n", "```\nout\n$ pykafka one\n```\n", "```sh\n$ pykafka\n```\n"],
)
def test_a_block_that_nothing_would_run(block: str) -> None:
    with pytest.raises(ValueError, match="neither a session nor"):
        commands_in(f"{PAGE}\n{block}")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name, value in {**ENVIRONMENT, "XDG_CONFIG_HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return Terminal({"/home": str(tmp_path)})


def test_names_are_those_of_the_page(terminal: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "pykafka" / "default.properties"
    file.parent.mkdir()
    file.write_text("bootstrap.servers=a:1\n")
    shown = terminal.run("pykafka context show -o json")
    assert '"file": "/home/pykafka/default.properties"' in shown
    # The lines are broken where those of the long path are.
    assert "/home is not a checkpoint" in " ".join(
        terminal.run("pykafka checkpoint show /home").split()
    )


def test_files_and_pipes(terminal: Terminal, tmp_path: Path) -> None:
    assert terminal.run("pykafka dashboard --alerts > rules  # a comment") == ""
    assert '"groups"' in (tmp_path / "rules").read_text()
    assert terminal.run("pykafka dashboard | cat").startswith("{")


def test_a_wrong_command_line(terminal: Terminal) -> None:
    assert "'lagg' is not a command: did you mean 'lag'?" in terminal.run("pykafka lagg")
