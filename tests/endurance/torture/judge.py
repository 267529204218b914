"""Runs one query, and judges what it gave; what it wrote is read by librdkafka afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from tests.endurance.torture.expected import as_written, dead_rows, difference, expected_rows
from tests.endurance.torture.promise import COMMITTED
from tests.endurance.torture.queries import Query
from tests.endurance.torture.rows import Row, Truth
from tests.endurance.torture.truth import read_rows
from tests.endurance.torture.ways.dead_letters import dead_letter_stream, dead_letters
from tests.endurance.torture.ways.debezium import debezium
from tests.endurance.torture.ways.for_each_batch import for_each_batch, table_of_stream
from tests.endurance.torture.ways.formats import formats
from tests.endurance.torture.ways.place import Place
from tests.endurance.torture.ways.sail import sail_read, sail_write
from tests.endurance.torture.ways.spark_batch import spark_batch
from tests.endurance.torture.ways.spark_stream import spark_stream
from tests.endurance.torture.ways.spark_write import exactly_once, spark_write, stream_write
from tests.endurance.torture.ways.threads import read_as_group, read_in_thread
from tests.endurance.torture.written import DEAD_LETTER, FORMATTED, Gave, Written, answer_of
from tests.truth.delivery import Difference

Way = Callable[[Place, Query], Gave]
WAYS: Final[Mapping[str, Way]] = {
    "spark batch": spark_batch,
    "upsert": spark_batch,
    "upsert stream": table_of_stream,
    "dead letters": dead_letters,
    "dead letter stream": dead_letter_stream,
    "debezium": debezium,
    "group": read_as_group,
    "spark stream": spark_stream,
    "foreachBatch": for_each_batch,
    "spark write": spark_write,
    "stream write": stream_write,
    "exactly once": exactly_once,
    "formats": formats,
    "threads": read_in_thread,
    "sail": sail_read,
    "sail write": sail_write,
}

# Rows become structs there, which have a part of the columns.
_ENCODED: Final = frozenset({"formats", "debezium"})


class Ran(NamedTuple):
    """A query that has ended; times are of `time.monotonic()`.

    Attributes:
        error: Why it failed; empty if it did not.
        written: What remains to be read.
    """

    query: Query
    began: float
    ended: float
    error: str = ""
    difference: Difference | None = None
    rows: int = 0
    written: Written | None = None


def run_query(place: Place, query: Query, truth: Truth, ways: Mapping[str, Way] = WAYS) -> Ran:
    """Runs a query, and compares what it read."""
    began = time.monotonic()
    try:
        place.activate()
        gave = ways[query.way](place, query)
    except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to the query
        text = f"{type(error).__name__}: {error}"
        return Ran(query, began, time.monotonic(), text)
    ended = time.monotonic()
    ran = Ran(query, began, ended, written=gave.written)
    if gave.answer is None:
        return ran
    found = difference(query, truth, _wanted(query, truth), gave.answer)
    return ran._replace(difference=found, rows=sum(map(len, gave.answer.groups)))


def _wanted(query: Query, truth: Truth) -> Sequence[Row]:
    rows = expected_rows(query, truth)
    return as_written(rows, FORMATTED) if query.way in _ENCODED else rows


def check_written(
    servers: str, ran: Ran, truth: Truth, read: Callable[..., dict[int, list[Row]]] = read_rows
) -> Ran:
    """Compares what a query wrote, unless it has failed or already differs."""
    written = ran.written
    if written is None or ran.error or ran.difference is not None:
        return ran
    starts = dict.fromkeys(range(written.partitions), 0)
    partitions = [*read(servers, written.topic, starts, COMMITTED).values()]
    answer = answer_of(written, partitions)
    columns = FORMATTED if ran.query.way in _ENCODED else ran.query.columns
    is_dead = written.payload == DEAD_LETTER
    rows = dead_rows(ran.query, truth) if is_dead else expected_rows(ran.query, truth)
    wanted = as_written(rows, columns)
    found = difference(ran.query, truth, wanted, answer)
    return ran._replace(difference=found, rows=max(ran.rows, sum(map(len, partitions))))
