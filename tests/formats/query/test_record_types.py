"""Several record types in one topic: a struct with a member for each, found by the id's schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import MalformedRecordError, PayloadError, SchemaEvolvedError
from kafka_formats.query.record_types import member_names
from kafka_protocol.errors import KafkaConfigError
from tests.fakes.glue import glue, version_id
from tests.fakes.registry import FakeRegistry, registry, subjects
from tests.formats.schema_ids.test_glue import framed
from tests.formats.suite.form import Form
from tests.formats.suite.of_avro import AVRO
from tests.formats.suite.of_json import JSON_SCHEMA
from tests.formats.suite.of_protobuf import PROTOBUF
from tests.formats.suite.places import HEADER, IN_GLUE, PREFIX, Place
from tests.formats.suite.reading import NULL, Query, Row, Value, written
from tests.formats.suite.topics import ANN, ID, PERMISSIVE, SECOND

FORMS = (AVRO, JSON_SCHEMA, PROTOBUF)
ORDER, PAYMENT = "com.shop.Order", "com.shop.Payment"
PAID = pa.struct([ID, pa.field("card", pa.string())])
ANNS_CARD: Row = {"id": 7, "card": "visa"}


def schema(form: Form, columns: pa.StructType, name: str) -> str:
    """The text of a schema of a type with a full name."""
    if form is not PROTOBUF:
        return form.schema(columns, name)
    package, _, short = name.rpartition(".")
    begin = f'syntax = "proto3"; package {package};'
    return form.schema(columns, short).replace('syntax = "proto3";', begin)


class Types:
    """A topic with several record types, and the registry of their schemas."""

    def __init__(self, form: Form, fake: FakeRegistry) -> None:
        self.form, self.fake = form, fake
        self.subjects: dict[str, list[dict[str, Any]]] = {}
        self.lists_places = True
        self._ids = 0

    def add(self, subject: str, text: str, **more: Any) -> int:
        """Register a schema, and return its id."""
        self._ids += 1
        version = {"id": self._ids, "schema": text, "schemaType": self.form.kind} | more
        self.subjects.setdefault(subject, []).append(version)
        self.fake.respond = subjects(
            self.lists_places, **{name: [*listed] for name, listed in self.subjects.items()}
        )
        return self._ids

    def query(self, more: Mapping[str, str] | None = None, **arguments: Any) -> Query:
        """A read of the topic."""
        options = {
            "value.format": self.form.format,
            "schema.registry.url": self.fake.url,
            "schema.registry.max.retries": "0",
        }
        if not {*(more or {})} & {"value.subjects.pattern", "value.subjects"}:
            options["value.subjects"] = ",".join(self.subjects)
        return Query({**options, **(more or {})}, **arguments)

    def write(self, values: pa.Array, more: Mapping[str, str] | None = None) -> list[bytes | None]:
        """The payloads of values."""
        options = {
            "value.format": self.form.format,
            "schema.registry.url": self.fake.url,
            "schema.registry.max.retries": "0",
            "value.subjects": ",".join(self.subjects),
        }
        rows = pa.RecordBatch.from_arrays([values], ["value"])
        found: list[bytes | None] = written({**options, **(more or {})}, rows)["value"].to_pylist()
        return found

    def value(self, number: int, columns: pa.StructType, row: Row, place: Place = PREFIX) -> Value:
        """A record's value with an id."""
        return place.frame(self.form, number, self.form.encode(columns, row))


@contextmanager
def types(form: Form) -> Iterator[Types]:
    """A topic with the types Order and Payment, whose ids are 1 and 2."""
    with registry(subjects()) as fake:
        topic = Types(form, fake)
        topic.add(ORDER, schema(form, SECOND, ORDER))
        topic.add(PAYMENT, schema(form, PAID, PAYMENT))
        yield topic


def values_of(rows: list[Row]) -> list[Any]:
    return [row["value"] for row in rows]


AN_ORDER = {"_type": ORDER, "Order": ANN, "Payment": None}
A_PAYMENT = {"_type": PAYMENT, "Order": None, "Payment": ANNS_CARD}


@pytest.mark.parametrize("place", [PREFIX, HEADER], ids=str)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_each_value_is_in_the_member_of_its_type(form: Form, place: Place) -> None:
    with types(form) as topic:
        query = topic.query()
        assert [field.name for field in query.type] == ["_type", "Order", "Payment"]
        assert query.type.field("Order").type == form.read_as(SECOND)
        order = topic.value(1, SECOND, ANN, place)
        payment = topic.value(2, PAID, ANNS_CARD, place)
        found = values_of(query.read(order, payment, NULL, payment, order))
        assert found == [AN_ORDER, A_PAYMENT, None, A_PAYMENT, AN_ORDER]


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_types_in_aws_glue(form: Form) -> None:
    texts = {"Order": schema(form, SECOND, ORDER), "Payment": schema(form, PAID, PAYMENT)}
    versions = {name: [text] for name, text in texts.items()}
    with registry(glue(versions, kind=str(form.kind))) as fake:
        given = {name: each.replace("URL", fake.url) for name, each in IN_GLUE.options.items()}
        options = {"value.format": form.format, **given, "value.subjects": "Order,Payment"}
        values = [
            Value(
                framed(form.suffix + form.encode(columns, row), version_id(name, 1), packed=False)
            )
            for name, columns, row in (("Payment", PAID, ANNS_CARD), ("Order", SECOND, ANN))
        ]
        assert values_of(Query(options).read(*values)) == [A_PAYMENT, AN_ORDER]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_an_unknown_type_is_broken(form: Form) -> None:
    with types(form) as topic:
        query = topic.query(PERMISSIVE, columns=("value", "_error", "_raw"))
        other = topic.add("com.shop.Refund", schema(form, PAID, "com.shop.Refund"))
        refund = topic.value(other, PAID, ANNS_CARD)
        order = topic.value(1, SECOND, ANN)
        found = query.read(refund, order)
        assert values_of(found) == [None, AN_ORDER]
        assert found[0]["_error"] == (
            "the value (schema id 3): the record type 'com.shop.Refund' is unknown: "
            "value.subjects names com.shop.Order, com.shop.Payment"
        )
        assert found[0]["_raw"] == refund.payload
        with pytest.raises(
            MalformedRecordError, match=r"record type 'com\.shop\.Refund' is unknown"
        ):
            topic.query({"value.subjects": f"{ORDER},{PAYMENT}"}).read(refund)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_only_the_types_that_a_projection_names_are_decoded(form: Form) -> None:
    wanted = pa.struct([("Payment", pa.struct([("card", pa.string())])), ("_type", pa.string())])
    with types(form) as topic:
        query = topic.query(types={"value": wanted})
        damaged = PREFIX.frame(form, 1, b"\xff")
        payment = topic.value(2, PAID, ANNS_CARD)
        assert values_of(query.read(damaged, payment)) == [
            {"Payment": None, "_type": ORDER},
            {"Payment": {"card": "visa"}, "_type": PAYMENT},
        ]
        only_type = topic.query(types={"value": pa.struct([("_type", pa.string())])})
        assert values_of(only_type.read(damaged)) == [{"_type": ORDER}]
        with pytest.raises(MalformedRecordError, match="schema id 1"):
            topic.query().read(damaged)


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (pa.struct([("Refund", pa.string())]), "no record type 'Refund': there are _type, Order, "),
        (pa.struct([("_type", pa.int64())]), "the field _type is a string, not int64"),
        (pa.struct([("_type", pa.string())] * 2), "the field '_type' twice: name it once"),
        (pa.struct([pa.field("Order", SECOND, nullable=False)]), "can be null: leave NOT NULL out"),
        (pa.string(), "cannot be read as string: it is a struct of _type, Order, Payment"),
        (pa.struct([("Order", pa.struct([("x", pa.string())]))]), "x"),
    ],
)
def test_a_projection_of_what_is_not_there(wanted: pa.DataType, reason: str) -> None:
    with types(AVRO) as topic, pytest.raises(KafkaConfigError, match=reason):
        topic.query(types={"value": wanted})


def test_names_of_members() -> None:
    assert member_names(["a.Order", "b.Pay", "Title of one", "c.d"], "value") == {
        "a.Order": "Order",
        "b.Pay": "Pay",
        "Title of one": "Title of one",
        "c.d": "d",
    }
    same = ["a.Order", "b.order", "c._Type"]
    assert member_names(same, "value") == {each: each for each in same}
    for twice in (
        ["a.Order", "A.order"],
        ["_type"],
        ["Order", "a.x", "order"],
        ["a.Order", "Order"],
    ):
        with pytest.raises(KafkaConfigError, match="the short name of another one, or a name"):
            member_names(twice, "value")


def test_the_types_of_a_union() -> None:
    """As with Confluent's serializers: the union refers to subjects of its types."""
    order, payment = (
        json.loads(schema(AVRO, *each)) for each in ((SECOND, ORDER), (PAID, PAYMENT))
    )
    inner = {
        "type": "record",
        "name": "com.shop.Refund",
        "fields": [{"name": "of", "type": PAYMENT}],
    }
    with registry(subjects()) as fake:
        topic = Types(AVRO, fake)
        topic.add(ORDER, json.dumps(order))
        union = ["null", ORDER, payment, inner]
        references = [{"name": ORDER, "subject": ORDER, "version": 1}]
        number = topic.add("orders-value", json.dumps(union), references=references)
        query = topic.query(
            {"value.subjects": "orders-value", **PERMISSIVE}, columns=("value", "_error")
        )
        assert query.type.field(3).name == "Refund"
        payload = AVRO.encode(PAID, ANNS_CARD)
        an_order = AVRO.encode(SECOND, ANN)
        framed = [b"\0", b"\2" + an_order, b"\4" + payload, b"\6" + payload, b"\x0a", b"\xff", b""]
        found = query.read(*(PREFIX.frame(AVRO, number, each) for each in framed))
        none = {"Order": None, "Payment": None, "Refund": None}
        assert values_of(found) == [
            None,
            none | {"_type": ORDER, "Order": ANN},
            none | {"_type": PAYMENT, "Payment": ANNS_CARD},
            none | {"_type": "com.shop.Refund", "Refund": {"of": ANNS_CARD}},
            None,
            None,
            None,
        ]
        assert [row["_error"] is None for row in found] == [True] * 4 + [False] * 3
        assert found[4]["_error"].endswith("the number of one of 4 types, but with '0a'")
        # A payload of the type's own subject has no number before it.
        (row,) = query.read(topic.value(1, SECOND, ANN))
        assert row["value"]["Order"] == ANN


def test_the_messages_of_a_file() -> None:
    text = 'syntax = "proto3"; package com.shop; message Order { int64 id = 1; message In {} } '
    text += "message Payment { string card = 2; }"
    with registry(subjects()) as fake:
        topic = Types(PROTOBUF, fake)
        number = topic.add("orders-value", text)
        query = topic.query(PERMISSIVE, columns=("value", "_error"))
        assert [field.name for field in query.type] == ["_type", "Order", "Payment"]
        order, payment, inner, no = b"\0\x08\x07", b"\2\2\x12\1a", b"\4\0\0", b"\2\x08"
        head = b"\0" + number.to_bytes(4, "big")
        found = query.read(*(Value(head + each) for each in (order, payment, inner, no, b"\2")))
        assert [row["value"] and row["value"]["_type"] for row in found] == [
            ORDER,
            PAYMENT,
            None,
            None,
            None,
        ]
        assert found[1]["value"]["Payment"] == {"card": "a"}
        assert [row["_error"].partition(": ")[2] for row in found[2:]] == [
            "the record type 'com.shop.Order.In' is unknown: value.subjects names "
            "com.shop.Order, com.shop.Payment",
            "its schema has no message with the index [4]",
            "it ends within the message index",
        ]


@pytest.mark.parametrize(
    ("subject", "members"),
    [
        ("orders-value", ["Order", "value"]),
        ("com.shop.Order", ["Order"]),
        ("orders-com.shop.Order", ["Order"]),
        (":.prod:com.shop.Order", ["Order"]),
        ("com.shop.Order.In", ["In"]),
    ],
)
def test_a_subject_by_the_name_of_a_message_has_that_one_only(
    subject: str, members: list[str]
) -> None:
    text = 'syntax = "proto3"; package com.shop; message value { int64 id = 1; } '
    text += "message Order { int64 id = 1; message In { int64 id = 1; } } message Ping {}"
    with registry(subjects()) as fake:
        topic = Types(PROTOBUF, fake)
        number = topic.add(subject, text)
        query = topic.query()
        assert {field.name for field in query.type} == {"_type", *members}
        indexes = {"value": b"\0", "Order": b"\2\2", "In": b"\4\2\0"}
        head = b"\0" + number.to_bytes(4, "big")
        for member in members:
            (row,) = query.read(Value(head + indexes[member] + b"\x08\x07"))
            assert row["value"][member] == {"id": 7}
            values = pa.array([row["value"]], query.type)
            assert topic.write(values) == [head + indexes[member] + b"\x08\x07"]
        if len(members) > 1:
            # Without fields there is only its name.
            assert query.read(Value(head + b"\2\4"))[0]["value"]["_type"] == "com.shop.Ping"


def test_a_restart_at_a_new_field_of_a_message_within_another() -> None:
    text = 'syntax = "proto3"; package a; message Out { message In { int64 id = 1; %s } }'
    with registry(subjects()) as fake:
        topic = Types(PROTOBUF, fake)
        topic.add("a.Out.In", text % "")
        query = topic.query({"value.schema.evolution": "restart"})
        number = topic.add("a.Out.In", text % "int64 more = 2;")
        with pytest.raises(SchemaEvolvedError, match=r"columns lack: value\.In\.more bigint"):
            query.read(Value(b"\0" + number.to_bytes(4, "big") + b"\4\0\0\x08\x07\x10\x01"))


def test_a_schema_without_messages_breaks_its_payloads() -> None:
    with types(PROTOBUF) as topic:
        number = topic.add("other-value", 'syntax = "proto3"; enum E { Z = 0; }')
        known = {"value.subjects": f"{ORDER},{PAYMENT}"}
        query = topic.query({**PERMISSIVE, **known}, columns=("value", "_error"))
        order = topic.value(1, SECOND, ANN)
        found = query.read(PREFIX.frame(PROTOBUF, number, b""), order)
        assert found[0]["_error"] == "the value (schema id 3): its schema has no message"
        assert found[1]["value"] == AN_ORDER


@pytest.mark.parametrize("payload", [b"", b"  "])
def test_the_null_of_json_is_a_null_value(payload: bytes) -> None:
    with types(JSON_SCHEMA) as topic:
        query = topic.query()
        assert query.read(PREFIX.frame(JSON_SCHEMA, 1, payload))[0]["value"] is None


@pytest.mark.parametrize("title", ["5", '"\\ud800"', "null", '["x"]', '""'])
def test_a_title_is_a_text(title: str) -> None:
    with types(JSON_SCHEMA) as topic:
        topic.add("other", f'{{"type": "object", "title": {title}}}')
        with pytest.raises(
            KafkaConfigError, match=r"cannot be found in version 1 of .*: it has no"
        ):
            topic.query()


def test_an_old_version_without_names_does_not_matter() -> None:
    with registry(subjects()) as fake:
        topic = Types(JSON_SCHEMA, fake)
        topic.add(PAYMENT, '{"type": "object"}')
        for columns in (PAID, pa.struct([ID])):
            topic.add(PAYMENT, schema(JSON_SCHEMA, columns, PAYMENT))
        topic.add(ORDER, schema(JSON_SCHEMA, SECOND, ORDER))
        for fields in ([("card", pa.string())], [("id", pa.int64())]):
            wanted = pa.struct([("Payment", pa.struct(fields))])
            assert topic.query(types={"value": wanted}).type == wanted


def test_a_restart_asks_once_about_a_foreign_schema() -> None:
    with types(AVRO) as topic:
        query = topic.query({"value.schema.evolution": "restart", **PERMISSIVE})
        foreign = topic.add("other", schema(AVRO, PAID, "com.other.Order"))
        topic.fake.received.clear()
        query.read(topic.value(foreign, PAID, ANNS_CARD), topic.value(foreign, PAID, ANNS_CARD))
        assert [path for path in topic.fake.paths if path.endswith("/versions")] == [
            f"/schemas/ids/{foreign}/versions"
        ]


def test_a_type_in_two_subjects_is_written_with_the_one_of_its_name() -> None:
    texts = [json.loads(schema(AVRO, *each)) for each in ((SECOND, ORDER), (PAID, PAYMENT))]
    with registry(subjects()) as fake:
        topic = Types(AVRO, fake)
        topic.add("orders-value", json.dumps(texts))
        topic.add(PAYMENT, json.dumps(texts[1]))
        payloads = topic.write(pa.array([AN_ORDER, A_PAYMENT], topic.query().type))
        assert [each and each[4] for each in payloads] == [1, 2]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_pattern_and_the_names_with_topics(form: Form) -> None:
    with types(form) as topic:
        topic.add(f"orders-{ORDER}", schema(form, SECOND, ORDER))
        topic.add(f"orders-{PAYMENT}", schema(form, PAID, PAYMENT))
        by_pattern = topic.query({"value.subjects.pattern": r"com\.shop\..*"})
        by_topic = topic.query(
            {
                "value.subjects": f"{ORDER},{PAYMENT}",
                "value.subject.name.strategy": "TopicRecordNameStrategy",
            }
        )
        assert by_pattern.type == by_topic.type == topic.query().type
        for query in (by_pattern, by_topic):
            found = query.read(topic.value(3, SECOND, ANN), topic.value(4, PAID, ANNS_CARD))
            assert values_of(found) == [AN_ORDER, A_PAYMENT]
        with pytest.raises(KafkaConfigError, match="matches no subjects of the registry"):
            topic.query({"value.subjects.pattern": "shop"})


@pytest.mark.parametrize("lists_places", [True, False])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_restart_at_new_fields_and_new_types(form: Form, lists_places: bool) -> None:
    restart = {"value.schema.evolution": "restart"}
    pattern = restart | {"value.subjects.pattern": r"com\.shop\..*"}
    with types(form) as topic:
        topic.lists_places = lists_places
        named, matching = topic.query(restart), topic.query(pattern)
        wider = pa.struct([*PAID, pa.field("bank", pa.string())])
        number = topic.add(PAYMENT, schema(form, wider, PAYMENT))
        paid = topic.value(number, wider, ANNS_CARD | {"bank": "b"})
        for query in (named, matching):
            with pytest.raises(
                SchemaEvolvedError, match=r"that the query's columns lack: value\.Payment"
            ):
                query.read(paid)
        (row,) = topic.query(restart).read(paid)
        assert row["value"]["Payment"]["bank"] == "b"
        # What a query does not read does not stop it.
        only = topic.query(restart, types={"value": pa.struct([("Order", form.read_as(SECOND))])})
        widest = pa.struct([*wider, pa.field("more", pa.string())])
        number = topic.add(PAYMENT, schema(form, widest, PAYMENT))
        widest_row = topic.value(number, widest, ANNS_CARD | {"bank": "b", "more": "m"})
        assert values_of(only.read(widest_row)) == [{"Order": None}]

        refund = topic.add("com.shop.Refund", schema(form, PAID, "com.shop.Refund"))
        refunded = topic.value(refund, PAID, ANNS_CARD)
        with pytest.raises(SchemaEvolvedError, match=r"record types that .* lack: com.shop.Refund"):
            matching.read(refunded)
        with pytest.raises(MalformedRecordError, match=r"is unknown: value\.subjects"):
            named.read(refunded)
        (row,) = topic.query(pattern).read(refunded)
        assert row["value"]["Refund"] == ANNS_CARD


@pytest.mark.parametrize("lists_places", [True, False])
def test_a_union_with_a_new_type(lists_places: bool) -> None:
    order = json.loads(schema(AVRO, SECOND, ORDER))
    payment = json.loads(schema(AVRO, PAID, PAYMENT))
    with registry(subjects()) as fake:
        topic = Types(AVRO, fake)
        topic.lists_places = lists_places
        topic.add("orders-value", json.dumps([order]))
        query = topic.query({"value.schema.evolution": "restart"})
        number = topic.add("orders-value", json.dumps([order, payment]))
        value = PREFIX.frame(AVRO, number, b"\0" + AVRO.encode(SECOND, ANN))
        with pytest.raises(SchemaEvolvedError, match="record types that the query's columns lack"):
            query.read(value)


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_an_older_version_has_the_wanted_field(form: Form) -> None:
    with types(form) as topic:
        topic.add(PAYMENT, schema(form, pa.struct([ID]), PAYMENT))
        wanted = pa.struct([("Payment", pa.struct([("card", pa.string())]))])
        (row,) = topic.query(types={"value": wanted}).read(topic.value(2, PAID, ANNS_CARD))
        assert row["value"] == {"Payment": {"card": "visa"}}


def test_a_type_that_differs_between_subjects() -> None:
    with types(AVRO) as topic:
        topic.add("orders-value", schema(AVRO, PAID, ORDER))
        with pytest.raises(KafkaConfigError, match="has different schemas: version 1 of the subj"):
            topic.query()


@pytest.mark.parametrize(
    ("form", "text", "reason"),
    [
        (AVRO, '["int", {"type": "array", "items": "int"}]', "the record type array has no name"),
        (JSON_SCHEMA, '{"type": "object"}', "it has no title, which is the name of its record"),
        (PROTOBUF, 'syntax = "proto3";', "it has no message"),
    ],
)
def test_types_without_names(form: Form, text: str, reason: str) -> None:
    with types(form) as topic:
        topic.add("orders-value", text)
        with pytest.raises(KafkaConfigError, match=f"cannot be found in .*: {reason}"):
            topic.query()


@pytest.mark.parametrize("has_type", [True, False])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_each_value_is_written_with_the_schema_of_its_type(form: Form, has_type: bool) -> None:
    with types(form) as topic:
        query = topic.query()
        rows = [A_PAYMENT, AN_ORDER, None, AN_ORDER, A_PAYMENT, A_PAYMENT]
        values = pa.array(rows, query.type)
        if not has_type:
            kept = [field for field in query.type if field.name != "_type"]
            values = pa.array(rows, pa.struct(kept[::-1]))
        payloads = topic.write(values)
        assert [each and each[:5] for each in payloads] == [
            row and b"\0\0\0\0" + (b"\1" if row["Order"] else b"\2") for row in rows
        ]
        order = topic.value(1, SECOND, ANN).payload
        assert order is not None
        assert payloads[1] is not None
        parsed = [form.parse(SECOND, each[5 + len(form.suffix) :]) for each in (order, payloads[1])]
        assert parsed[0] == parsed[1]
        assert values_of(query.read(*map(Value, payloads))) == rows


def test_a_value_of_a_union_is_written_with_its_number() -> None:
    texts = [json.loads(schema(AVRO, *each)) for each in ((SECOND, ORDER), (PAID, PAYMENT))]
    with registry(subjects()) as fake:
        topic = Types(AVRO, fake)
        topic.add("orders-value", json.dumps(["null", *texts]))
        rows = [A_PAYMENT, AN_ORDER]
        query = topic.query()
        payloads = topic.write(pa.array(rows, query.type))
        assert [each and each[5] for each in payloads] == [4, 2]
        assert values_of(query.read(*map(Value, payloads))) == rows


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({}, "no members of a value are not null: give one"),
        ({**AN_ORDER, "Payment": ANNS_CARD}, "2 members of a value are not null: give one"),
        ({**AN_ORDER, "_type": PAYMENT}, "_type: it is not 'com.shop.Order', whose member 'Order'"),
        ({**AN_ORDER, "_type": None}, "_type: it is not 'com.shop.Order', whose member 'Order'"),
    ],
)
def test_values_without_one_member(row: Row, reason: str) -> None:
    with types(AVRO) as topic:
        to = pa.struct([pa.field(each.name, each.type) for each in topic.query().type])
        with pytest.raises(PayloadError, match=reason):
            topic.write(pa.array([AN_ORDER, row], to))


@pytest.mark.parametrize(
    ("to", "more", "reason"),
    [
        (
            pa.string(),
            {},
            "string is not one of the record types: the column is a struct of some of",
        ),
        (pa.struct([("_type", pa.string())]), {}, "is not one of the record types"),
        (pa.struct([("Order", SECOND)] * 2), {}, "the field 'Order' is there twice: name it once"),
        (pa.struct([("_type", pa.int32()), ("Order", SECOND)]), {}, "_type is not a string"),
        (pa.struct([("Refund", pa.string())]), {}, "the field 'Refund' is not one of the record"),
        (pa.struct([("Order", pa.string())]), {}, "the record type 'Order': string cannot be writ"),
        (SECOND, {"auto.register.schemas": "true"}, "'auto.register.schemas' makes a schema of"),
        (SECOND, {"use.latest.version": "false"}, "'use.latest.version' makes a schema of the col"),
        (SECOND, {"value.subjects.pattern": ".*"}, r"value\.subjects\.pattern"),
    ],
)
def test_columns_that_have_no_types(to: pa.DataType, more: Mapping[str, str], reason: str) -> None:
    with types(AVRO) as topic, pytest.raises(KafkaConfigError, match=reason):
        topic.write(pa.nulls(1, to), more)


@pytest.mark.parametrize("form", FORMS, ids=str)
@given(data=st.data())
def test_many_payloads_are_read_as_each_by_itself(form: Form, data: st.DataObject) -> None:
    with types(form) as topic:
        query = topic.query(PERMISSIVE, columns=("value", "_error"))
        texts = st.text(max_size=3)
        numbers = st.integers(-(2**63), 2**63 - 1)
        orders = st.builds(
            lambda n, who: topic.value(1, SECOND, {"id": n, "who": who}), numbers, texts
        )
        paid = st.builds(
            lambda n, card: topic.value(2, PAID, {"id": n, "card": card}), numbers, texts
        )
        framed = st.builds(
            lambda number, rest: PREFIX.frame(form, number, rest),
            st.sampled_from([1, 2, 9]),
            st.binary(max_size=4),
        )
        some = st.one_of(orders, paid, framed, st.just(NULL), st.binary(max_size=7).map(Value))
        batches = data.draw(st.lists(st.lists(some, max_size=9), max_size=3))
        alone = [row for batch in batches for value in batch for row in query.read(value)]
        assert query.read_batches(*batches) == alone
