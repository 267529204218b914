"""How commands connect: `-b`, `-X`, a file of properties, or a context of the user's.

Options have Kafka's names, as in `client.properties` of Kafka's own tools; "kafka." before them may
stay, so that options of a Spark program can be pasted. The options of formats of such a program may
be in a file, too: `peek` and `write` use them. Values are never printed.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_formats.options.envelope import ENVELOPE_OPTIONS
from kafka_formats.options.table import PAYLOAD_OPTIONS, REGISTRY_PREFIX
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.cli.parsers.connection import (
    CONTEXT_VARIABLE,
    DEFAULT_CONTEXT,
    SHOWN_FOLDER,
)
from kafka_spark_source.testing import state

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

_SERVERS: Final = "bootstrap.servers"
_PREFIX: Final = "kafka."
_DEFAULTS: Final = {"client.id": "pykafka-cli"}
_OF_FORMATS: Final = frozenset(row.key for row in (*PAYLOAD_OPTIONS, *ENVELOPE_OPTIONS))
# A name, and after "=", ":" or white space the value (java.util.Properties).
_PROPERTY: Final = re.compile(r"((?:\\.|[^\s=:\\])+)\s*[=:\s]?\s*(.*)")


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator[tuple[Cluster, Deadline]]:
    """A client as the arguments say, and when the command must have ended.

    Raises:
        KafkaConfigError: An option is unknown or missing, or cannot be used.
        KafkaError: No broker can be reached, each tried once.
        OSError: A file cannot be read.
    """
    config = ClientConfig.from_options(options_of(arguments))
    with closing(Cluster(config)) as cluster:
        deadline = Deadline.after(arguments.timeout * 1000)
        # A job waits for brokers that are down; a person wants to know.
        cluster.with_any_broker(lambda _broker, _setup: None, deadline)
        yield cluster, deadline


def options_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The client's options: an option on the command line replaces one in a file.

    Raises:
        KafkaConfigError: There are no bootstrap servers, or a file is not a list of properties.
        OSError: A file cannot be read.
    """
    in_files = {n: v for n, v in _of_files(arguments).items() if not _is_of_formats(n)}
    of_job = getattr(arguments, "format_options", ())
    given = [each for each in of_job if each[0].startswith(_PREFIX)] + arguments.kafka_options
    options = _DEFAULTS | in_files | _without_prefix(dict(given))
    if arguments.bootstrap_servers:
        options[_SERVERS] = arguments.bootstrap_servers
    if _SERVERS not in options:
        raise KafkaConfigError(
            "The brokers are missing: give -b HOST:PORT, --properties FILE, or write "
            f"{_SERVERS}=HOST:PORT into {SHOWN_FOLDER}/{DEFAULT_CONTEXT}.properties."
        )
    return options


def formats_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The options of formats: an option on the command line replaces one in a file.

    Raises:
        KafkaConfigError: A file is not a list of properties.
        OSError: A file cannot be read.
    """
    options = {n: v for n, v in _of_files(arguments).items() if _is_of_formats(n)}
    given = {n: v for n, v in arguments.format_options if not n.startswith(_PREFIX)}
    lower = {name.lower() for name in given}
    return {name: value for name, value in options.items() if name.lower() not in lower} | given


def _of_files(arguments: argparse.Namespace) -> dict[str, str]:
    """The options in the context, and in the file of properties."""
    options: dict[str, str] = {}
    for file in (_context_file(arguments.context), arguments.properties):
        if file is not None:
            options |= read_properties(file)
    return options


def _is_of_formats(name: str) -> bool:
    """Whether an option of a file is about formats: clients do not know it."""
    return name.lower() in _OF_FORMATS or name.lower().startswith(REGISTRY_PREFIX)


def read_properties(file: Path) -> dict[str, str]:
    """The options in a file of properties.

    Raises:
        KafkaConfigError: A line is not a property. Names its number only.
        OSError: The file cannot be read.
    """
    options = {}
    text = re.sub(r"\\\r?\n[ \t]*", "", file.read_text("utf-8"))
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped and stripped[0] not in "#!":
            match = _PROPERTY.fullmatch(stripped)
            if match is None:
                raise KafkaConfigError(f"Line {number} of {file} is not KEY=VALUE.")
            options[_unescaped(match[1])] = _unescaped(match[2])
    return _without_prefix(options)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _without_prefix(options: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(_PREFIX): value for name, value in options.items()}


def _context_file(name: str | None) -> Path | None:
    """The file of a context; None if no context is named and the default one has no file.

    A broker that `pykafka broker start` started is a context, too, while it runs.
    """
    chosen = name or os.environ.get(CONTEXT_VARIABLE)
    file = _folder() / f"{chosen or DEFAULT_CONTEXT}.properties"
    if chosen is None or file.is_file():
        return file if file.is_file() else None
    running = (each.properties for each in state.running() if each.name == chosen)
    return next(running, file)


def _folder() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "pykafka"
