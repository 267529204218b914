"""Batches on Sail: a read, and a write at least once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tests.endurance.torture.expected import Answer
from tests.endurance.torture.filters import sql_of
from tests.endurance.torture.queries import Query, read_options
from tests.endurance.torture.ways.place import WRITTEN_PARTITIONS, Place
from tests.endurance.torture.ways.spark_batch import schema_of
from tests.endurance.torture.ways.spark_write import sink_options
from tests.endurance.torture.ways.tables import rows_of
from tests.endurance.torture.written import Gave, Written


def _request(place: Place, query: Query) -> dict[str, Any]:
    return {
        "options": place.source | read_options(query),
        "schema": schema_of(query),
        "filters": [sql_of(each) for each in query.filters],
        "columns": [*query.columns],
    }


def sail_read(place: Place, query: Query) -> Gave:
    """A read. Sail does not tell which task gave a row."""
    file = place.new_folder() / "rows.arrow"
    place.sail.run(_request(place, query) | {"file": str(file)})
    with pa.OSFile(str(file)) as source:
        table = pa.ipc.open_stream(source).read_all()
    return Gave(Answer([rows_of(table)], ordered=False))


def sail_write(place: Place, query: Query) -> Gave:
    """A write."""
    topic = place.new_topic()
    to = place.source | sink_options(query, topic)
    place.sail.run(_request(place, query) | {"to": to})
    return Gave(written=Written(topic, WRITTEN_PARTITIONS, once=not place.faulty()))
