"""The framing of AWS Glue beyond what `tests/formats/suite` reads: damage, bombs, messages."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest

from tests.fakes.glue import version_id
from tests.formats.schema_ids.test_glue import framed
from tests.formats.suite.of_avro import AVRO
from tests.formats.suite.of_protobuf import PROTOBUF
from tests.formats.suite.places import PACKED
from tests.formats.suite.reading import TOPIC, Value
from tests.formats.suite.topics import FIRST, PERMISSIVE, topic

pytestmark = pytest.mark.usefixtures("aws")

FIRST_ID = version_id(TOPIC, 1)


def test_zlib_data_that_is_cut_short() -> None:
    with topic(AVRO, PACKED, FIRST) as orders:
        good = orders.value(1, {"id": 5})
        cut = Value((good.payload or b"")[:-3])
        rows = orders.query(["value", "_error", "_raw"], PERMISSIVE).read(good, cut)
    reason = f"the value: (schema version {FIRST_ID}) its zlib data is cut short"
    assert rows[0] == {"value": {"id": 5}, "_error": None, "_raw": None}
    assert rows[1] == {"value": None, "_error": reason, "_raw": cut.payload}


def test_bombs_are_unpacked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # The real limit is 128 MiB: the memory and the time of a test.
    monkeypatch.setattr("kafka_formats.schema_ids.glue.MAX_UNPACKED_BYTES", 100_000)
    with topic(AVRO, PACKED, FIRST) as orders:
        good = orders.value(1, {"id": 5})
        bomb = Value((good.payload or b"")[:18] + zlib.compress(bytes(200_000), 9))
        rows = orders.query(["value", "_error"], PERMISSIVE).read(bomb, *[good] * 20, bomb)
    assert [row["value"] for row in rows] == [None, *[{"id": 5}] * 20, None]
    assert rows[0]["_error"].endswith("it unpacks to more than 100000 bytes")


def test_a_schema_of_another_format() -> None:
    with topic(replace(AVRO, kind="JSON"), PACKED, FIRST) as orders:
        with pytest.raises(Exception, match="is of the kind JSON, not AVRO"):
            orders.query()


def test_messages_of_protobuf_are_told_by_the_order_of_their_names() -> None:
    proto = 'syntax = "proto3"; message B { int64 id = 1; } message A { int64 id = 1; }'
    with topic(PROTOBUF, PACKED, proto) as orders:
        message_b = {"value.protobuf.message": "B", **PERMISSIVE}
        given = [
            Value(framed(b"\x01\x08\x05", FIRST_ID)),
            Value(framed(b"\x00\x08\x05", FIRST_ID, packed=True)),
        ]
        rows = orders.query(["value", "_error"], message_b).read(*given)
    assert [row["value"] for row in rows] == [{"id": 5}, None]
    assert rows[1]["_error"] == f"the value (schema id {FIRST_ID}): it is a A, not a B"
