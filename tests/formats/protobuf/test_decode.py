"""Many messages are read at once; only unusual and damaged ones are left to the runtime.

That the values are right is tested in test_decoder.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.arrow.arrays import bounds_of, data_of
from kafka_formats.arrow.bytes_cursor import Cursor
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.decode import read
from kafka_formats.protobuf.descriptors import files_of, message_of
from kafka_formats.protobuf.layout import layout_for
from kafka_formats.protobuf.plan import plan_for
from tests.formats.arrow.test_bytes_cursor import varint
from tests.formats.protobuf.all_types import ALL, PROTOBUF, TYPE, All, messages
from tests.formats.protobuf.messages import message_class
from tests.formats.protobuf.test_decoder import TIMES


def marked(
    payloads: Sequence[bytes], schema: SchemaText = ALL, name: str = "p.All", to: Any = TYPE
) -> list[bool]:
    """Which payloads are left to the runtime."""
    message = message_of(files_of(schema), name)
    plan = plan_for(message, to)
    layout = layout_for(message, plan)
    assert layout is not None
    array = pa.array(payloads, pa.binary())
    bounds = bounds_of(array)
    is_broken = np.zeros(len(payloads), dtype=np.bool_)
    cursor = Cursor(data_of(array), bounds[:-1], bounds[1:], is_broken)
    read(plan, layout, cursor).validate(full=True)
    found: list[bool] = cursor.is_broken.tolist()
    return found


@pytest.mark.many_inputs
@given(st.lists(messages(), max_size=4))
def test_usual_messages_are_read_at_once(found: list[Any]) -> None:
    payloads = [each.SerializeToString() for each in found]
    assert marked(payloads) == [False] * len(payloads)


def field(number: int, wire_type: int, rest: bytes) -> bytes:
    return varint(number << 3 | wire_type) + rest


PLAIN_INT32, LIST_INT32, PLAIN_STRING = 3, 43, 14
ONE, TWO, PART, PLACES, MAP_STRING = 101, 102, 103, 105, 94
EMPTY = b"\x00"


@pytest.mark.parametrize(
    "unusual",
    [
        field(200, 3, field(200, 4, b"")),  # a group
        field(PLAIN_INT32, 5, b"\x00\x00\x00\x00"),  # another wire type
        field(PLAIN_INT32, 7, b""),  # no wire type
        field(0, 0, b"\x00"),  # no number
        b"\xff\xff\xff\xff\x7f\x00",  # too large a number
        b"\x88\x80\x80\x80\x80\x00\x00",  # too long a tag
        field(PART, 2, EMPTY) * 2,  # to be merged
        field(PLAIN_STRING, 2, b"\x01\xff") + field(PLAIN_STRING, 2, b"\x01a"),  # both are checked
        field(ONE, 0, b"\x01") + field(TWO, 2, EMPTY),  # the second one counts
        field(TWO, 2, EMPTY) + field(ONE, 0, b"\x01"),
        field(MAP_STRING, 2, b"\x03\x0a\x01a") * 2,  # the same key
        field(PLACES, 2, b"\x04\x18\x00\x12\x00"),  # an unknown field in an entry
        field(PLAIN_INT32, 0, b"\x80" * 10 + b"\x00"),  # too long a number
        field(PLAIN_INT32, 0, b"\x80"),  # cut off
        field(LIST_INT32, 2, b"\x01\x80"),
        field(LIST_INT32, 2, b"\x0b" + b"\x80" * 10 + b"\x00"),
        field(49, 2, b"\x05aaaaa"),  # one fixed number and a bit
        field(PLAIN_STRING, 2, b"\x02a"),
        field(PLAIN_STRING, 2, b"\x80" * 9 + b"\x01"),  # 2^63 bytes
        field(PLAIN_STRING, 2, b"\x02\xff\xfe"),  # not UTF-8
        field(PART, 2, b"\x03\x12\x02a"),  # within a message
        field(104, 2, b"\x02\x12\x01") * 2,
        field(PLACES, 2, b"\x03\x12\x01\x12"),
        field(300, 2, b"\x02a"),  # an unknown field
        field(300, 1, b"a"),
        field(300, 5, b"a"),
    ],
)
def test_unusual_messages_alone_are_left_to_the_runtime(unusual: bytes) -> None:
    good = All(plain_int32=5, list_int32=[1, 2], part={"x": 1}).SerializeToString()
    assert marked([good, unusual, good + unusual, b"", good]) == [False, True, True, False, False]


def test_one_member_of_a_oneof_is_usual() -> None:
    assert marked([field(ONE, 0, b"\x01"), field(TWO, 2, EMPTY), b""]) == [False] * 3


def test_a_number_that_is_written_twice_is_usual() -> None:
    assert marked([field(PLAIN_INT32, 0, b"\x01") + field(PLAIN_INT32, 0, b"\x02")]) == [False]


def test_a_time_that_may_be_out_of_range() -> None:
    found = message_class(TIMES, "Times")()
    found.at.seconds = 2**62
    payloads = [found.SerializeToString(), b""]
    assert marked(payloads, TIMES, "Times", PROTOBUF.type_of(TIMES)) == [True, False]


def test_fault_64_what_few_messages_have_is_left_to_the_runtime() -> None:
    """Otherwise each of a million fields is a round of its own."""
    long = field(200, 0, b"\x00") * 1_000
    different = [field(1_000 + number, 0, b"\x00") for number in range(500)]
    assert marked([long, *different, b""]) == [True] * 501 + [False]
    assert 350 < sum(marked([*different, b""])) < 450
    assert not any(marked([*different[:10], b""]))
    # The same fields in many messages are usual.
    assert not any(marked([long] * 16))
