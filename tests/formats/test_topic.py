"""What `read_topic` refuses before it connects; tests/integration/test_topic_formats reads."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kafka_formats.topic import read_topic
from tests.config_error import config_error

MAP = pa.map_(pa.string(), pa.string())
JSON = {"value.format": "json", "value.schema": "id bigint"}


def error(formats: dict[str, str], **given: Any) -> str:
    servers = {"bootstrap.servers": "localhost:1"}
    return config_error(lambda: read_topic("t", servers, formats, **given))


@pytest.mark.parametrize(
    ("formats", "given", "message"),
    [
        (
            {},
            {},
            "No column has a format: set value.format or key.format, or envelope, or name other "
            "types of columns in types.",
        ),
        ({"mode": "PERMISSIVE"}, {"types": {"headers": MAP}}, "'mode' needs a column that is"),
        ({"mode": "FAILFAST", "envelope": "upsert"}, {}, "'mode' needs a column that is decoded"),
        ({}, {"types": {"topic": pa.binary()}}, "'topic' cannot be chosen: types are for key, val"),
        ({"value.format": 7}, {}, "Option 'value.format' is of the type int: write it as text"),
        ({"value.formatt": "json"}, {}, "Option 'value.formatt' is not one of formats: did you"),
        ({"subscribe": "t"}, {}, "'subscribe' is not one of formats: there are value.format, "),
        ({"topic": "t", **JSON}, {}, "Option 'topic' is not one of formats"),
        (JSON, {"columns": ["valu"]}, "there is no column 'valu'; there are key, value, topic"),
        (JSON, {"columns": ["_raw"]}, "there is no column '_raw'"),
        (JSON, {"columns": ["op"]}, "there is no column 'op'"),
        ({"upsert.tombstones": "keep"}, {}, "Option 'upsert.tombstones' needs the option envelope"),
        (JSON, {"columns": ["value", "key", "value"]}, "column 'value' is wanted twice"),
        (
            JSON,
            {"types": {"key": pa.int64()}},
            "'key' cannot be read as int64: name binary or string, or set key.format",
        ),
        ({}, {"types": {"headers": pa.string()}}, "'headers' cannot be read as string: name list<"),
        (
            JSON,
            {"types": {"value": pa.struct({"x": pa.int64()})}},
            "Column 'value' cannot be read as the option value.schema: ",
        ),
        ({"envelope": "upsert"}, {"follow": True}, "envelope=upsert needs an end"),
        ({"value.format": "json"}, {}, "The type of the values is not known: set value.schema"),
        ({"value.format": "json", "value.schema": "id:7"}, {}, "needs a schema"),
        ({"envelope": "debezium"}, {}, "is debezium, which needs a format"),
        ({"envelope": "debezium", **JSON}, {"columns": ["x"]}, "there is no column 'x'; there are"),
        (
            {"envelope": "debezium", "value.format": "json"},
            {"types": {"op": pa.string()}},
            "The columns of the table are not known",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    formats: dict[str, str], given: dict[str, Any], message: str
) -> None:
    assert message in error(formats, **given)
