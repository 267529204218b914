"""The command `pykafka completion`."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Mapping
from typing import Final

from kafka_spark_source.cli import console
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.parsers.arguments import TOPICS_FUNCTION
from kafka_spark_source.cli.parsers.program import program

# The command itself is asked, with the options of the line that say how to connect.
_TOPICS: Final[Mapping[str, str]] = {
    "bash": f"""\
{TOPICS_FUNCTION}() {{
  local words at given=()
  read -ra words <<< "$COMP_LINE"
  for (( at = 1; at < ${{#words[@]}}; at++ )); do
    case "${{words[at]}}" in
      -b|-X|--bootstrap-servers|--properties|--context)
        given+=("${{words[at]}}" "${{words[at + 1]}}") ;;
      --bootstrap-servers=*|--properties=*|--context=*) given+=("${{words[at]}}") ;;
    esac
  done
  local names="$("${{words[0]}}" topics list --names --timeout 3 "${{given[@]}}" 2>/dev/null)"
  compgen -W "$names" -- "$1"
}}""",
    "zsh": f"""\
{TOPICS_FUNCTION}() {{
  local -a given names
  local at
  for (( at = 1; at <= $#words; at++ )); do
    case "$words[at]" in
      -b|-X|--bootstrap-servers|--properties|--context) given+=("$words[at]" "$words[at+1]") ;;
      --bootstrap-servers=*|--properties=*|--context=*) given+=("$words[at]") ;;
    esac
  done
  names=(${{(f)"$(pykafka topics list --names --timeout 3 $given 2>/dev/null)"}})
  compadd -a names
}}""",
}


def _run(arguments: argparse.Namespace) -> int:
    if importlib.util.find_spec("shtab") is None:
        console.print_error("shtab is missing: pip install 'pyspark-pykafka[cli]'")
        return ERROR
    import shtab  # noqa: PLC0415 - of an extra

    script = shtab.complete(program(), arguments.shell, preamble=_TOPICS[arguments.shell])
    console.print_text(script.rstrip("\n"))
    return SUCCESS


COMMANDS: Final[Mapping[str, Run]] = {"completion": _run}
