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
from kafka_protocol.options.properties_file import parse_properties
from kafka_spark_source.cli.parsers.connection import (
    CONTEXT_VARIABLE,
    DEFAULT_CONTEXT,
    SERVERS_VARIABLE,
    SHOWN_FOLDER,
)
from kafka_spark_source.cli.terminal.console import status_line
from kafka_spark_source.cli.terminal.waits import shown_waits
from kafka_spark_source.testing.processes import state

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

SERVERS: Final = "bootstrap.servers"
_PREFIX: Final = "kafka."
_SUFFIX: Final = ".properties"
_DEFAULTS: Final = {"client.id": "pykafka-cli"}
# Where an error need not say that a value is from.
_COMMAND_LINE: Final = frozenset({"-O", "-X", "-b"})
_HALF: Final = re.compile("[\ud800-\udfff]")
FORMAT_OPTIONS: Final = frozenset(row.key for row in (*PAYLOAD_OPTIONS, *ENVELOPE_OPTIONS))


@contextmanager
def connected(arguments: argparse.Namespace) -> Iterator[tuple[Cluster, Deadline]]:
    """A client as the arguments say, and when the command must have ended.

    A terminal shows which broker the block waits for.

    Raises:
        KafkaConfigError: An option is unknown or missing, or cannot be used.
        KafkaError: No broker can be reached, each tried once. Says where their addresses are from,
            if they are not in the arguments.
        OSError: A file cannot be read.
    """
    options, source = options_of(arguments)
    config = ClientConfig.from_options(options)
    with shown_waits(status_line), closing(Cluster(config)) as cluster:
        deadline = Deadline.after(arguments.timeout * 1000)
        # A job waits for brokers that are down; a person wants to know.
        try:
            cluster.with_any_broker(lambda _broker, _setup: None, deadline)
        except (BrokerConnectionError, KafkaTimeoutError) as error:
            place = "" if source in _COMMAND_LINE else f"\n{SERVERS} is from {source}."
            raise type(error)(f"{error}{place}") from error
        yield cluster, deadline


class ClientOptions(NamedTuple):
    """The options of the client, and where the addresses of the brokers are from."""

    by_name: Mapping[str, str]
    source_of_servers: str


def options_of(arguments: argparse.Namespace) -> ClientOptions:
    """The client's options: an option on the command line replaces one in a file.

    Raises:
        KafkaConfigError: There are no bootstrap servers, or a file is not a list of properties.
        OSError: A file cannot be read.
    """
    layers = _layers(arguments)
    sources = [each.source for each in layers if SERVERS in each.options]
    if not sources:
        raise KafkaConfigError(
            "The brokers are missing: give -b HOST:PORT, --properties FILE, set "
            f"{SERVERS_VARIABLE}, or write {SERVERS}=HOST:PORT into "
            f"{SHOWN_FOLDER}/{DEFAULT_CONTEXT}.properties."
        )
    options = {name: value for each in layers for name, value in each.options.items()}
    return ClientOptions(options, sources[-1])


class _Layer(NamedTuple):
    """Options of the client from one place."""

    source: str
    options: Mapping[str, str]


def _layers(arguments: argparse.Namespace) -> list[_Layer]:
    """The options of the client, place by place: a later place replaces options of earlier ones."""
    servers = os.environ.get(SERVERS_VARIABLE)
    of_job = getattr(arguments, "format_options", ())
    named = arguments.bootstrap_servers
    return [
        _Layer("the defaults", _DEFAULTS),
        _Layer(f"${SERVERS_VARIABLE}", {SERVERS: servers} if servers else {}),
        *(
            _Layer(source, {n: v for n, v in options.items() if not _is_of_formats(n)})
            for source, options in _of_files(arguments).items()
        ),
        _Layer("-O", _without_prefix({n: v for n, v in of_job if n.startswith(_PREFIX)})),
        _Layer("-X", _without_prefix(dict(arguments.kafka_options))),
        _Layer("-b", {SERVERS: named} if named else {}),
    ]


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


def _of_files(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    """The options of the context, and of the file of properties, in this order, by source."""
    files = {
        f"the context {arguments.context or context_in_use()}": _context_file(arguments.context),
        "--properties": arguments.properties,
    }
    return {
        f"{source} ({file})": options_in(file) for source, file in files.items() if file is not None
    }


def options_in(file: Path) -> dict[str, str]:
    """The options in a file of properties.

    Raises:
        KafkaConfigError: As from `read_properties`, or Java would read it, but no option is such.
        OSError: The file cannot be read.
    """
    options = read_properties(file)
    if "" in options:
        raise KafkaConfigError(f"{file} has a value without a name: write KEY=VALUE.")
    for name, value in options.items():
        if _HALF.search(name + value):
            raise KafkaConfigError(
                f"{name!a} in {file} has one half of a character (\\uD800 to \\uDFFF): write both."
            )
    return options


def _is_of_formats(name: str) -> bool:
    """Whether an option of a file is about formats: clients do not know it."""
    return name.lower() in FORMAT_OPTIONS or name.lower().startswith(REGISTRY_PREFIX)


def read_properties(file: Path) -> dict[str, str]:
    r"""The properties in a file, as `java.util.Properties` reads its text.

    The text is UTF-8, where Kafka's own tools take ISO-8859-1: characters outside ASCII
    mean the same to both if they are written as `\uXXXX`.

    Raises:
        KafkaConfigError: An escape is malformed, or the file is not text. Shows no value.
        OSError: The file cannot be read.
    """
    try:
        return _without_prefix(parse_properties(file.read_bytes().decode("utf-8")))
    except UnicodeDecodeError:
        raise KafkaConfigError(
            f"{file} is not UTF-8: write characters outside of ASCII as \\uXXXX."
        ) from None
    except KafkaConfigError as error:
        raise KafkaConfigError(f"{file}: {error}.") from None


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
    """The name of the context that is used without --context. It may not exist."""
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
