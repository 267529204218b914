"""The pictures of the pages: what happens in a read and in a write, what comes in and goes out.

docs/pictures.py draws them, and `make docs` writes them to docs/images.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from docs.pictures import Arrow, Box, Kind, Picture

# The steps are left; what they talk to is right, with some room for the words between.
_STEPS_END: Final = 222
_KAFKA_BEGINS: Final = 286
_BESIDE_AN_ARROW: Final = 24  # the left of boxes beside an arrow that leads back


def _kafka(name: str, row: int, rows: int) -> Box:
    return Box(name, row, ("Kafka",), Kind.KAFKA, left=_KAFKA_BEGINS, rows=rows)


def _step(name: str, row: int, *lines: str, kind: Kind = Kind.OURS) -> Box:
    return Box(name, row, lines, kind, right=_STEPS_END)


def _in_turn(*names: str) -> tuple[Arrow, ...]:
    return tuple(Arrow(*pair) for pair in pairwise(names))


_READ: Final = Picture(
    "A batch read: the driver plans ranges of offsets, tasks fetch and decode them",
    (
        _step(
            "plan",
            0,
            "Driver: the ranges",
            "topics, partitions, and the",
            "first and last offset of each",
        ),
        _kafka("kafka", 0, 3),
        _step(
            "tasks", 1, "Driver: the tasks", "small ranges share a task,", "a large one has its own"
        ),
        _step(
            "worker",
            2,
            "Task, in a Python worker",
            "checks and unpacks batches,",
            "decodes what the query needs",
            "into columns of Arrow",
        ),
        _step("rows", 3, "Spark: the rows", "in the order of each partition", kind=Kind.SPARK),
    ),
    (
        *_in_turn("plan", "tasks", "worker", "rows"),
        Arrow("plan", "kafka", ("Metadata,", "ListOffsets"), both_ways=True),
        Arrow("worker", "kafka", ("Fetch",), both_ways=True),
    ),
)

_TRIGGER_TO_COMMIT: Final = (
    _step("trigger", 0, "Spark: a trigger", kind=Kind.SPARK),
    _step(
        "end",
        1,
        "Driver: the end",
        "the newest offsets, within",
        "the limits. Are records gone?",
        "Then it is an error here",
    ),
    _step(
        "offsets",
        2,
        "Checkpoint: offsets/N",
        "the end is fixed: a restart",
        "reads the same records",
        kind=Kind.SPARK,
    ),
    _step("tasks", 3, "Tasks", "read their ranges,", "as in a batch"),
    _step("sink", 4, "Your query, and its sink", kind=Kind.SPARK),
    _step("commits", 5, "Checkpoint: commits/N", "the micro-batch is done", kind=Kind.SPARK),
)
_MICRO_BATCH: Final = Picture(
    "A micro-batch: its end is in the checkpoint before its records are read",
    (
        *(step._replace(left=_BESIDE_AN_ARROW) for step in _TRIGGER_TO_COMMIT),
        _kafka("kafka", 1, 3),
    ),
    (
        *_in_turn(*(step.name for step in _TRIGGER_TO_COMMIT), "trigger"),
        Arrow("end", "kafka", ("ListOffsets",), both_ways=True),
        Arrow("tasks", "kafka", ("Fetch",), both_ways=True),
    ),
)

_EXACTLY_ONCE: Final = Picture(
    "An exactly-once write: each task leaves a transaction open, one record decides, "
    "then all are committed",
    (
        _step(
            "claim",
            0,
            "1. Driver: claims the prefix",
            "earlier owners can decide",
            "nothing any more",
        ),
        _kafka("kafka", 0, 3),
        _step(
            "tasks", 1, "2. Tasks: write their rows", "in a transaction each, and", "leave it open"
        ),
        _step(
            "decision",
            2,
            "3. Driver: decides",
            "one record: micro-batch N is",
            "these transactions",
        ),
        Box(
            "border",
            3,
            (
                "After a crash above, the next run writes it again:",
                "nothing was visible. After one below, it commits.",
            ),
            Kind.BORDER,
        ),
        _step("commit", 4, "4. Driver: commits them", "readers see the micro-batch"),
        _kafka("kafka below", 4, 2),
        _step("left over", 5, "5. Driver: ends the others", "of killed tasks and copies"),
        _step("commits", 6, "Checkpoint: commits/N", kind=Kind.SPARK),
    ),
    (
        *_in_turn("claim", "tasks", "decision"),
        *_in_turn("commit", "left over", "commits"),
        Arrow("claim", "kafka", ("claim",)),
        Arrow("tasks", "kafka", ("rows",)),
        Arrow("decision", "kafka", ("decision",)),
        Arrow("commit", "kafka below", ("commit",)),
        Arrow("left over", "kafka below", ("abort",)),
    ),
)

# A row, and its bytes in Avro; a test encodes the row.
AVRO_FIELDS: Final = {"id": "long", "customer": "string", "amount": "double"}
AVRO_ROW: Final = {"id": 1, "customer": "ann", "amount": 2.5}
AVRO_BYTES: Final = "02 06 61 6e 6e 00 00 00 00 00 00 04 40"
_FORMAT: Final = Picture(
    "value.format=avro: bytes with the id of a schema become a row, and a row becomes bytes",
    (
        Box(
            "bytes",
            0,
            (
                "In Kafka: the value of a record",
                "00 00 00 00 07  the id of its schema, then",
                AVRO_BYTES,
            ),
            Kind.DATA,
        ),
        Box(
            "format",
            1,
            ("value.format=avro", "a task decodes,", "or encodes"),
            Kind.OURS,
            right=170,
        ),
        Box(
            "registry",
            1,
            (
                "Schema registry",
                "schema 7 is",
                *(f"{name:8}  {kind}" for name, kind in AVRO_FIELDS.items()),
            ),
            Kind.DATA,
            left=206,
        ),
        Box(
            "row",
            2,
            (
                "In Spark: the column value",
                "  ".join(f"{name:8}" for name in AVRO_ROW),
                "  ".join(f"{value!s:8}" for value in AVRO_ROW.values()),
            ),
            Kind.DATA,
        ),
    ),
    (
        Arrow("bytes", "format", ("a read goes down, a write up",), both_ways=True),
        Arrow("format", "registry", ("7",), both_ways=True),
        Arrow("format", "row", both_ways=True),
    ),
)

_UPSERT: Final = Picture(
    "envelope=upsert: the newest record of each key; a null value deletes the key",
    (
        Box(
            "topic",
            0,
            (
                "In Kafka: customers, partition 0",
                "offset  key  value",
                "0       ann  Oslo",
                "1       bob  Rome",
                "2       bob  null",
                "3       ann  Bergen",
                "4       cid  Lima",
            ),
            Kind.DATA,
        ),
        Box(
            "upsert",
            1,
            ("envelope=upsert", "the newest record of each key; null deletes it"),
            Kind.OURS,
        ),
        Box(
            "rows",
            2,
            (
                "In Spark",
                "key  value   offset  op",
                "ann  Bergen  3       u",
                "cid  Lima    4       u",
            ),
            Kind.DATA,
        ),
        Box("deleted", 3, ("upsert.tombstones=keep adds", "bob  null    2       d"), Kind.DATA),
    ),
    _in_turn("topic", "upsert", "rows"),
)

# What happened, the lines of the event, and those of the row.
_EVENTS: Final = {
    "Insert": (
        ("before  null", "after   id    1", "        name  pear", "op      c"),
        ("id    1", "name  pear", "op    c"),
    ),
    "Update; name is not logged": (
        ("after   id    1", "        name  __debezium_...", "op      u"),
        ("id    1", "name  null", "op    u", "_unavailable", "      [name]"),
    ),
    "Delete": (
        ("before  id    1", "after   null", "op      d"),
        ("id    1", "name  null", "op    d"),
    ),
    "Tombstone after a delete": (("null",), ()),
}
_DEBEZIUM: Final = Picture(
    "envelope=debezium: an event becomes the row of its table, with the kind of its change",
    tuple(
        box
        for row, (event, (lines, shown)) in enumerate(_EVENTS.items())
        for box in (
            Box(event, row, (event, *lines), Kind.DATA, right=222),
            Box(
                f"{event}: row", row, ("A row" if shown else "No row", *shown), Kind.DATA, left=246
            ),
        )
    ),
    tuple(Arrow(event, f"{event}: row") for event in _EVENTS),
)

_DEAD_LETTER: Final = Picture(
    "deadLetterTopic: rows continue, and a record that cannot be decoded goes to another topic",
    (
        Box("first", 0, ("orders-0@0", '{"id": 1}'), Kind.DATA, right=110),
        Box("broken", 0, ("orders-0@1", '{"id": "x"}'), Kind.BROKEN, left=128, right=232),
        Box("second", 0, ("orders-0@2", '{"id": 2}'), Kind.DATA, left=250),
        Box("task", 1, ("A task", "value.format=json, value.schema=id bigint"), Kind.OURS),
        Box("row", 2, ("A row", "id  1"), Kind.DATA, right=110),
        Box("other row", 2, ("A row", "id  2"), Kind.DATA, left=250),
        Box(
            "letter",
            3,
            (
                "In orders-dead-letters",
                '{"id": "x"}   with its key, headers, time',
                "and more headers, __connect.errors:",
                "  .topic              orders",
                "  .partition          0",
                "  .offset             1",
                "  .stage              VALUE_CONVERTER",
                "  .exception.message  the value: field id...",
            ),
            Kind.BROKEN,
        ),
    ),
    (
        *_in_turn("first", "task", "row"),
        *_in_turn("second", "task", "other row"),
        *_in_turn("broken", "task", "letter"),
    ),
)

# By the name of the file, with the page that shows it.
PICTURES: Final = {
    "read": ("reading.md", _READ),
    "micro-batch": ("streaming.md", _MICRO_BATCH),
    "exactly-once": ("exactly-once.md", _EXACTLY_ONCE),
    "format": ("formats.md", _FORMAT),
    "upsert": ("tables.md", _UPSERT),
    "debezium": ("debezium.md", _DEBEZIUM),
    "dead-letter": ("dead-letters.md", _DEAD_LETTER),
}
