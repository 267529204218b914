from __future__ import annotations

import base64
import io
import json

import fastavro
import pytest

from tests.endurance.torture.expected import as_written
from tests.endurance.torture.made_up import row
from tests.endurance.torture.queries import COLUMNS
from tests.endurance.torture.rows import Row
from tests.endurance.torture.written import (
    AVRO_SCHEMA,
    DEAD_LETTER,
    FORMATTED,
    Written,
    answer_of,
    at_header,
)

FROM = [row("from", 2, offset) for offset in range(6)]


def copied(each: Row, offset: int) -> Row:
    at = at_header(each.topic, each.partition, each.offset)
    return each._replace(topic="to", partition=0, offset=offset, headers=(*each.headers, at))


def test_rows_with_their_place_in_the_last_header() -> None:
    partition = [copied(each, number + 90) for number, each in enumerate(FROM)]
    answer = answer_of(Written("to", 2, once=True, ordered=True), [partition, []])
    assert answer.groups == [as_written(FROM, COLUMNS), []]
    assert (answer.ordered, answer.may_repeat) == (True, False)


@pytest.mark.parametrize("payload", ["avro", "json", "event"])
def test_rows_in_a_struct(payload: str) -> None:
    wanted = as_written(FROM, FORMATTED)
    partition = [
        Row("to", 0, number, 1, 0, None, _ENCODE[payload](each))
        for number, each in enumerate(wanted)
    ]
    assert answer_of(Written("to", 1, payload), [partition]).groups == [wanted]


def avro(each: Row) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, AVRO_SCHEMA, {name: getattr(each, name) for name in FORMATTED})
    return out.getvalue()


def as_json(each: Row) -> bytes:
    fields = {name: getattr(each, name) for name in FORMATTED}
    texts = {
        name: base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in fields.items()
        if value is not None
    }
    return json.dumps(texts).encode()


def as_event(each: Row) -> bytes:
    fields = json.loads(as_json(each))
    op, before, after = ("d", fields, None) if each.offset % 2 else ("c", None, fields)
    return json.dumps({"op": op, "before": before, "after": after}).encode()


_ENCODE = {"avro": avro, "json": as_json, "event": as_event}


def test_dead_letters_have_the_place_in_what_connect_adds() -> None:
    own = (("__connect.errors.topic", b"of a letter that was read"), ("a", None))
    came = [each._replace(headers=own) for each in FROM]
    partition = [letter_of(each, number) for number, each in enumerate(came)]
    answer = answer_of(Written("to", 1, DEAD_LETTER), [partition])
    assert answer.groups == [came]
    assert answer.may_repeat


def letter_of(each: Row, offset: int) -> Row:
    place = {"topic": each.topic, "partition": each.partition, "offset": each.offset}
    added = ((f"__connect.errors.{name}", str(value).encode()) for name, value in place.items())
    time = ("__pykafka.errors.timestamp", str(each.timestamp).encode())
    headers = (*each.headers, *added, ("__connect.errors.stage", b"VALUE_CONVERTER"), time)
    return each._replace(topic="to", partition=0, offset=offset, timestamp=9, headers=headers)


def test_a_row_of_nobody_is_an_error() -> None:
    with pytest.raises(AssertionError, match="no header"):
        answer_of(Written("to", 1), [[FROM[0]]])
