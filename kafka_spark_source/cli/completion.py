"""The command `pykafka completion`: the script of shtab, and functions that shtab lacks."""

from __future__ import annotations

import argparse
import importlib.util
import re
from collections.abc import Mapping
from typing import Final

from kafka_spark_source.cli import console
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.parsers.arguments import CONTEXTS_FUNCTION, TOPICS_FUNCTION
from kafka_spark_source.cli.parsers.program import program

# The command itself is asked, for topics with the options of the line that say how to connect.
_NAMES: Final[Mapping[str, str]] = {
    "bash": f"""\
{TOPICS_FUNCTION}() {{
  local at given=()
  for (( at = 1; at < ${{#COMP_WORDS[@]}}; at++ )); do
    case "${{COMP_WORDS[at]}}" in
      -b|-X|--bootstrap-servers|--properties|--context)
        given+=("${{COMP_WORDS[at]}}" "${{COMP_WORDS[at + 1]}}") ;;
    esac
  done
  local names="$("${{COMP_WORDS[0]}}" topics list --names --timeout 3 "${{given[@]}}" 2>/dev/null)"
  compgen -W "$names" -- "$1"
}}
{CONTEXTS_FUNCTION}() {{
  compgen -W "$("${{COMP_WORDS[0]}}" context list --names 2>/dev/null)" -- "$1"
}}""",
    "zsh": f"""\
{TOPICS_FUNCTION}() {{
  local -a given names
  local at
  for (( at = 1; at <= $#words; at++ )); do
    case "$words[at]" in
      -b|-X|--bootstrap-servers|--properties|--context)
        given+=("$words[at]" "${{(Q)words[at+1]}}") ;;
      --bootstrap-servers=*|--properties=*|--context=*)
        given+=("${{(Q)words[at]}}") ;;
    esac
  done
  names=(${{(f)"$(pykafka topics list --names --timeout 3 $given 2>/dev/null)"}})
  compadd -a names
}}
{CONTEXTS_FUNCTION}() {{
  local -a names=(${{(f)"$(pykafka context list --names 2>/dev/null)"}})
  compadd -a names
}}""",
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
    console.print_text(f"{script}\n{_BASH_WORDS}" if shell == "bash" else _with_equals(script))
    return SUCCESS


def _escape_metavars(parser: argparse.ArgumentParser) -> None:
    """HOST:PORT is one value, but zsh takes a colon for the end of its name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _escape_metavars(command)
        elif isinstance(action.metavar, str):
            action.metavar = action.metavar.replace(":", r"\:")


def _with_equals(script: str) -> str:
    """Options that have a value may have it behind an equals sign, which zsh must be told."""
    with_value = r'^(  (?:"\*?|\{-\w,)--[\w-]+)(?=\}?"?\[.*\]:)'
    return re.sub(with_value, r"\1=", script, flags=re.MULTILINE)


COMMANDS: Final[Mapping[str, Run]] = {"completion": _run}
