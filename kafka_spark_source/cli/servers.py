"""Start, status and stop of a server, for the commands of brokers and of registries."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kafka_spark_source.cli.exit_codes import NOTHING_RUNS, SUCCESS
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.cli.terminal.output import print_rows
from kafka_spark_source.testing.errors import LocalBrokerError
from kafka_spark_source.testing.processes import state

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    from kafka_spark_source.cli.terminal.output import Show
    from kafka_spark_source.testing.processes.state import Facts, Kind, RunningServer

_WATCH_SECONDS = 0.5


class Server(Protocol):
    """A server that a command starts."""

    def start(self) -> None:
        """Starts it and waits until it is ready."""

    def stop(self) -> None:
        """Ends it, if it is not detached."""

    def detach(self) -> None:
        """Keeps it running after this process."""

    def check(self) -> None:
        """Raises the error of a process that ended unexpectedly."""


S = TypeVar("S", bound=Server)


def start(
    options: argparse.Namespace,
    make: Callable[[Callable[[str], None]], S],
    facts_of: Callable[[S], Facts],
    show: Callable[[S, RunningServer], None],
) -> int:
    """Starts a server; leaves it running, or with `--foreground` waits for a signal.

    Args:
        options: The arguments of `add_common_arguments`.
        make: Makes the server that `start` starts, from a function that shows progress.
        facts_of: Returns the facts to remember about a started server.
        show: Prints its properties.
    """
    if options.name is not None:
        state.require_free_name(options.name)
    with console.progress(quiet=options.quiet) as on_progress:
        try:
            server = make(on_progress)
        except LocalBrokerError as error:
            options.usage_error(str(error))
        server.start()
    try:
        stop_event = _stop_on_signal() if options.foreground else None
        record = state.remember(facts_of(server), options.name)
        try:
            try:
                if options.quiet:
                    console.print_text(record.address)
                else:
                    show(server, record)
            finally:
                # Also if the reader of the output has gone: the server has started.
                if stop_event is None:
                    server.detach()
            if stop_event is None:
                return SUCCESS
            while not stop_event.wait(_WATCH_SECONDS):
                server.check()
        finally:
            if stop_event is not None:
                state.forget(record)
    finally:
        server.stop()
    return SUCCESS


def status(
    kind: Kind,
    options: argparse.Namespace,
    row: Callable[[RunningServer], dict[str, Any]],
    columns: Mapping[str, Show],
) -> int:
    """Shows the running servers of a kind."""
    records = _running(kind)
    if records or options.output == "json":
        print_rows(options, map(row, records), columns)
    else:
        console.print_sentences(f"no {kind.value} is running")
    return SUCCESS if records else NOTHING_RUNS


def stop(kind: Kind, options: argparse.Namespace) -> int:
    """Stops one server of a kind, or all, and waits until they have ended."""
    records = _running(kind)
    if options.name is not None:
        records = [record for record in records if record.name == options.name]
        if not records:
            raise LocalBrokerError(f"no {kind.value} called {options.name} is running")
    elif len(records) > 1 and not options.all:
        names = ", ".join(record.name for record in records)
        raise LocalBrokerError(
            f"more than one {kind.value} is running: name one ({names}), or --all"
        )
    for record in records:
        state.stop(record)
        console.print_sentences(f"stopped {record.name}")
    if not records:
        console.print_sentences(f"no {kind.value} is running")
    return SUCCESS


def _running(kind: Kind) -> list[RunningServer]:
    return [record for record in state.running() if record.kind is kind]


def _stop_on_signal() -> threading.Event:
    """An event that Ctrl-C and SIGTERM set; they have no other effect then."""
    event = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: event.set())
    return event
