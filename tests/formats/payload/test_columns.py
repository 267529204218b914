"""A column of payloads of several schemas becomes one column of values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.payload.columns import Fault, decode_column
from kafka_formats.payload.format import PayloadDecoder, Values
from kafka_formats.schema_ids.frames import Frames, Group, SchemaId

ROWS = st.lists(st.sampled_from([None, 1, 2, 3, "unframed", "broken"]), max_size=30)


class Decoder:
    """Decodes a payload as its length after the frame, and adds 1,000 times the schema's id."""

    def __init__(self, schema_id: int) -> None:
        self._schema_id = schema_id

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Payloads with an exclamation mark are broken."""
        listed = payloads.to_pylist()
        values = [
            None if each is None else self._schema_id * 1_000 + len(each) - skipped_bytes
            for each in listed
        ]
        is_broken = np.array([each is not None and b"!" in each for each in listed], dtype=np.bool_)
        return Values(pa.array(values, pa.int64()), is_broken)

    def explain(self, payload: bytes) -> PayloadError:
        return PayloadError("a", f"{payload!r} has a mark")


class Factory:
    def for_schema(self, schema_id: SchemaId) -> PayloadDecoder:
        assert isinstance(schema_id, int)
        if schema_id == 3:
            raise SchemaError("there is no schema 3")
        return Decoder(schema_id)


@given(ROWS)
def test_each_payload_is_read_with_the_schema_of_its_group(rows: list[int | str | None]) -> None:
    payloads: list[bytes | None] = []
    groups: dict[int, list[int]] = {}
    unframed: list[int] = []
    expected: list[Any] = []
    for number, row in enumerate(rows):
        payloads.append(None if row is None else b"f" * (number + 1))
        expected.append(None if row is None else "broken")
        if row in (1, 2, 3):
            groups.setdefault(int(row), []).append(number)
            expected[-1] = "broken" if row == 3 else int(row) * 1_000 + number
        elif row == "broken":
            payloads[-1] = b"!"
            groups.setdefault(1, []).append(number)
        elif row is not None:
            unframed.append(number)
    framed = [Group(schema_id, 1, np.array(each)) for schema_id, each in groups.items()]
    frames = Frames(framed, np.array(unframed, dtype=np.int64))
    found = decode_column(pa.array(payloads, pa.binary()), frames, Factory(), pa.int64())
    assert found.is_broken.tolist() == [each == "broken" for each in expected]
    whole = [each for each in expected if each != "broken"]
    assert found.values.filter(pa.array(~found.is_broken)).to_pylist() == whole


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (1, Fault(1, "a", "b'!b' has a mark", PayloadError)),
        (2, Fault(3, "", "there is no schema 3", SchemaError)),
        (
            3,
            Fault(
                None,
                "",
                "it has no schema id: it begins with the bytes 78, and has 1 in all",
                PayloadError,
            ),
        ),
        (4, Fault(None, "", "it has no schema id: it is empty, and has 0 in all", PayloadError)),
    ],
)
def test_what_is_wrong_with_a_payload(row: int, fault: Fault) -> None:
    payloads = pa.array([b"ff", b"f!b", b"f", b"x", b""], pa.binary())
    groups = [Group(1, 1, np.array([0, 1])), Group(3, 1, np.array([2]))]
    found = decode_column(payloads, Frames(groups, np.array([3, 4])), Factory(), pa.int64())
    assert found.is_broken.tolist() == [False, True, True, True, True]
    assert found.fault(row) == fault
