"""The commands `pykafka context list | show`: which contexts there are. Secrets are never shown."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kafka_formats.options.table import REGISTRY_PREFIX
from kafka_protocol.errors import KafkaConfigError, KafkaError
from kafka_protocol.options.nearest_name import did_you_mean
from kafka_spark_source.cli.connection import (
    FORMAT_OPTIONS,
    SERVERS,
    context_in_use,
    contexts,
    options_in,
)
from kafka_spark_source.cli.exit_codes import INCOMPLETE, SUCCESS, Run
from kafka_spark_source.cli.parsers.connection import (
    CONTEXT_VARIABLE,
    DEFAULT_CONTEXT,
    SHOWN_FOLDER,
)
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import Show, print_json, print_rows
from kafka_spark_source.tools.masking import masked

_REGISTRY_URL: Final = f"{REGISTRY_PREFIX}url"
_CONTEXTS: Final[Mapping[str, Show]] = {
    "context": str,
    "in_use": lambda is_used: "yes" if is_used else "no",
    "bootstrap_servers": str,
    "file": str,
}
_OPTIONS: Final[Mapping[str, Show]] = {"option": str, "value": str}


def _list(arguments: argparse.Namespace) -> int:
    if arguments.names:
        console.print_lines(contexts())
        return SUCCESS
    rows = [_row(name, file) for name, file in contexts().items()]
    print_rows(arguments, rows, _CONTEXTS)
    broken = [row for row in rows if row["error"] is not None]
    for row in broken:
        console.print_error(f"the context {row['context']} cannot be read: {row['error']}")
    if not rows:
        console.print_error(
            f"there is no context: write KEY=VALUE lines into {SHOWN_FOLDER}/NAME.properties"
        )
    return INCOMPLETE if broken else SUCCESS


def _row(name: str, file: Path) -> dict[str, Any]:
    servers = error = None
    try:
        servers = options_in(file).get(SERVERS)
    except (KafkaError, OSError) as failure:
        error = str(failure)
    return {
        "context": name,
        "in_use": name == context_in_use(),
        "bootstrap_servers": servers,
        "file": str(file),
        "error": error,
    }


def _show(arguments: argparse.Namespace) -> int:
    known = contexts()
    name = arguments.name or context_in_use()
    if name not in known:
        raise KafkaConfigError(_unknown(arguments.name, name, known))
    options = _without_secrets(options_in(known[name]))
    if arguments.output == "json":
        print_json({"context": name, "file": str(known[name]), "options": options})
        return SUCCESS
    console.print_sentences(f"{name}: {known[name]}")
    print_rows(arguments, [{"option": k, "value": v} for k, v in options.items()], _OPTIONS)
    return SUCCESS


def _unknown(given: str | None, name: str, known: Mapping[str, Path]) -> str:
    listed = f"there are {', '.join(known)}" if known else f"there is none in {SHOWN_FOLDER}"
    if given is None and name == DEFAULT_CONTEXT:
        return (
            f"No context is in use: name one, set {CONTEXT_VARIABLE}, or write "
            f"{SHOWN_FOLDER}/{DEFAULT_CONTEXT}.properties; {listed}."
        )
    meant = did_you_mean(name, {each: each for each in known}, otherwise=f"{listed}.")
    return f"There is no context {name!r}: {meant}"


def _without_secrets(options: Mapping[str, str]) -> dict[str, str]:
    """The options by name, with the values that cannot be secret."""
    shown = {name: value for name, value in options.items() if _is_shown(name.lower(), value)}
    return {name: shown.get(name, value) for name, value in masked(options).items()}


def _is_shown(name: str, value: str) -> bool:
    """Whether it is an option of formats, other than of the registry's client.

    The registry's address is one, if it cannot have a name and a password.
    """
    is_address = name == _REGISTRY_URL and not {"@", "?"}.intersection(value)
    return name in FORMAT_OPTIONS or is_address


COMMANDS: Final[Mapping[str, Run]] = {"list": _list, "show": _show}
