"""The command `pykafka write`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from kafka_protocol.errors import KafkaError
from kafka_spark_source.cli.connection import connected, formats_of
from kafka_spark_source.cli.exit_codes import ERROR, SUCCESS, Run
from kafka_spark_source.cli.terminal import console
from kafka_spark_source.tools.records.encoding import Encoding, encoding_for
from kafka_spark_source.tools.records.lines import BrokenLineError
from kafka_spark_source.tools.records.write import LineWriter, blocks_of, check_lines, check_topic

if TYPE_CHECKING:
    from io import BufferedReader


def _run(arguments: argparse.Namespace) -> int:
    topic, partition = arguments.topic, arguments.partition
    with _input(arguments) as stream, connected(arguments) as (cluster, deadline):
        check_topic(cluster, topic, partition, deadline)
        encoding = encoding_for(topic, formats_of(arguments))
        if stream.seekable():
            _check(stream, arguments.input, encoding)
        writer = LineWriter(cluster, topic, partition, encoding)
        try:
            for block in blocks_of(stream, arguments.input, encoding):
                writer.write(block)
        except KafkaError as error:
            console.print_error(f"{error}\n{_written_before(error, writer)}")
            return ERROR
        except KeyboardInterrupt as interrupt:
            raise KeyboardInterrupt(_written_before(interrupt, writer)) from None
    noun = "record was" if writer.records == 1 else "records were"
    console.print_sentences(f"{writer.records:,} {noun} written to {topic!r}")
    return SUCCESS


@contextmanager
def _input(arguments: argparse.Namespace) -> Iterator[BufferedReader]:
    if arguments.from_file is not None:
        with Path(arguments.from_file).open("rb") as file:
            yield file
        return
    if sys.stdin.isatty():
        console.print_error("each line is a record; Ctrl-D ends the input")
    yield cast("BufferedReader", sys.stdin.buffer)


def _check(stream: BufferedReader, form: str | None, encoding: Encoding) -> None:
    """Read all lines once before the first record is written, and go back."""
    start = stream.tell()
    try:
        check_lines(stream, form, encoding)
    except BrokenLineError as error:
        raise KafkaError(f"{error}\nNothing was written.") from error
    stream.seek(start)


def _written_before(error: BaseException, writer: LineWriter) -> str:
    """The lines that were written, and whether later lines may have been written."""
    last = writer.last_number
    if isinstance(error, BrokenLineError):
        return f"Lines 1 to {last} were written, no later ones." if last else "Nothing was written."
    if not last:
        return "Some lines may have been written."
    return f"Lines 1 to {last} were written. Later lines may have been written too."


COMMANDS: Final[Mapping[str, Run]] = {
    "write": _run,
}
