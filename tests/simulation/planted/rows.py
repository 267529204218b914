"""Planted faults in what makes rows of tables: envelopes, dead letters, ids of topics, groups."""

from __future__ import annotations

from typing import Final

from tests.simulation.planted import likely
from tests.simulation.planted.fault import Planted

_FORMATS: Final = "protocol/kafka_formats"
_SOURCE: Final = "kafka_spark_source"

ROWS: Final = (
    Planted(
        "the oldest record of a key stays",
        f"{_FORMATS}/upsert/newest.py",
        'aggregate([(_ROW, "max")])\n    return np.asarray(last.column(f"{_ROW}_max"))',
        'aggregate([(_ROW, "min")])\n    return np.asarray(last.column(f"{_ROW}_min"))',
        likely.is_table,
    ),
    Planted(
        "a key of two partitions has one row",
        f"{_FORMATS}/upsert/upsert.py",
        "(topics[start].as_py(), int(partition[start])), len(self._numbers)",
        "(topics[start].as_py(), 0), len(self._numbers)",
        likely.is_table,
    ),
    Planted(
        "a table's partition is split over tasks",
        f"{_SOURCE}/options/read.py",
        "    return replace(parts, are_whole=True)\n",
        "    return replace(parts, max_records=40)\n",
        likely.is_table,
    ),
    Planted(
        "filters take records away before the newest is chosen",
        f"{_SOURCE}/reading/batch_reader.py",
        "predicates.of_whole_partitions() if is_upsert else predicates",
        "predicates",
        lambda s: any("envelope" in each.options and each.filters for each in s.jobs),
    ),
    Planted(
        "only the first dead letter of a batch is written",
        f"{_SOURCE}/reading/dead_letters.py",
        "                writer.add([rows], producer)\n",
        "                writer.add([rows.slice(0, 1)], producer)\n",
        lambda s: s.has_letters,
    ),
    Planted(
        "a dead letter has lost its own headers",
        f"{_SOURCE}/reading/dead_letters.py",
        "[*(own or ()), *_reasons(each, time_ms)]",
        "[*_reasons(each, time_ms)]",
        lambda s: s.has_letters and s.has_headers,
    ),
    Planted(
        "rows beside a dead letter are dropped",
        f"{_FORMATS}/query/decoder.py",
        "            kept = array_of_bools(~is_broken)\n",
        "            kept = array_of_bools(~np.roll(is_broken, 1) & ~is_broken)\n",
        lambda s: s.has_letters,
    ),
    Planted(
        "text that is not UTF-8 is a row",
        f"{_FORMATS}/query/decoder.py",
        "_any([column.is_broken for column in columns.values()], batch.num_rows)",
        "_any([], batch.num_rows)",
        lambda s: s.contents == "text",
    ),
    Planted(
        "the first of several headers with one name is read",
        f"{_FORMATS}/payload/raw_columns.py",
        "np.unique(pairs[::-1], return_index=True)\n"
        "    places: Longs = np.sort(len(pairs) - 1 - from_end)",
        "np.unique(pairs, return_index=True)\n    places: Longs = np.sort(from_end)",
        lambda s: "headers" in s.columns,
    ),
    Planted(
        "a delete of a database is an update",
        f"{_FORMATS}/debezium/rows.py",
        "            arrays.append(with_type(array, field.type))\n",
        "            if name == OP:\n"
        '                array = pa.repeat(pa.scalar("u"), len(array))\n'
        "            arrays.append(with_type(array, field.type))\n",
        lambda s: s.contents == "events",
    ),
    Planted(
        "the column of topic ids has the names",
        f"{_SOURCE}/reading/topic_id_column.py",
        "{topic: None if id_ is None else _text(id_) for topic, id_ in self.ids.items()}",
        "{topic: topic.encode() for topic in self.ids}",
        likely.tells_topic_ids,
    ),
    Planted(
        "a group's position is after records that were not taken",
        "protocol/kafka_protocol/arrow_io/topic_reader.py",
        "            for fetched in fetches:\n",
        "            self._advance(each, each.until_offset, done, total)\n"
        "            for fetched in fetches:\n",
        likely.has_job("group"),
    ),
    Planted(
        "a group's commit is not written",
        "protocol/kafka_protocol/arrow_io/topic_reader.py",
        "            if self._reading.positions:\n",
        "            if not self._reading.positions:\n",
        likely.has_job("group"),
    ),
    Planted(
        "a query does not stop at new fields",
        f"{_FORMATS}/query/decoder.py",
        "            if refused is not None:\n",
        "            if refused is None and name == name.upper():\n",
        likely.grows,
    ),
)
