"""`read_topic` and `write_table`, one of several threads of this process; and a consumer group."""

from __future__ import annotations

import uuid

import pyarrow as pa

from kafka_protocol.arrow_io.table import write_table
from kafka_protocol.arrow_io.topic import TopicReader, read_topic
from kafka_protocol.columnar.arrays.schema import HEADERS_TYPE
from tests.endurance.torture.expected import Answer
from tests.endurance.torture.positions import arrow_position
from tests.endurance.torture.queries import COLUMNS, Query
from tests.endurance.torture.rows import Row
from tests.endurance.torture.ways.place import WRITTEN_PARTITIONS, Place
from tests.endurance.torture.ways.tables import rows_of
from tests.endurance.torture.written import Gave, Written, at_header

_MOST_SITTINGS = 20


def _options(place: Place, query: Query) -> dict[str, str]:
    level = "read_committed" if query.committed else "read_uncommitted"
    return {**place.client, "isolation.level": level, **query.options}


def read_in_thread(place: Place, query: Query) -> Gave:
    """Reads a topic, and copies it to another one if the query says so."""
    (topic,) = query.topics
    table = read_topic(
        topic,
        _options(place, query),
        start=arrow_position(query.start, topic, "earliest"),
        end=arrow_position(query.end, topic, "latest"),
        partitions=[partition for _, partition in query.places],
        columns=query.columns,
    ).read_all()
    assert table.schema.names == [*query.columns], table.schema.names
    rows = rows_of(table)
    if query.how["copies"] == "false" or {*query.columns} != {*COLUMNS}:
        return Gave(Answer([rows]))
    return Gave(Answer([rows]), _copy(place, query, table, rows))


def read_as_group(place: Place, query: Query) -> Gave:
    """Reads a topic in sittings, each of which goes on where the one before has committed."""
    (topic,) = query.topics
    group = f"group-{uuid.uuid4().hex}"
    rows: list[Row] = []
    for sitting in range(_MOST_SITTINGS):
        reader = read_topic(
            topic,
            _options(place, query),
            start=arrow_position(query.start, topic, "earliest"),
            end=arrow_position(query.end, topic, "latest"),
            partitions=[partition for _, partition in query.places],
            columns=query.columns,
            group_id=group,
        )
        assert isinstance(reader, TopicReader)
        with reader:
            # Ever more batches: a position may move after several of them only.
            taken, is_done = _taken(reader, 2**sitting)
            reader.commit()
            positions = {each.partition: at for each, at in reader.positions.items()}
        rows += [row for row in taken if row.offset < positions[row.partition]]
        if is_done:
            return Gave(Answer([rows]))
    raise AssertionError(f"the group has not come to the end in {_MOST_SITTINGS} sittings")


def _taken(reader: TopicReader, most: int) -> tuple[list[Row], bool]:
    """The rows of so many batches, and whether they were the last ones."""
    rows: list[Row] = []
    for number, batch in enumerate(reader):
        if number == most:
            return rows, False
        rows += rows_of(pa.Table.from_batches([batch]))
    return rows, True


def _copy(place: Place, query: Query, table: pa.Table, rows: list[Row]) -> Written:
    """An idempotent producer writes each row once and in order, whatever fails on the way."""
    topic = place.new_topic()
    headers = pa.array([_headers(row) for row in rows], HEADERS_TYPE)
    targets = pa.array([row.partition % WRITTEN_PARTITIONS for row in rows], pa.int32())
    table = table.set_column(table.schema.get_field_index("headers"), "headers", headers)
    table = table.set_column(table.schema.get_field_index("partition"), "partition", targets)
    names = ("compression.type", "batch.size")
    options = {name: query.how[name] for name in names if name in query.how}
    written = write_table(table, place.client | options, topic=topic)
    assert written == len(rows), f"{written} records of {len(rows)} were written"
    return Written(topic, WRITTEN_PARTITIONS, once=True, ordered=True)


def _headers(row: Row) -> list[dict[str, str | bytes | None]]:
    pairs = (*row.headers, at_header(row.topic, row.partition, row.offset))
    return [{"key": key, "value": value} for key, value in pairs]
