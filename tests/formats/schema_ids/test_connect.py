"""Documents of Connect's converter: schemas are found, and payloads are without them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.schema_ids.connect import connect_frames
from kafka_formats.schema_ids.frames import InPayload
from tests.formats.debezium.events import dumped, wrapped

ID = {"type": "struct", "fields": [{"type": "int32", "field": "id"}], "name": "k"}
OTHER = {"type": "int32"}


def found(payloads: list[bytes | None]) -> list[tuple[bytes | None, bytes | None]]:
    """The schema and the payload of each row."""
    frames = connect_frames(pa.array(payloads, pa.binary()), None, "")
    assert len(frames.unframed) == 0
    schemas: dict[int, Any] = {}
    for group in frames.groups:
        assert group.frame_bytes == 0
        assert group.rows.tolist() == sorted(group.rows.tolist())
        text = group.schema_id.text if isinstance(group.schema_id, InPayload) else None
        schemas |= dict.fromkeys(group.rows.tolist(), text)
    own = payloads if frames.unpacked is None else frames.unpacked.to_pylist()
    return [(schemas.get(row), payload) for row, payload in enumerate(own)]


@pytest.mark.parametrize(
    ("payload", "schema", "own"),
    [
        (wrapped(ID, {"id": 1}), dumped(ID), b'{"id":1}'),
        (wrapped(OTHER, 7), dumped(OTHER), b"7"),
        (wrapped(None, {"id": 1}), None, b'{"id":1}'),
        (wrapped(ID, None), None, None),
        (b'{ "payload" : {"id": 1.50} ,\n"schema": {"type" :"int8"} }', b'{"type" :"int8"}', None),
        (dumped({"id": 1}), None, None),
        (dumped({"schema": "public", "payload": 1}), None, None),
        (dumped({"schema": ID}), None, None),
        (dumped({"schema": ID, "payload": 1, "more": 2}), None, None),
        (b'{"schema":{"type":"int8"},"payload":1', None, None),
        (b'{"schema":', None, None),
        (b'{"schema":{},"payload":"\xff"}', None, None),
        (b'{"schema":' + b"[" * 100_000, None, None),
        (b"", None, None),
        (b"null", None, None),
    ],
)
def test_forms_of_documents(payload: bytes, schema: bytes | None, own: bytes | None) -> None:
    expected: tuple[bytes | None, bytes | None]
    if payload == wrapped(ID, None):
        expected = (None, None)
    elif own is None and schema is not None:
        expected = (schema, b'{"id": 1.50}')
    else:
        expected = (schema, payload if own is None else own)
    others: list[bytes | None] = [dumped({"id": 1}), payload, wrapped(ID, 5)]
    assert found([payload]) == [expected]
    assert found([payload, None, payload]) == [expected, (None, None), expected]
    assert found(others)[1] == expected


@pytest.mark.no_cover
@given(
    st.lists(
        st.none() | st.tuples(st.integers(0, 60), st.integers(0, 9) | st.text(max_size=3)),
        max_size=80,
    )
)
def test_each_row_has_its_own_schema_and_payload(rows: list[Any]) -> None:
    schemas: list[Any] = [None, *({"type": "struct", "name": f"n{each}"} for each in range(60))]
    payloads = [None if row is None else wrapped(schemas[row[0]], {"v": row[1]}) for row in rows]
    expected = [
        (None, None)
        if row is None
        else (dumped(schemas[row[0]]) if row[0] else None, dumped({"v": row[1]}))
        for row in rows
    ]
    assert found(payloads) == expected


def test_an_error_does_not_show_the_schema() -> None:
    assert str(InPayload(b"{}")) == "in the payload"
