"""The command `pykafka completion`: the script of shtab, and functions that shtab lacks."""

from __future__ import annotations

import argparse
import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Final

from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.parsers.arguments import CONTEXTS_FUNCTION, TOPICS_FUNCTION
from kafka_spark_source.cli.parsers.program import program
from kafka_spark_source.cli.terminal import console

# The command itself is asked, for topics with the options of the line that say how to connect.
# Brokers, which may be hostile, send the names of topics. They are only compared, never expanded
# (`compgen -W` expands its words as a shell does), and a name that a shell could take for anything
# else is not offered: bash puts it into the line as it is.
_NAMES: Final[Mapping[str, str]] = {
    "bash": f"""\
_pykafka_plain() {{
  local name
  while IFS= read -r name; do
    [[ "$name" =~ ^[[:alnum:]._-]+$ && "$name" == "$1"* ]] && printf '%s\\n' "$name"
  done
}}
{TOPICS_FUNCTION}() {{
  local at given=()
  for (( at = 1; at < ${{#COMP_WORDS[@]}}; at++ )); do
    case "${{COMP_WORDS[at]}}" in
      -b|-X|--bootstrap-servers|--properties|--context)
        given+=("${{COMP_WORDS[at]}}" "${{COMP_WORDS[at + 1]}}") ;;
    esac
  done
  "${{COMP_WORDS[0]}}" topics list --names --timeout 3 "${{given[@]}}" 2>/dev/null |
    _pykafka_plain "$1"
}}
{CONTEXTS_FUNCTION}() {{
  "${{COMP_WORDS[0]}}" context list --names 2>/dev/null | _pykafka_plain "$1"
}}""",
    "zsh": f"""\
_pykafka_plain() {{
  local name
  local -a names
  while IFS= read -r name; do
    [[ "$name" =~ '^[[:alnum:]._-]+$' ]] && names+=("$name")
  done
  compadd -a names
}}
{TOPICS_FUNCTION}() {{
  local -a given
  local at
  for (( at = 1; at <= $#words; at++ )); do
    case "$words[at]" in
      -b|-X|--bootstrap-servers|--properties|--context)
        given+=("$words[at]" "${{(Q)words[at+1]}}") ;;
      --bootstrap-servers=*|--properties=*|--context=*)
        given+=("${{(Q)words[at]}}") ;;
    esac
  done
  _pykafka_plain < <(pykafka topics list --names --timeout 3 $given 2>/dev/null)
}}
{CONTEXTS_FUNCTION}() {{
  _pykafka_plain < <(pykafka context list --names 2>/dev/null)
}}""",
    "fish": f"""\
function _pykafka_plain
  while read --local name
    string match --regex '^[[:alnum:]._-]+$' -- $name
  end
end
function {TOPICS_FUNCTION}
  set -l given
  set -l words (commandline -opc)
  for at in (seq 2 (count $words))
    switch $words[$at]
      case -b -X --bootstrap-servers --properties --context
        set -a given $words[$at] $words[(math $at + 1)]
      case '--bootstrap-servers=*' '--properties=*' '--context=*'
        set -a given $words[$at]
    end
  end
  pykafka topics list --names --timeout 3 $given 2>/dev/null | _pykafka_plain
end
function {CONTEXTS_FUNCTION}
  pykafka context list --names 2>/dev/null | _pykafka_plain
end""",
}

# Bash breaks words at colons and equals signs, too, and leaves quotes in them: HOST:PORT would be
# three arguments. xargs splits as a shell does, and runs nothing that is in the line.
_BASH_WORDS: Final = """
_pykafka() {
  local line="${COMP_LINE:0:COMP_POINT}" word words=()
  while IFS= read -r word; do
    case "$word" in
      --*=*) words+=("${word%%=*}" "${word#*=}") ;;
      *) words+=("$word") ;;
    esac
  done < <(xargs printf '%s\\n' <<< "$line" 2>/dev/null)
  [[ "$line" == *[[:space:]] ]] && words+=("")
  local COMP_WORDS=("${words[@]}") COMP_CWORD=$(( ${#words[@]} - 1 ))
  _shtab_pykafka
}
complete -o bashdefault -F _pykafka pykafka"""


def _run(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("shtab") is None:
        console.print_error("shtab is missing: pip install 'pyspark-pykafka[cli]'")
        return ERROR
    import shtab  # noqa: PLC0415 - of an extra

    shell = arguments.shell
    parser = program()
    if shell == "zsh":
        _escape_metavars(parser)
    script = shtab.complete(parser, shell, preamble=_NAMES[shell]).rstrip("\n")
    console.print_text(_ENDS.get(shell, str)(script))
    return SUCCESS


def _escape_metavars(parser: argparse.ArgumentParser) -> None:
    """Escape colons in metavars such as HOST:PORT: zsh would take them for the end of the name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _escape_metavars(command)
        elif isinstance(action.metavar, str):
            action.metavar = action.metavar.replace(":", r"\:")


def _with_equals(script: str) -> str:
    """A zsh script that also accepts an equals sign between an option and its value."""
    with_value = r'^(  (?:"\*?|\{-\w,)--[\w-]+)(?=\}?"?\[.*\]:)'
    return re.sub(with_value, r"\1=", script, flags=re.MULTILINE)


# What scripts of shtab lack.
_ENDS: Final[Mapping[str, Callable[[str], str]]] = {
    "bash": lambda script: f"{script}\n{_BASH_WORDS}",
    "zsh": _with_equals,
}

COMMANDS: Final[Mapping[str, Run]] = {"completion": _run}
