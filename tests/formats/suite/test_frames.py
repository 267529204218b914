"""Payloads of several versions of a schema are read as one type, wherever their ids are."""

from __future__ import annotations

import pytest

from tests.formats.suite.form import Form
from tests.formats.suite.forms import each_form, each_registered
from tests.formats.suite.places import GIVEN, HEADER, IN_GLUE, PLACES, PREFIX, WITH_IDS, Place
from tests.formats.suite.reading import NULL
from tests.formats.suite.topics import ANN, FIRST, SECOND, each_place, topic

pytestmark = pytest.mark.usefixtures("aws")


@each_place(*PLACES, IN_GLUE)
def test_payloads_of_several_versions(form: Form, place: Place) -> None:
    with topic(form, place, FIRST, SECOND) as orders:
        query = orders.query()
        assert query.type == form.read_as(SECOND)
        new = orders.value(2, ANN)
        # Without ids all payloads have the given schema, if they do not name their fields.
        is_told = place is not GIVEN or not form.needs_written_schema
        old = orders.value(1 if is_told else 2, {"id": 5})
        rows = query.read(new, old, NULL, new)
    assert [row["value"] for row in rows] == [ANN, {"id": 5, "who": None}, None, ANN]
    assert [row["offset"] for row in rows] == [40, 41, 42, 43]


@each_place()
def test_only_nulls_and_no_records(form: Form, place: Place) -> None:
    with topic(form, place) as orders:
        query = orders.query()
        nothing = [{"value": None, "offset": 40}, {"value": None, "offset": 41}]
        assert query.read(NULL, NULL) == nothing
        assert query.read() == []


@each_registered
def test_the_id_is_in_a_header_of_some_records(form: Form) -> None:
    with topic(form, PREFIX, FIRST, SECOND) as orders:
        in_header = HEADER.frame(form, 1, form.encode(FIRST, {"id": 5}))
        rows = orders.query().read(in_header, orders.value(2, ANN))
    assert [row["value"]["id"] for row in rows] == [5, 6]


@each_place(*WITH_IDS)
def test_a_version_that_is_registered_later(form: Form, place: Place) -> None:
    with topic(form, place, FIRST) as orders:
        query = orders.query()
        orders.add(SECOND)
        rows = query.read(orders.value(2, ANN))
    assert [row["value"] for row in rows] == [{"id": 6}]


@each_form()
def test_keys_have_a_format_of_their_own(form: Form) -> None:
    with topic(form, GIVEN) as orders:
        key = {"key.format": form.format, "key.schema": form.schema(FIRST)}
        query = orders.query(["key", "value"], key)
        rows = query.read(orders.value(1, ANN), NULL, keys=[form.encode(FIRST, {"id": 5}), None])
    assert rows == [{"key": {"id": 5}, "value": ANN}, {"key": None, "value": None}]
