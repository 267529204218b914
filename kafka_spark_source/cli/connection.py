"""How commands connect: `-b`, `-X`, a file of properties, a context, or the environment.

Options have Kafka's names, as in `client.properties` of Kafka's own tools; "kafka." before them may
stay, so that options of a Spark program can be pasted. The options of formats of such a program may
be in a file, too: `peek` and `write` use them. Values are never printed.
"""

from __future__ import annotations

import os
import re
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_formats.options.envelope import ENVELOPE_OPTIONS
from kafka_formats.options.table import PAYLOAD_OPTIONS, REGISTRY_PREFIX
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.cluster.cluster import Cluster
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.errors import BrokerConnectionError, KafkaConfigError, KafkaTimeoutError
from kafka_spark_source.cli.parsers.connection import (
    CONTEXT_VARIABLE,
    DEFAULT_CONTEXT,
    SERVERS_VARIABLE,
    SHOWN_FOLDER,
)
from kafka_spark_source.testing import state

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence

SERVERS: Final = "bootstrap.servers"
_PREFIX: Final = "kafka."
_SUFFIX: Final = ".properties"
_DEFAULTS: Final = {"client.id": "pykafka-cli"}
FORMAT_OPTIONS: Final = frozenset(row.key for row in (*PAYLOAD_OPTIONS, *ENVELOPE_OPTIONS))
# A name, and after "=", ":" or white space the value (java.util.Properties).
_PROPERTY: Final = re.compile(r"((?:\\.|[^\s=:\\])+)\s*[=:\s]?\s*(.*)")


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator[tuple[Cluster, Deadline]]:
    """A client as the arguments say, and when the command must have ended.

    Raises:
        KafkaConfigError: An option is unknown or missing, or cannot be used.
        KafkaError: No broker can be reached, each tried once. Says where their addresses are from,
            if they are not in the arguments.
        OSError: A file cannot be read.
    """
    layers = _layers(arguments)
    config = ClientConfig.from_options(_merged(layers))
    with closing(Cluster(config)) as cluster:
        deadline = Deadline.after(arguments.timeout * 1000)
        # A job waits for brokers that are down; a person wants to know.
        try:
            cluster.with_any_broker(lambda _broker, _setup: None, deadline)
        except (BrokerConnectionError, KafkaTimeoutError) as error:
            raise type(error)(f"{error}{_source_of_servers(layers)}") from error
        yield cluster, deadline


def options_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The client's options: an option on the command line replaces one in a file.

    Raises:
        KafkaConfigError: There are no bootstrap servers, or a file is not a list of properties.
        OSError: A file cannot be read.
    """
    return _merged(_layers(arguments))


class _Layer(NamedTuple):
    """Options of the client from one place. `source` is empty for the command line."""

    source: str
    options: Mapping[str, str]


def _layers(arguments: argparse.Namespace) -> list[_Layer]:
    """The options of the client, place by place: a later one replaces those before."""
    servers = os.environ.get(SERVERS_VARIABLE)
    of_job = getattr(arguments, "format_options", ())
    given = [each for each in of_job if each[0].startswith(_PREFIX)] + arguments.kafka_options
    named = arguments.bootstrap_servers
    return [
        _Layer("", _DEFAULTS),
        _Layer(f"${SERVERS_VARIABLE}", {SERVERS: servers} if servers else {}),
        *(
            _Layer(str(file), {n: v for n, v in options.items() if not _is_of_formats(n)})
            for file, options in _of_files(arguments).items()
        ),
        _Layer("", _without_prefix(dict(given))),
        _Layer("", {SERVERS: named} if named else {}),
    ]


def _merged(layers: Sequence[_Layer]) -> dict[str, str]:
    options = {name: value for each in layers for name, value in each.options.items()}
    if SERVERS not in options:
        raise KafkaConfigError(
            "The brokers are missing: give -b HOST:PORT, --properties FILE, set "
            f"{SERVERS_VARIABLE}, or write {SERVERS}=HOST:PORT into "
            f"{SHOWN_FOLDER}/{DEFAULT_CONTEXT}.properties."
        )
    return options


def _source_of_servers(layers: Sequence[_Layer]) -> str:
    """Where the addresses of the brokers are from; empty if that is the command line."""
    source = [each.source for each in layers if SERVERS in each.options][-1]
    return f"\n{SERVERS} is from {source}." if source else ""


def formats_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The options of formats: an option on the command line replaces one in a file.

    Raises:
        KafkaConfigError: A file is not a list of properties.
        OSError: A file cannot be read.
    """
    files = _of_files(arguments).values()
    options = {n: v for each in files for n, v in each.items() if _is_of_formats(n)}
    given = {n: v for n, v in arguments.format_options if not n.startswith(_PREFIX)}
    lower = {name.lower() for name in given}
    return {name: value for name, value in options.items() if name.lower() not in lower} | given


def _of_files(arguments: argparse.Namespace) -> dict[Path, dict[str, str]]:
    """The options in the file of the context, and in the file of properties, in this order."""
    files = (_context_file(arguments.context), arguments.properties)
    return {file: read_properties(file) for file in files if file is not None}


def _is_of_formats(name: str) -> bool:
    """Whether an option of a file is about formats: clients do not know it."""
    return name.lower() in FORMAT_OPTIONS or name.lower().startswith(REGISTRY_PREFIX)


def read_properties(file: Path) -> dict[str, str]:
    """The options in a file of properties.

    Raises:
        KafkaConfigError: A line is not a property, or the file is not text. Shows no value.
        OSError: The file cannot be read.
    """
    options = {}
    try:
        whole = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise KafkaConfigError(f"{file} is not UTF-8.") from None
    text = re.sub(r"\\\r?\n[ \t]*", "", whole)
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


def contexts() -> dict[str, Path]:
    """All contexts: name -> the file of its options.

    A broker that `pykafka broker start` started is a context, too, while it runs; a file of the
    user's with its name goes before it.
    """
    brokers = {each.name: each.properties for each in _running_brokers()}
    return dict(sorted((brokers | {each.stem: each for each in _files()}).items()))


def context_in_use() -> str:
    """The name of the context that is used if none is given; there may be none of that name."""
    return os.environ.get(CONTEXT_VARIABLE) or DEFAULT_CONTEXT


def _context_file(name: str | None) -> Path | None:
    """The file of a context; None if no context is named and the default one has no file."""
    chosen = name or os.environ.get(CONTEXT_VARIABLE)
    file = _folder() / f"{chosen or DEFAULT_CONTEXT}{_SUFFIX}"
    if not chosen or file.is_file():
        return file if file.is_file() else None
    running = (each.properties for each in _running_brokers() if each.name == chosen)
    return next(running, file)


def _running_brokers() -> list[state.RunningServer]:
    return [each for each in state.running() if each.kind is state.Kind.BROKER]


def _files() -> list[Path]:
    return [each for each in _folder().glob(f"*{_SUFFIX}") if each.is_file()]


def _folder() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "pykafka"
