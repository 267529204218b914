"""Broken payloads, by mode: an error that names them, null with the reason, or left out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pytest

from kafka_formats.errors import (
    MalformedRecordError,
    PayloadError,
    SchemaError,
    UnknownSchemaError,
)
from tests.fakes.registry import subjects
from tests.formats.suite.form import Form
from tests.formats.suite.forms import each_form
from tests.formats.suite.places import GIVEN, WITH_IDS, Place
from tests.formats.suite.reading import FIRST_OFFSET, NULL, TOPIC, Value
from tests.formats.suite.topics import (
    ANN,
    DROPMALFORMED,
    PERMISSIVE,
    SECOND,
    WHO,
    Topic,
    each_place,
    topic,
)
from tests.secret_check import PASSWORD

pytestmark = pytest.mark.usefixtures("aws")

WITH_FAULTS: Final = ("value", "offset", "_error", "_raw")


def cut(orders: Topic) -> Value:
    return orders.framed(1, orders.form.encode(SECOND, ANN)[:-1])


def not_text(orders: Topic) -> Value:
    return orders.framed(1, orders.form.encode(SECOND, ANN).replace(b"ann", b"a\xffn"))


def about(orders: Topic, version: int = 1) -> str:
    """How a reason begins."""
    return f"the value{orders.place.about(version)}: "


@each_place()
@pytest.mark.parametrize("broken", [cut, not_text])
def test_fault_61_failfast_names_the_record_the_schema_the_field_and_the_reason(
    form: Form, place: Place, broken: Callable[[Topic], Value]
) -> None:
    reason = form.cut if broken is cut else form.not_text
    with topic(form, place) as orders:
        given = [orders.value(1, ANN), broken(orders), broken(orders)]
        with pytest.raises(MalformedRecordError) as raised:
            orders.query().read(*given)
        assert f"{TOPIC}-3 at offset 41: {about(orders)}{reason}" in str(raised.value)
    assert "mode to PERMISSIVE" in str(raised.value)


@each_place()
def test_fault_61_permissive_gives_null_the_reason_and_the_payload(
    form: Form, place: Place
) -> None:
    with topic(form, place) as orders:
        given = [orders.value(1, ANN), cut(orders), not_text(orders), NULL, orders.value(1, ANN)]
        rows = orders.query(WITH_FAULTS, PERMISSIVE).read(*given)
        reasons = [f"{about(orders)}{each}" for each in (form.cut, form.not_text)]
        alone = orders.query(["_error"], PERMISSIVE).read(*given)
        without = orders.query(["value"], PERMISSIVE).read(*given)
    assert [row["value"] for row in rows] == [ANN, None, None, None, ANN]
    assert [row["_raw"] for row in rows] == [None, given[1].payload, given[2].payload, None, None]
    errors = [row["_error"] for row in rows]
    assert [errors[0], *errors[3:]] == [None] * 3
    assert [each.startswith(why) for each, why in zip(errors[1:3], reasons, strict=True)]
    assert [row["_error"] for row in alone] == errors
    assert [row["value"] for row in without] == [row["value"] for row in rows]


@each_place()
def test_fault_61_dropmalformed_leaves_records_out_and_counts_them(
    form: Form, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    with topic(form, place) as orders, caplog.at_level(logging.WARNING):
        good = orders.value(1, ANN)
        batches = [good, cut(orders), not_text(orders), NULL], [cut(orders)], [good]
        rows = orders.query(more=DROPMALFORMED).read_batches(*batches)
        first = f"orders-3 at offset 41: {about(orders)}{form.cut}"
    assert [row["offset"] for row in rows] == [40, 43, 40]
    assert f"and others may follow: {first}" in caplog.text
    assert "could not be decoded: 3." in caplog.text
    assert caplog.text.count("A record is dropped") == 1


@each_form()
@pytest.mark.parametrize("count", [3, 5_000])
def test_fault_61_one_broken_payload_spoils_no_other(form: Form, count: int) -> None:
    with topic(form, GIVEN) as orders:
        rows = [orders.value(1, {"id": each, "who": f"{each}"}) for each in range(count)]
        rows[count // 2] = cut(orders)
        found = orders.query(["value", "offset"], PERMISSIVE).read(*rows)
    assert [row["offset"] - FIRST_OFFSET for row in found if row["value"] is None] == [count // 2]
    assert found[-1]["value"] == {"id": count - 1, "who": f"{count - 1}"}


@each_place(*WITH_IDS)
def test_fault_61_payloads_without_an_id_or_of_an_unknown_one(form: Form, place: Place) -> None:
    """Payloads that name their fields need no schema of theirs."""
    with topic(form, place) as orders:
        unknown = orders.framed(77, form.encode(SECOND, ANN))
        given = [unknown, Value(b"x"), Value(b""), orders.value(1, ANN)]
        rows = orders.query(WITH_FAULTS, PERMISSIVE).read(*given)
        about_unknown = about(orders, 77)
    assert [row["value"] for row in rows[1:]] == [None, None, ANN]
    errors = [row["_error"] for row in rows]
    if form.needs_written_schema:
        assert errors[0].startswith(about_unknown)
        assert place.unknown in errors[0]
    else:
        assert rows[0]["value"] == ANN
    assert errors[1].startswith(f"the value: {place.without}")
    assert errors[2].startswith("the value: it has ")


@each_place(*WITH_IDS, where=lambda form: form.misfit)
def test_fault_61_a_payload_whose_schema_does_not_fit(form: Form, place: Place) -> None:
    text = pa.struct([pa.field("id", pa.string(), nullable=False), WHO])
    with topic(form, place, text, SECOND) as orders:
        given = [orders.value(1, {"id": "x", "who": None}), orders.value(2, ANN)]
        rows = orders.query(WITH_FAULTS, PERMISSIVE).read(*given)
        reason = f"{about(orders)}{form.misfit}"
    assert [row["value"] for row in rows] == [None, ANN]
    assert rows[0]["_error"].startswith(reason)


@each_form(where=lambda form: form.kind and form.needs_written_schema)
def test_a_fault_tells_its_kind_and_no_secret(form: Form) -> None:
    secret = {
        "schema.registry.basic.auth.credentials.source": "USER_INFO",
        "schema.registry.basic.auth.user.info": f"me:{PASSWORD}",
    }
    with topic(form) as orders:
        query = orders.query(more={**DROPMALFORMED, **secret}, puts_aside=True)
        orders.fake.respond = subjects(other=[{"id": 3, "schema": "", "schemaType": "XML"}])
        payload = form.encode(SECOND, ANN)
        query.read(*(orders.framed(at, payload) for at in (77, 3)), cut(orders), Value(b"?"))
    faults = [fault for _, broken in query.aside for _, fault in broken.faults]
    kinds = [UnknownSchemaError, SchemaError, PayloadError, PayloadError]
    assert [each.kind for each in faults] == kinds
    assert not any(PASSWORD in str(each) for each in faults)


@each_form()
def test_fault_61_keys_and_values_have_faults_of_their_own(form: Form) -> None:
    with topic(form, GIVEN) as orders:
        key = {"key.format": form.format, "key.schema": form.schema(SECOND), **PERMISSIVE}
        query = orders.query(["key", *WITH_FAULTS, "_raw_key"], key)
        good, broken = orders.value(1, ANN), cut(orders)
        rows = query.read(
            *(good, good, broken, broken),
            keys=[good.payload, broken.payload, good.payload, broken.payload],
        )
    assert [row["key"] for row in rows] == [ANN, None, ANN, None]
    assert [row["value"] for row in rows] == [ANN, ANN, None, None]
    whole, part = good.payload, broken.payload
    assert [row["_raw"] for row in rows] == [None, whole, part, part]
    assert [row["_raw_key"] for row in rows] == [None, part, whole, part]
    errors = [row["_error"] for row in rows[1:]]
    assert [each.startswith("the key: ") for each in errors] == [True, False, True]
    assert [each.startswith("the value: ") for each in errors] == [False, True, False]
    assert f"; the value: {form.cut}" in errors[2]


@each_place()
def test_dead_letters_are_records_as_they_came_before_the_rows_beside_them(
    form: Form, place: Place
) -> None:
    with topic(form, place) as orders:
        query = orders.query(more=DROPMALFORMED, puts_aside=True)
        good, broken = orders.value(1, ANN), cut(orders)
        rows = query.read(good, broken, good, keys=[b"a", b"b", b"c"])
        why = f"{about(orders)}{form.cut}"
    assert [row["offset"] for row in rows] == [40, 42]
    ((record, fault),) = query.aside
    assert (record["key"], record["value"]) == (b"b", broken.payload)
    assert record["timestampMs"] == 7
    assert (fault.topic, fault.partition, fault.offset) == ("orders", 3, 41)
    assert fault.reason.startswith(why)
