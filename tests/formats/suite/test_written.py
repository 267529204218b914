"""Rows are written with the registry's schema, a user's or that of the column; or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
import pytest

from kafka_formats.errors import NotFoundError, PayloadError, SchemaError
from kafka_formats.options.settings import SubjectNameStrategy
from tests.config_error import config_error
from tests.fakes.registry import Received, Reply
from tests.formats.suite.form import NAME, Form
from tests.formats.suite.forms import each_form, each_registered
from tests.formats.suite.places import GIVEN, PREFIX, id_of
from tests.formats.suite.reading import written
from tests.formats.suite.topics import ANN, FIRST, SECOND, Topic, topic

ROWS: Final = pa.array([ANN], SECOND)
REGISTER: Final = {"auto.register.schemas": "true"}
OF_THE_COLUMN: Final = {"use.latest.version": "false"}
METADATA: Final = {"use.latest.with.metadata": "env=a"}
BY_NAME: Final = {"value.subject.name.strategy": "RecordNameStrategy"}
KNOWN, REGISTERED = 8, 9


def check(form: Form, payload: bytes | None, schema_id: int | None) -> None:
    """A payload has an id, and the row."""
    frame = b"" if schema_id is None else id_of(schema_id) + form.suffix
    assert payload is not None
    assert payload.startswith(frame)
    assert form.parse(SECOND, payload[len(frame) :]) == form.parse(SECOND, form.encode(SECOND, ANN))


def registering(request: Received) -> Reply:
    """A registry that finds any schema in the subject `known`, and registers others."""
    path = request.path.partition("?")[0]
    if path.endswith("/versions"):
        return Reply(values={"id": REGISTERED})
    if path == "/subjects/known":
        return Reply(values={"subject": "known", "version": 1, "id": KNOWN, **request.body})
    return Reply(404, {"error_code": 40403})


def given(orders: Topic, subject: str | None = None) -> dict[str, str]:
    """The option with the schema, and perhaps a subject."""
    named = {} if subject is None else {"value.subject": subject}
    return {"value.schema": orders.texts[0], **named}


@each_registered
def test_the_latest_version_of_the_topics_subject(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        (payload,) = orders.write(ROWS)
        assert orders.fake.paths[0] == "/subjects/orders-value/versions/latest"
    check(form, payload, 2)


@each_form()
def test_without_a_registry_there_is_no_id(form: Form) -> None:
    with topic(form, GIVEN) as orders:
        (payload,) = orders.write(ROWS)
    check(form, payload, None)


@each_form(where=lambda form: form.needs_no_schema)
def test_the_type_of_the_column_is_schema_enough(form: Form) -> None:
    rows = pa.RecordBatch.from_arrays([ROWS], ["value"])
    check(form, written({"value.format": form.format}, rows)["value"][0].as_py(), None)


@each_registered
@pytest.mark.parametrize("more", [{}, OF_THE_COLUMN], ids=["latest", "of the column"])
def test_the_latest_version_with_metadata(form: Form, more: Mapping[str, str]) -> None:
    def respond(request: Received) -> Reply:
        path = request.path.partition("?format")[0]
        assert path in {
            "/subjects/orders-value/metadata?key=env&value=a",
            "/subjects/orders-value/versions/3",
        }
        version = {"subject": "orders-value", "version": 3, "id": 7}
        return Reply(values={**version, "schema": form.schema(SECOND), "schemaType": form.kind})

    with topic(form) as orders:
        orders.fake.respond = respond
        (payload,) = orders.write(ROWS, {**METADATA, **more})
    check(form, payload, 7)


@each_registered
def test_a_schema_of_the_user_must_be_in_the_subject(form: Form) -> None:
    with topic(form) as orders:
        orders.fake.respond = registering
        (payload,) = orders.write(ROWS, given(orders, "known"))
        error = config_error(orders.write, ROWS, given(orders, "other"))
    check(form, payload, KNOWN)
    assert error == (
        "The schema of the values, the option value.schema, is not in the subject 'other': "
        "register it there, or set auto.register.schemas to true."
    )


@each_registered
def test_a_schema_of_the_user_can_be_registered(form: Form) -> None:
    with topic(form) as orders:
        orders.fake.respond = registering
        (payload,) = orders.write(ROWS, {**given(orders), **REGISTER})
        assert orders.fake.paths == ["/subjects/orders-value/versions?normalize=false"]
        assert orders.fake.received[0].body["schema"] == orders.texts[0]
    check(form, payload, REGISTERED)


@each_form(where=lambda form: form.kind and form.derived is not None)
def test_the_schema_of_the_column_is_looked_up_or_registered(form: Form) -> None:
    known = {**OF_THE_COLUMN, "value.subject": "known"}
    nullable = pa.array([ANN], pa.struct([("id", pa.int64()), ("who", pa.string())]))
    with topic(form) as orders:
        orders.fake.respond = registering
        (found,) = orders.write(nullable, known)
        orders.write(nullable, {**known, "normalize.schemas": "true"})
        (made,) = orders.write(nullable, REGISTER)
        error = config_error(orders.write, nullable, {**known, "value.subject": "other"})
        paths = orders.fake.paths
        bodies = [each.body["schema"] for each in orders.fake.received]
    assert paths[:2] == ["/subjects/known?normalize=false", "/subjects/known?normalize=true"]
    assert paths[2] == "/subjects/orders-value/versions?normalize=false"
    assert len({*bodies}) == 1
    assert "the schema of the column, is not in the subject 'other'" in error
    for payload, schema_id in ((found, KNOWN), (made, REGISTERED)):
        assert (payload or b"").startswith(id_of(schema_id))
    # It is read again with the schema that was made.
    with topic(form, PREFIX, bodies[0]) as again:
        assert again.query(["value"]).read(again.framed(1, (made or b"")[5:])) == [{"value": ANN}]


@each_form(where=lambda form: form.kind and form.derived is not None)
def test_the_subject_follows_from_the_name_of_the_schema_of_the_column(form: Form) -> None:
    with topic(form) as orders:
        orders.fake.respond = registering
        if form.derived:
            orders.write(ROWS, {**REGISTER, **BY_NAME})
            assert orders.fake.paths == [f"/subjects/{form.derived}/versions?normalize=false"]
        else:
            assert config_error(orders.write, ROWS, {**REGISTER, **BY_NAME}) == (
                "The subject of the values follows from the name of their schema "
                "(RecordNameStrategy), and it has no name: set value.schema to a schema with a "
                "name, or value.subject to the registry's subject."
            )


@each_form(where=lambda form: form.derived is None)
def test_no_schema_is_made_where_it_would_not_stay_the_same(form: Form) -> None:
    with topic(form) as orders:
        for more in (REGISTER, OF_THE_COLUMN):
            with pytest.raises(SchemaError, match="is not made from a column"):
                orders.write(ROWS, more)


@each_registered
def test_a_schema_by_its_id_needs_no_subject(form: Form) -> None:
    with topic(form, PREFIX, SECOND) as orders:
        (payload,) = orders.write(ROWS, {"value.schema": "id:1"}, None)
        assert {each.partition("?")[0] for each in orders.fake.paths} == {"/schemas/ids/1"}
    check(form, payload, 1)


@each_registered
def test_a_type_that_does_not_fit_is_refused(form: Form) -> None:
    texts = pa.array([{"id": "x"}], pa.struct([("id", pa.string()), ("who", pa.string())]))
    with topic(form) as orders:
        error = config_error(orders.write, texts)
    assert error.startswith(
        "Column 'value' cannot be written with version 1 of the subject 'orders-value' (id 1): "
        "the field 'id'"
    )


@each_registered
def test_rows_with_topics_of_their_own_need_a_subject(form: Form) -> None:
    with topic(form) as orders:
        assert "set value.subject" in config_error(orders.write, ROWS, {}, None)
        (payload,) = orders.write(ROWS, {"value.subject": "orders-value"}, None)
    check(form, payload, 1)


@each_registered
@pytest.mark.parametrize(
    ("strategy", "topic_of_rows", "subject"),
    [
        (SubjectNameStrategy.RECORD, "orders", NAME),
        (SubjectNameStrategy.RECORD, None, NAME),
        (SubjectNameStrategy.TOPIC_RECORD, "orders", f"orders-{NAME}"),
    ],
)
def test_the_subject_follows_from_the_name_of_the_schema(
    form: Form, strategy: SubjectNameStrategy, topic_of_rows: str | None, subject: str
) -> None:
    with topic(form) as orders:
        orders.fake.respond = registering
        more = {**given(orders), **REGISTER, "value.subject.name.strategy": strategy.value}
        orders.write(ROWS, more, topic_of_rows)
        assert orders.fake.paths == [f"/subjects/{subject}/versions?normalize=false"]


@each_registered
def test_a_subject_that_does_not_exist(form: Form) -> None:
    with topic(form) as orders:
        orders.fake.respond = lambda _: Reply(404, {"error_code": 40401})
        with pytest.raises(NotFoundError) as raised:
            orders.write(ROWS)
    assert str(raised.value).startswith("subject 'orders-value', version latest: ")
    assert str(raised.value).endswith(
        "To register the schema of the column there, set auto.register.schemas to true"
    )


@each_form()
def test_nulls_stay_and_other_columns_too(form: Form) -> None:
    values = pa.array([None, ANN, None], SECOND)
    rows = pa.RecordBatch.from_arrays([values, pa.array(["a", "b", "c"])], ["value", "key"])
    with topic(form, GIVEN) as orders:
        found = written(orders.options, rows)
        payloads = found["value"].to_pylist()
        nothing = [orders.write(values[:0]), orders.write(values[:1])]
    assert found.schema == pa.schema({"value": pa.binary(), "key": pa.string()})
    assert found["key"].to_pylist() == ["a", "b", "c"]
    assert [payloads[0], payloads[2], *nothing] == [None, None, [], [None]]
    check(form, payloads[1], None)


@each_form()
def test_a_slice_of_rows(form: Form) -> None:
    with topic(form, GIVEN) as orders:
        (payload,) = orders.write(pa.array([None, ANN, ANN], SECOND).slice(1, 1))
    check(form, payload, None)


@each_form()
def test_keys_have_a_schema_of_their_own(form: Form) -> None:
    key = {"key.format": form.format, "key.schema": form.schema(FIRST)}
    with topic(form, GIVEN) as orders:
        only_values = pa.RecordBatch.from_arrays([ROWS], ["value"])
        keys = pa.array([{"id": 5}], FIRST)
        rows = only_values.append_column("key", keys)
        found = written({**orders.options, **key}, rows)
        assert written({**orders.options, **key}, only_values).schema.names == ["value"]
    assert form.parse(FIRST, found["key"][0].as_py()) == form.parse(
        FIRST, form.encode(FIRST, {"id": 5})
    )
    check(form, found["value"][0].as_py(), None)


@each_form(where=lambda form: form.null_item)
def test_errors_name_the_column_and_the_field(form: Form) -> None:
    tags = pa.struct([pa.field("tags", pa.list_(pa.field("element", pa.string(), nullable=False)))])
    nulls = pa.array([{"tags": [None]}], pa.struct([("tags", pa.list_(pa.string()))]))
    with topic(form, GIVEN, tags) as orders:
        with pytest.raises(PayloadError) as raised:
            orders.write(nulls)
        error = config_error(orders.write, pa.array([{"more": "x"}]))
    assert str(raised.value) == f"value.{form.null_item}"
    assert "Column 'value' cannot be written with the option value.schema: " in error


@each_form(where=lambda form: form.null_item)
def test_a_type_that_is_not_known_before_its_rows(form: Form) -> None:
    rows = pa.RecordBatch.from_arrays([ROWS], ["value"])
    other = pa.RecordBatch.from_pydict({"value": pa.array([{"more": "x"}])})
    with topic(form, GIVEN) as orders:
        found = written(orders.options, rows, types_are_known=False)
        with pytest.raises(SchemaError, match=r"^column 'value': .* field '"):
            written(orders.options, other, types_are_known=False)
    check(form, found["value"][0].as_py(), None)
