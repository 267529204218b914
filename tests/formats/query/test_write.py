"""The schema of a column that is written: found, made or registered."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.errors import NotFoundError
from kafka_formats.options.formats import PayloadOptions, WriteFormatOptions
from kafka_formats.options.settings import Format, Framing, SubjectNameStrategy
from kafka_formats.query.write import WrittenColumn, encoder_for
from tests.config_error import config_error
from tests.fakes.registry import FakeRegistry, Received, Reply, registry, subjects

ID = {"name": "id", "type": "long"}
ORDER = json.dumps({"type": "record", "name": "Order", "fields": [ID]})
TYPE = pa.struct([pa.field("id", pa.int64())])
VALUE = PayloadOptions("value", Format.AVRO, Framing.CONFLUENT, None, None, None)
ONE: list[dict[str, Any]] = [{"id": 7, "schema": ORDER}]
ROWS = pa.RecordBatch.from_pydict(
    {"key": pa.array(["k"]), "value": pa.array([{"id": 5}], pa.struct({"id": pa.int64()}))}
)


def payload_of(
    fake: FakeRegistry | None,
    payload: PayloadOptions = VALUE,
    topic: str | None = "orders",
    *,
    auto_register: bool = False,
    data_type: pa.DataType = TYPE,
    **more: bool,
) -> bytes:
    url = {} if fake is None else {"url": fake.url, "max.retries": "0"}
    options = WriteFormatOptions((payload,), auto_register, url, **more)
    encoder = encoder_for(options, topic, {"value": WrittenColumn(1, data_type)})
    found = encoder.encode(ROWS)
    assert found["key"].to_pylist() == ["k"]
    value: bytes = found["value"][0].as_py()
    return value


def with_registration(request: Received) -> Reply:
    """A registry that knows `ORDER` in the subject `known`, and registers others as 9."""
    path = request.path.partition("?")[0]
    if path.endswith("/versions"):
        return Reply(values={"id": 9})
    if path == "/subjects/known":
        return Reply(values={"subject": "known", "version": 1, "id": 8, "schema": ORDER})
    return Reply(404, {"error_code": 40403})


def test_the_latest_version_of_the_topics_subject() -> None:
    with registry(subjects(orders__value=ONE)) as fake:
        assert payload_of(fake) == b"\x00\x00\x00\x00\x07\x0a"
    assert fake.paths == ["/subjects/orders-value/versions/latest"]


def test_the_schema_of_the_column_is_looked_up_instead_of_the_latest() -> None:
    own = replace(VALUE, subject="known")
    with registry(with_registration) as fake:
        assert payload_of(fake, own, use_latest=False) == b"\x00\x00\x00\x00\x08\x02\x0a"
        assert payload_of(fake, own, use_latest=False, normalize=True)
        error = config_error(payload_of, fake, replace(own, subject="other"), use_latest=False)
    assert fake.paths[:2] == ["/subjects/known?normalize=false", "/subjects/known?normalize=true"]
    assert "the schema of the column, is not in the subject 'other'" in error


def test_the_latest_version_with_metadata() -> None:
    def respond(request: Received) -> Reply:
        assert request.path == "/subjects/orders-value/metadata?key=env&value=a"
        return Reply(values={"subject": "orders-value", "version": 3, **ONE[0]})

    own = replace(VALUE, metadata=(("env", "a"),))
    with registry(respond) as fake:
        assert payload_of(fake, own) == b"\x00\x00\x00\x00\x07\x0a"
        assert payload_of(fake, own, use_latest=False) == b"\x00\x00\x00\x00\x07\x0a"


def test_a_schema_of_the_user_must_be_in_the_subject() -> None:
    own = replace(VALUE, schema=ORDER, subject="known")
    with registry(with_registration) as fake:
        assert payload_of(fake, own) == b"\x00\x00\x00\x00\x08\x0a"
        error = config_error(payload_of, fake, replace(own, subject="other"))
    assert error == (
        "The schema of the values, the option value.schema, is not in the subject 'other': "
        "register it there, or set auto.register.schemas to true."
    )


def test_a_schema_of_the_user_can_be_registered() -> None:
    own = replace(VALUE, schema=ORDER)
    with registry(with_registration) as fake:
        assert payload_of(fake, own, auto_register=True) == b"\x00\x00\x00\x00\x09\x0a"
    assert fake.paths == ["/subjects/orders-value/versions?normalize=false"]
    assert fake.received[0].body == {"schema": ORDER}


def test_a_schema_can_be_made_from_the_column() -> None:
    with registry(with_registration) as fake:
        assert payload_of(fake, auto_register=True) == b"\x00\x00\x00\x00\x09\x02\x0a"
    made = json.loads(fake.received[0].body["schema"])
    assert made["fields"] == [{"name": "id", "type": ["null", "long"], "default": None}]


def test_a_schema_by_its_id_needs_no_subject() -> None:
    with registry(subjects(any=ONE)) as fake:
        by_id = replace(VALUE, schema="id:7")
        assert payload_of(fake, by_id, None) == b"\x00\x00\x00\x00\x07\x0a"
    assert fake.paths == ["/schemas/ids/7"]


def test_without_a_registry_there_is_no_frame() -> None:
    assert payload_of(None, replace(VALUE, framing=Framing.NONE, schema=ORDER)) == b"\x0a"


def test_json_is_written_without_a_schema() -> None:
    json_value = replace(VALUE, format=Format.JSON, framing=Framing.NONE)
    assert payload_of(None, json_value) == b'{"id":5}'


def test_a_type_that_does_not_fit_is_refused() -> None:
    with registry(subjects(orders__value=ONE)) as fake:
        error = config_error(payload_of, fake, data_type=pa.struct({"id": pa.string()}))
    assert error == (
        "Column 'value' cannot be written with version 1 of the subject 'orders-value' (id 7): "
        "the field 'id': string cannot be written as long"
    )


def test_rows_with_topics_of_their_own_need_a_subject() -> None:
    with registry(subjects(mine=ONE)) as fake:
        assert "set value.subject" in config_error(payload_of, fake, VALUE, None)
        assert payload_of(fake, replace(VALUE, subject="mine"), None)[:5] == b"\x00\x00\x00\x00\x07"


@pytest.mark.parametrize(
    ("strategy", "topic", "subject"),
    [
        (SubjectNameStrategy.RECORD, "orders", "Order"),
        (SubjectNameStrategy.RECORD, None, "Order"),
        (SubjectNameStrategy.TOPIC_RECORD, "orders", "orders-Order"),
    ],
)
def test_the_subject_follows_from_the_name_of_the_schema(
    strategy: SubjectNameStrategy, topic: str | None, subject: str
) -> None:
    own = replace(VALUE, schema=ORDER, strategy=strategy)
    with registry(with_registration) as fake:
        payload_of(fake, own, topic, auto_register=True)
        assert fake.paths == [f"/subjects/{subject}/versions?normalize=false"]
        fake.received.clear()
        payload_of(fake, replace(own, schema=None), topic, auto_register=True)
        made = subject.replace("Order", "topLevelRecord")
        assert fake.paths == [f"/subjects/{made}/versions?normalize=false"]


def test_a_schema_without_a_name_has_no_subject() -> None:
    schema = '{"type": "object", "properties": {"id": {"type": "integer"}}}'
    own = PayloadOptions(
        *("value", Format.JSON, Framing.CONFLUENT, schema, None, None),
        strategy=SubjectNameStrategy.RECORD,
    )
    with registry(with_registration) as fake:
        error = config_error(payload_of, fake, own)
    assert error == (
        "The subject of the values follows from the name of their schema (RecordNameStrategy), and "
        "it has no name: set value.schema to a schema with a name, or value.subject to the "
        "registry's subject."
    )


def test_a_subject_that_does_not_exist() -> None:
    with registry(subjects()) as fake:
        with pytest.raises(NotFoundError) as caught:
            payload_of(fake)
    assert str(caught.value).startswith("subject 'orders-value', version latest: ")
    assert str(caught.value).endswith(
        "To register the schema of the column there, set auto.register.schemas to true"
    )


def test_a_column_that_rows_do_not_have_is_left_out() -> None:
    with registry(subjects()) as fake:
        options = WriteFormatOptions((replace(VALUE, column="key"),), False, {"url": fake.url})
        assert encoder_for(options, "orders", {}).encoders == {}
        assert fake.paths == []
