"""Records, and the rows that `tests.jobs.rows_of_topics` has to make of them."""

from __future__ import annotations

from typing import Any, Final

from confluent_kafka import Producer

from tests.formats.debezium.events import Record
from tests.integration import test_debezium
from tests.witness import IN_ORDER

_KEYED: Final[list[Record]] = [(b"a", b"1"), (b"b", b"a\xff"), (b"a", b"2")]
_TEXT: Final = [*_KEYED, (b"\xfe", None), (None, "ä".encode())]
BROKEN: Final = b'{"id": "x"}'
RECORDS: Final[dict[str, list[Record]]] = {
    "text": _TEXT,
    "upsert": _KEYED,
    "debezium": [*test_debezium.records()],
    "dead letters": [(None, b'{"id": 1}'), (None, BROKEN), (None, b'{"id": 2}')],
}


def fill(servers: str, topics: dict[str, str]) -> None:
    """Write the records of each name to its topic."""
    producer = Producer({"bootstrap.servers": servers, **IN_ORDER})
    for name, topic in topics.items():
        for key, value in RECORDS[name]:
            producer.produce(topic, value, key, 0, headers=[("a", b"1"), ("a", b"2")])
    assert producer.flush(30) == 0


def check(name: str, rows: list[list[Any]]) -> None:
    """Check the rows of a name."""
    if name == "debezium":
        # Tombstones are no rows.
        assert len(rows) == sum(value is not None for _, value in RECORDS[name])
        rows = rows[:3]
    assert rows == _WANTED[name]


def _hex(data: bytes | None) -> str | None:
    return None if data is None else data.hex().upper()


_WANTED: Final[dict[str, list[list[Any]]]] = {
    "text": [[offset, _hex(key), _hex(value), "2"] for offset, (key, value) in enumerate(_TEXT)],
    "upsert": [[1, _hex(b"b"), _hex(b"a\xff"), "u"], [2, _hex(b"a"), _hex(b"2"), "u"]],
    "debezium": [
        [0, 0, "item 0", "1.25", "c", [], None],
        [1, 0, None, "1.25", "u", ["name"], "item 0"],
        [2, 0, None, None, "d", [], None],
    ],
    "dead letters": [[0, 1], [2, 2]],
}
