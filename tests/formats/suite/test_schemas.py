"""Which schema a read has: the registry's, by subject, version or id, or one that a user gives."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pytest

from kafka_formats.errors import NotFoundError, SchemaError
from kafka_formats.options.settings import Format
from kafka_formats.query.formats import FORMATS
from tests.config_error import config_error
from tests.fakes.registry import subjects
from tests.formats.suite.form import NAME, Form
from tests.formats.suite.forms import FORMS, each_form, each_registered
from tests.formats.suite.places import GIVEN, PREFIX, WITH_IDS, Place
from tests.formats.suite.reading import NULL, Query, columns_of
from tests.formats.suite.topics import ANN, FIRST, ID, PERMISSIVE, SECOND, WHO, each_place, topic

pytestmark = pytest.mark.usefixtures("aws")

OTHER: Final = pa.struct([pa.field("other", pa.string())])
BY_NAME: Final = {"value.subject.name.strategy": "RecordNameStrategy"}


def test_each_format_but_raw_is_in_the_suite() -> None:
    """With what it says of itself."""
    assert {*FORMATS} == {Format(form.format) for form in FORMS} == {*Format} - {Format.RAW}
    for form in FORMS:
        own = FORMATS[Format(form.format)]
        assert own.needs_written_schema == form.needs_written_schema
        assert (own.schema_to_read(pa.struct([WHO])) is not None) == form.needs_no_schema


def of(schema: str, number: int, form: Form) -> dict[str, Any]:
    """A version of a subject."""
    return {"id": number, "schema": schema, "schemaType": form.kind}


@each_place(*WITH_IDS)
def test_the_type_is_that_of_the_latest_version(form: Form, place: Place) -> None:
    with topic(form, place, FIRST, SECOND) as orders:
        assert columns_of(orders.options) == {"value": form.read_as(SECOND)}
        assert not [each for each in orders.fake.paths if each.endswith(("/versions", "/1"))]
        permissive = columns_of({**orders.options, **PERMISSIVE})
    assert permissive == {"value": pa.struct([pa.field("id", pa.int64()), WHO])}


@each_place(*WITH_IDS)
def test_a_version_can_be_chosen(form: Form, place: Place) -> None:
    with topic(form, place, FIRST, SECOND) as orders:
        options = {**orders.options, "value.subject.version": "1"}
        assert columns_of(options) == {"value": form.read_as(FIRST)}


@each_registered
def test_a_subject_can_be_chosen(form: Form) -> None:
    with topic(form) as orders:
        orders.fake.respond = subjects(mine=[of(form.schema(FIRST), 1, form)])
        options = {**orders.options, "value.subject": "mine"}
        for topics in (["orders"], []):
            assert columns_of(options, topics) == {"value": form.read_as(FIRST)}


@each_registered
def test_tasks_get_all_schemas_of_the_subject(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        query = orders.query()
        asked = len(orders.fake.paths)
        query.read(orders.value(1, {"id": 5}), orders.value(2, ANN))
        assert len(orders.fake.paths) == asked


@each_registered
def test_a_query_keeps_its_columns_when_the_latest_version_lacks_them(
    form: Form, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        topic(form, PREFIX, FIRST, SECOND, pa.struct([WHO])) as orders,
        caplog.at_level(logging.WARNING),
    ):
        orders.query(types={"value": pa.struct([pa.field("id", pa.int64()), WHO])})
    assert "read as version 2 of the subject 'orders-value' (id 2)" in caplog.text
    assert "There is version 3 of the subject 'orders-value' (id 3)" in caplog.text


@each_registered
def test_a_field_that_no_version_has(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        error = config_error(orders.query, types={"value": OTHER})
    assert error.startswith(
        "Column 'value' cannot be read as version 2 of the subject 'orders-value' (id 2): there "
        "is no field 'other'; there are id, who"
    )


@each_registered
def test_a_subject_that_does_not_exist(form: Form) -> None:
    with topic(form) as orders:
        orders.fake.respond = subjects()
        with pytest.raises(NotFoundError, match="subject 'orders-value', version latest: "):
            columns_of(orders.options)


@each_registered
def test_topics_of_one_schema_are_read_together(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        first, second = (of(text, at, form) for at, text in enumerate(orders.texts, 1))
        orders.fake.respond = subjects(a__value=[first, second], b__value=[{**second, "id": 5}])
        assert columns_of(orders.options, ["a", "b"]) == {"value": form.read_as(SECOND)}
        query = orders.query(topics=["a", "b"])
        asked = len(orders.fake.paths)
        assert query.read(orders.framed(5, form.encode(SECOND, ANN)))[0]["value"] == ANN
        assert len(orders.fake.paths) == asked


@each_registered
@pytest.mark.parametrize(("columns", "name"), [(FIRST, NAME), (SECOND, "Other")])
def test_topics_of_different_schemas_are_refused(
    form: Form, columns: pa.StructType, name: str
) -> None:
    with topic(form, PREFIX, SECOND) as orders:
        other = of(form.schema(columns, name), 5, form)
        orders.fake.respond = subjects(a__value=[of(orders.texts[0], 1, form)], b__value=[other])
        error = config_error(columns_of, orders.options, ["a", "b"])
    assert (
        "The values of the topics have different schemas, version 1 of the subject 'a-value'"
        in error
    )
    assert "read each topic with a query of its own, or set value.subject or value.schema" in error


@each_registered
def test_a_pattern_needs_a_subject(form: Form) -> None:
    with topic(form) as orders:
        error = config_error(columns_of, orders.options, [])
    assert "is not known yet (subscribePattern, or a column 'topic'): set value.subject" in error


@each_registered
def test_the_subject_follows_from_the_name_of_the_schema(form: Form) -> None:
    with topic(form, PREFIX, SECOND) as orders:
        orders.fake.respond = subjects(**{NAME: [of(orders.texts[0], 1, form)]})
        by_name = {**orders.options, **BY_NAME}
        query = Query({**by_name, "value.schema": orders.texts[0]}, topics=[])
        asked = len(orders.fake.paths)
        assert query.read(orders.value(1, ANN))[0]["value"] == ANN
        assert len(orders.fake.paths) == asked
        error = config_error(columns_of, by_name, [])
    assert "follows from the name of their schema (RecordNameStrategy), and it has no name" in error


@each_form()
def test_a_schema_of_the_user_is_a_text_or_a_file(form: Form, tmp_path: Path) -> None:
    with topic(form, GIVEN) as orders:
        file = tmp_path / "orders.schema"
        file.write_text(orders.texts[0])
        for given in (orders.texts[0], f"{file}"):
            query = orders.query(["value"], {"value.schema": given})
            assert query.read(orders.value(1, ANN)) == [{"value": ANN}]
        gone = {**orders.options, "value.schema": "no.schema"}
        error = config_error(columns_of, gone)
        assert "Option 'value.schema' must be a schema, the path of a file on the driver" in error
        with pytest.raises(SchemaError):
            columns_of({**orders.options, "value.schema": "{"})


@each_registered
def test_a_schema_of_the_user_for_payloads_with_ids(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        given = {"value.schema": orders.texts[0]}
        orders.fake.respond = subjects(other=[of(orders.texts[1], 2, form)])
        rows = orders.query(["value"], given).read(orders.value(2, ANN), NULL)
    assert rows == [{"value": {"id": 6}}, {"value": None}]


@each_place(*WITH_IDS)
def test_a_schema_by_its_id(form: Form, place: Place) -> None:
    assert place.id is not None
    with topic(form, place, FIRST, SECOND) as orders:

        def by_id(schema_id: object) -> dict[str, str]:
            return {**orders.options, "value.schema": f"id:{schema_id}"}

        assert columns_of(by_id(place.id(1))) == {"value": form.read_as(FIRST)}
        assert config_error(columns_of, by_id("x")) == (
            "Option 'value.schema' has no id after 'id:': it is a number, or a UUID in AWS Glue "
            "and Azure."
        )
        with pytest.raises(NotFoundError, match=place.unknown):
            columns_of(by_id(place.id(77)))


@each_registered
def test_a_schema_of_another_format(form: Form) -> None:
    with topic(form) as orders:
        other = {"id": 4, "schema": "{}", "schemaType": "XML"}
        orders.fake.respond = subjects(orders__value=[other])
        with pytest.raises(SchemaError, match=r"'orders-value' \(id 4\) is of the kind XML"):
            columns_of(orders.options)


@each_form(where=lambda form: form.needs_no_schema)
def test_the_wanted_type_is_schema_enough(form: Form) -> None:
    options = {"value.format": form.format}
    query = Query(options, ["value"], {"value": pa.struct([WHO])})
    with topic(form, GIVEN) as orders:
        assert query.read(orders.value(1, ANN)) == [{"value": {"who": "ann"}}]
    assert "set value.schema, or give .schema('value struct<...>')" in config_error(
        columns_of, options
    )
    error = config_error(Query, options, ["value"], {"value": pa.struct([ID])})
    assert "the field 'id' can be null: leave NOT NULL out of its type" in error
