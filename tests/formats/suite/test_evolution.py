"""`value.schema.evolution=restart`: a query stops at payloads with fields that its columns lack.

The values that a format cannot hold are in `test_losses` of each format.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pytest

from kafka_formats.errors import RegistryError, SchemaEvolvedError
from kafka_formats.options.settings import Format
from kafka_formats.query.formats import FORMATS
from tests.config_error import config_error
from tests.fakes.registry import Reply, subjects
from tests.formats.suite.form import Form
from tests.formats.suite.forms import each_form, each_registered
from tests.formats.suite.places import HEADER, PREFIX, Place
from tests.formats.suite.reading import NULL, Query, Value
from tests.formats.suite.topics import (
    ANN,
    DROPMALFORMED,
    FIRST,
    ID,
    PERMISSIVE,
    SECOND,
    each_place,
    topic,
)

RESTART: Final = {"value.schema.evolution": "restart"}
EXACT: Final = {"value.schema.evolution": "exact"}
OLDER: Final = "[KAFKA_OLDER_SCHEMA]"
NEW, INCOMPATIBLE = "[KAFKA_SCHEMA_EVOLVED]", "[KAFKA_SCHEMA_INCOMPATIBLE]"


def stops_at(query: Query, *values: Value) -> str:
    """What a query says at the value that it stops at."""
    with pytest.raises(SchemaEvolvedError) as raised:
        query.read(*values)
    return str(raised.value)


def read(query: Query, *values: Value) -> list[Any]:
    return [row["value"] for row in query.read(*values)]


def version(form: Form, columns: pa.StructType, schema_id: int) -> dict[str, Any]:
    return {"id": schema_id, "schema": form.schema(columns), "schemaType": form.kind}


@each_place(PREFIX, HEADER)
@pytest.mark.parametrize("mode", ["FAILFAST", "PERMISSIVE", "DROPMALFORMED"])
def test_a_new_field_stops_the_query_in_each_mode(form: Form, place: Place, mode: str) -> None:
    with topic(form, place, FIRST) as orders:
        query = orders.query(more={**RESTART, "mode": mode})
        old = orders.value(1, {"id": 5})
        assert read(query, old, NULL) == [{"id": 5}, None]
        orders.add(SECOND)
        message = stops_at(query, old, NULL, orders.value(2, ANN))
    assert message == (
        f"{NEW} The value of orders-3 at offset 42 has version 2 of the subject 'orders-value' "
        "(schema id 2), with fields that the query's columns lack: value.who string. Start the "
        "query again: it has them then. If .schema(...) names its fields, add them there."
    )


@each_registered
def test_the_query_has_the_field_when_it_is_started_again(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        query = orders.query(more=RESTART)
        values = orders.value(1, {"id": 5}), orders.value(2, ANN)
        assert read(query, *values) == [{"id": 5, "who": None}, ANN]


def lines(*more: pa.Field) -> pa.StructType:
    item = pa.field("element", pa.struct([pa.field("sku", pa.string()), *more]), nullable=False)
    return pa.struct([pa.field("lines", pa.list_(item), nullable=False)])


@each_registered
def test_fields_at_any_depth_are_named_with_spark_types(form: Form) -> None:
    tags = pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))
    taxed = lines(pa.field("tax", pa.float64()))
    newer = pa.struct([*taxed, pa.field("tags", tags, nullable=False)])
    with topic(form, PREFIX, lines()) as orders:
        query = orders.query(more=RESTART)
        orders.add(newer)
        message = stops_at(query, orders.value(2, {"lines": [], "tags": [("a", 1)]}))
    assert "lack: value.lines[].tax double, value.tags map<string, int>." in message


@each_registered
def test_an_older_version_with_a_field_that_is_gone_is_read(form: Form) -> None:
    with topic(form, PREFIX, SECOND, FIRST) as orders:
        query = orders.query(more=RESTART)
        before = len(orders.fake.paths)
        old = orders.value(1, ANN)
        assert read(query, old, orders.value(2, {"id": 5})) == [{"id": 6}, {"id": 5}]
        assert read(query, old) == [{"id": 6}]
        assert orders.fake.paths[before:] == ["/schemas/ids/1/versions"] * 2


@each_registered
def test_exact_stops_also_at_an_older_version_with_a_field_that_is_gone(form: Form) -> None:
    with topic(form, PREFIX, SECOND, FIRST) as orders:
        query = orders.query(more=EXACT)
        assert read(query, orders.value(2, {"id": 5}), NULL) == [{"id": 5}, None]
        message = stops_at(query, orders.value(2, {"id": 5}), orders.value(1, ANN))
    assert message == (
        f"{OLDER} The value of orders-3 at offset 41 has the schema with id 1, which is not a "
        "newer version of the query's, with fields that the newest version lacks: value.who "
        "string. "
        "Register a version that has them, too, as fields that may be missing; or set "
        "value.schema.evolution to restart: they are left out then."
    )


@each_registered
def test_exact_reads_an_older_version_whose_fields_are_all_there(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        query = orders.query(more=EXACT)
        values = orders.value(1, {"id": 5}), orders.value(2, ANN)
        assert read(query, *values) == [{"id": 5, "who": None}, ANN]


@each_registered
def test_exact_stops_at_a_newer_version_as_restart_does(form: Form) -> None:
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more=EXACT)
        orders.add(SECOND)
        assert f"{NEW} The value of orders-3 at offset 40 has version 2 " in stops_at(
            query, orders.value(2, ANN)
        )


@each_registered
def test_exact_stops_at_a_schema_of_another_subject(form: Form) -> None:
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more=EXACT)
        first, other = version(form, FIRST, 1), version(form, SECOND, 9)
        orders.fake.respond = subjects(orders__value=[first], other=[other])
        message = stops_at(query, orders.framed(9, form.encode(SECOND, ANN)))
    assert message == (
        f"{OLDER} The value of orders-3 at offset 40 has the schema with id 9, which is of another "
        "subject than 'orders-value'. Set value.schema.evolution to restart: it is read as the "
        "newest version then, as far as it can."
    )


@each_registered
def test_exact_stops_at_an_older_version_with_other_types(form: Form) -> None:
    text = pa.struct([pa.field("id", pa.string(), nullable=False)])
    with topic(form, PREFIX, text, FIRST) as orders:
        query = orders.query(more={**EXACT, **PERMISSIVE})
        message = stops_at(query, orders.value(1, {"id": "five"}))
    assert f"{OLDER} The value of orders-3 at offset 40 has the schema with id 1" in message
    assert "and cannot be read as the newest version: " in message


@each_registered
def test_a_version_that_brings_an_old_schema_back_stops_the_query(form: Form) -> None:
    with topic(form, PREFIX, SECOND, FIRST) as orders:
        query = orders.query(more=RESTART)
        # Registries keep the id of a schema.
        first, second = version(form, SECOND, 1), version(form, FIRST, 2)
        orders.fake.respond = subjects(orders__value=[first, second, first])
        message = stops_at(query, orders.value(1, ANN))
    assert f"{NEW} The value of orders-3 at offset 40 has version 3 " in message


@each_registered
def test_a_schema_of_another_subject_stops_nothing(form: Form) -> None:
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more=RESTART)
        first, other = version(form, FIRST, 1), version(form, SECOND, 9)
        orders.fake.respond = subjects(orders__value=[first], other=[other])
        assert read(query, orders.framed(9, form.encode(SECOND, ANN))) == [{"id": 6}]


@each_registered
def test_the_first_of_two_changes_in_a_batch_is_named(form: Form) -> None:
    third = pa.struct([*SECOND, pa.field("size", pa.int32(), nullable=False)])
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more=RESTART)
        orders.add(SECOND)
        orders.add(third)
        values = [orders.value(2, ANN), orders.value(3, {**ANN, "size": 1})]
        old = orders.value(1, {"id": 5})
        assert "at offset 41 has version 2 " in stops_at(query, old, *values)
        assert "at offset 41 has version 3 " in stops_at(query, old, *reversed(values))


@each_registered
def test_what_cannot_be_read_is_told_apart(form: Form) -> None:
    text = pa.struct([pa.field("id", pa.string(), nullable=False)])
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more=RESTART)
        orders.add(text)
        message = stops_at(query, orders.value(2, {"id": "x"}))
    assert message.startswith(f"{INCOMPATIBLE} The value of orders-3 at offset 40 has version 2 ")
    assert "value.id has the type string, not bigint" in message
    assert "value.schema.evolution to none" in message


@each_registered
def test_a_removed_field_that_can_be_null_is_null(form: Form) -> None:
    with topic(form, PREFIX, SECOND) as orders:
        query = orders.query(more=RESTART)
        orders.add(FIRST)
        assert read(query, orders.value(2, {"id": 5})) == [{"id": 5, "who": None}]


@each_form(where=lambda form: form.resolves)
def test_a_removed_field_without_a_default_cannot_be_read(form: Form) -> None:
    sized = pa.struct([ID, pa.field("size", pa.int64(), nullable=False)])
    with topic(form, PREFIX, sized) as orders:
        query = orders.query(more=RESTART)
        orders.add(FIRST)
        message = stops_at(query, orders.value(2, {"id": 5}))
    assert message.startswith(f"{INCOMPATIBLE} ")
    assert "'size'" in message


@each_registered
def test_a_payload_without_a_known_schema_is_broken_as_before(form: Form) -> None:
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more={**RESTART, **DROPMALFORMED})
        unknown = orders.framed(99, form.encode(FIRST, {"id": 1}))
        found = read(query, unknown, Value(b"x"), orders.value(1, {"id": 5}))
    assert found == [*([] if form.needs_written_schema else [{"id": 1}]), {"id": 5}]


@each_registered
def test_a_registry_that_is_away_fails_the_task(form: Form) -> None:
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more=RESTART)
        orders.add(SECOND)
        orders.fake.respond = lambda _: Reply(503)
        with pytest.raises(RegistryError, match=r"schema id 2: .* with 503"):
            query.read(orders.value(2, ANN))


@each_registered
def test_a_field_that_is_not_wanted_may_change(form: Form) -> None:
    changed = pa.struct([ID, pa.field("who", pa.int64())])
    with topic(form, PREFIX, SECOND) as orders:
        part = pa.struct([pa.field("id", pa.int64())])
        query = orders.query(more=RESTART, types={"value": part})
        orders.add(changed)
        assert read(query, orders.value(2, {"id": 6, "who": 7})) == [{"id": 6}]


@each_registered
def test_a_newer_version_of_another_format(form: Form) -> None:
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more={**RESTART, **DROPMALFORMED})
        other = {"id": 2, "schema": "{}", "schemaType": "XML"}
        orders.fake.respond = subjects(orders__value=[version(form, FIRST, 1), other])
        message = stops_at(query, orders.framed(2, form.encode(FIRST, {"id": 1})))
    assert f"schema id 2 is of the kind XML, not {form.kind}" in message


@pytest.mark.many_inputs
@each_registered
@pytest.mark.parametrize("tells_places", [True, False])
def test_a_version_far_behind_the_latest(form: Form, *, tells_places: bool) -> None:
    """However many versions are between that of the query, the payload's and the latest."""
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more=RESTART)
        newer = [pa.struct([ID, pa.field(f"note{at}", pa.string())]) for at in range(2, 303)]
        versions = [version(form, each, at) for at, each in enumerate([FIRST, *newer], 1)]
        orders.fake.respond = subjects(tells_places, orders__value=versions)
        second = orders.framed(2, form.encode(newer[0], {"id": 6, "note2": None}))
        before = len(orders.fake.paths)
        assert "has version 2 of the subject" in stops_at(query, second)
        if tells_places:
            assert {each.partition("?")[0] for each in orders.fake.paths[before:]} == {
                *("/schemas/ids/2/versions", "/schemas/ids/2")
            }
        # Versions are asked for once by a process.
        before = len(orders.fake.paths)
        assert "has version 2 of the subject" in stops_at(query, second)
        assert len(orders.fake.paths) - before <= 2


@each_registered
@pytest.mark.parametrize("tells_places", [True, False])
def test_nothing_of_a_schema_of_others_is_compiled(
    monkeypatch: pytest.MonkeyPatch, form: Form, *, tells_places: bool
) -> None:
    """Records may have any id of the registry, of schemas that anybody registers."""
    with topic(form, PREFIX, FIRST) as orders:
        query = orders.query(more={**RESTART, **PERMISSIVE})
        own = version(form, FIRST, 1)
        other = {**own, "id": 9, "schema": own["schema"] + " "}
        orders.fake.respond = subjects(tells_places, orders__value=[own], other=[other])

        def compiles(*_: Any) -> None:
            pytest.fail("a schema of another subject is compiled")

        for name in ("type_of", "losses", "check_part"):
            monkeypatch.setattr(type(FORMATS[Format(form.format)]), name, compiles)
        monkeypatch.setattr("kafka_formats.protobuf.descriptors.compiled", compiles)
        query.read(orders.framed(9, form.encode(FIRST, {"id": 5})))


@each_form(where=lambda form: form.tree)
def test_a_schema_that_cannot_be_read_whole_is_refused(form: Form) -> None:
    with topic(form, PREFIX, form.tree) as orders:
        part = {"value": pa.struct([pa.field("id", pa.int64())])}
        error = config_error(orders.query, more=RESTART, types=part)
    assert "'value.schema.evolution' needs a schema that can be read whole" in error
