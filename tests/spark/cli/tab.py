"""A real shell on a terminal, in which TAB is pressed behind some words."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_spark_source.testing.processes.waiting import Deadline

_SECONDS: Final = 60
_KILL_LINE: Final = "\x15"
# What the command would print, and which arguments it got, one in a line.
_COMMAND: Final = """
pykafka() {
  printf '%s\\n' "$@" >> asked
  cat $1
}
"""
_FISH_COMMAND: Final = """
function pykafka
  printf '%s\\n' $argv >> asked
  command cat $argv[1]
end
"""
NAMES: Final[Mapping[str, Sequence[str]]] = {
    "topics": ("orders", "payments", "orders-copy"),
    "context": ("prod", "staging"),
}
# The matches go into the file `found`.
_BASH: Final = """
PS1=
source ./script
tell() {
  _pykafka "$@"
  printf '%s\\n' "${COMPREPLY[@]}" > new
  mv new found
}
eval "$(complete -p pykafka | sed 's/-F [^ ]*/-F tell/')"
"""
_ZSH: Final = """
PROMPT=
bindkey -e
setopt no_auto_list no_auto_menu no_beep
mkdir functions
cp script functions/_pykafka
fpath=($PWD/functions $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {
  local -a matches
  if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
    builtin compadd -O matches "$@"
    found+=("${matches[@]}")
  fi
  builtin compadd "$@"
}
tell() {
  typeset -ga found=()
  zle complete-word
  print -rl -- $found > new
  command mv new found
}
zle -N tell
bindkey '^I' tell
"""
_FISH: Final = """
function fish_prompt; end
source ./script
function tell
  complete -C (commandline -cp) | string split --fields 1 \\t | string trim --right --chars / > new
  command mv new found
end
bind \\t tell
"""
_STARTS: Final[Mapping[str, tuple[list[str], str]]] = {
    "bash": (["bash", "--noprofile", "--norc", "-i"], _COMMAND + _BASH),
    "zsh": (["zsh", "-f", "-i"], _COMMAND + _ZSH),
    "fish": (["fish", "--no-config", "-i"], _FISH_COMMAND + _FISH),
}


class Tab:
    """A shell that runs in a folder, with a command `pykafka` that only notes its arguments."""

    def __init__(self, folder: Path, terminal: int) -> None:
        self._folder = folder
        self._terminal = terminal

    def completions(self, line: str) -> list[str]:
        """The words that the shell finds for the last word of a line."""
        found = self._folder / "found"
        self.write(f"{line}\t")
        assert Deadline(_SECONDS).wait_for(lambda: self._drain() and found.exists()), line
        words = found.read_text().split()
        found.unlink()
        self.write(_KILL_LINE)
        return words

    def asked(self) -> list[str]:
        """The arguments of all calls of the command since the last time."""
        file = self._folder / "asked"
        words = file.read_text().splitlines()
        file.unlink()
        return words

    def write(self, text: str) -> None:
        """Press keys."""
        os.write(self._terminal, text.encode())

    def _drain(self) -> bool:
        """Read what the shell shows: otherwise it would wait."""
        while select.select([self._terminal], [], [], 0)[0]:
            os.read(self._terminal, 65_536)
        return True


@contextmanager
def shell_with_tab(name: str, script: str, folder: Path) -> Iterator[Tab]:
    """A shell with a script of `pykafka completion`, in an empty folder."""
    command, settings = _STARTS[name]
    (folder / "script").write_text(script)
    for command_word, names in NAMES.items():
        (folder / command_word).write_text("".join(f"{name}\n" for name in names))
    (folder / "settings").write_text(settings)
    terminal, end = pty.openpty()
    environment = {"PATH": os.environ["PATH"], "TERM": "vt100", "HOME": str(folder)}
    try:
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=end,
            stdout=end,
            stderr=end,
            start_new_session=True,
            # Fish needs a terminal that is its own.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        ) as shell:
            try:
                tab = Tab(folder, terminal)
                tab.write(f"source {shlex.quote(str(folder / 'settings'))}\n")
                yield tab
            finally:
                shell.kill()
    finally:
        os.close(terminal)
        os.close(end)
