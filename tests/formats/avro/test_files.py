"""Files of other libraries, read as fastavro reads them; `files/README.md` has their sources."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import fastavro
import pyarrow as pa
import pytest

from kafka_formats.avro.decode import decode
from kafka_formats.avro.resolve import resolve
from kafka_formats.avro.schema import parse_schema
from kafka_formats.errors import SchemaError
from tests.formats.avro.checks import check, plan_of

FILES = Path(__file__).with_name("files")
CONTAINERS = sorted(
    file.name for file in FILES.glob("*.avro") if file.stem not in {"recursive", "with-union"}
)


class Content(NamedTuple):
    """The writer's schema, the payload of each record, and its value by fastavro."""

    schema: Any
    payloads: list[bytes]
    values: list[Any]


def content_of(name: str) -> Content:
    """All records of a file; the rest of a block is one payload if fastavro cannot read it."""
    payloads: list[bytes] = []
    values: list[Any] = []
    with (FILES / name).open("rb") as file, suppress(EOFError):  # the end of a broken file
        blocks = fastavro.block_reader(file)
        for block in blocks:
            rest = io.BytesIO(block.bytes_.read())  # type: ignore[attr-defined]
            for _ in range(block.num_records):
                begin = rest.tell()
                values.append(read_one(rest, blocks.writer_schema))
                payloads.append(rest.getvalue()[begin : rest.tell()])
    return Content(blocks.writer_schema, payloads, values)


def read_one(data: io.BytesIO, schema: Any) -> Any:
    """A value; None if the data is broken, and nothing is left of it then."""
    try:
        return fastavro.schemaless_reader(data, schema, None)
    except (EOFError, IndexError):
        data.seek(0, io.SEEK_END)
        return None


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers(name: str) -> None:
    schema, payloads, values = content_of(name)
    plan = plan_of(schema)
    check(plan, payloads)
    found = decode(pa.array(payloads, pa.binary()), plan)
    texts = [{**row, "id": str(row["id"])} if "uuid" in name else row for row in values]
    broken = found.is_broken.tolist()
    assert any(broken) == ("bad" in name)
    assert [
        value
        for value, is_broken in zip(found.values.to_pylist(), broken, strict=True)
        if not is_broken
    ] == [text for text, is_broken in zip(texts, broken, strict=True) if not is_broken]


def test_wide_unions_are_structs_of_their_members() -> None:
    schema, payloads, _ = content_of("with-union.avro")
    found = decode(pa.array(payloads, pa.binary()), plan_of(schema))
    assert not found.is_broken.any()
    none = {"member0": None, "member1": None}
    assert found.values.to_pylist() == [
        {"data1": none | {"member0": "textValue"}, "data2": None},
        {"data1": none | {"member1": 123}, "data2": {"d1": none | {"member2": False}}},
        {
            "data1": none | {"member1": 3},
            "data2": {"d1": none | {"member0": "text value", "member2": None}},
        },
    ]


@pytest.mark.parametrize("name", ["recursive.avro", "interop.avsc"])
def test_schemas_with_recursion_have_no_type(name: str) -> None:
    file = FILES / name
    text = file.read_text() if file.suffix == ".avsc" else json.dumps(content_of(name).schema)
    schema = parse_schema(text)
    with pytest.raises(SchemaError, match="contains itself"):
        resolve(schema, schema)


def test_a_single_object_after_its_header() -> None:
    """Of ten bytes: a marker and the fingerprint of the schema."""
    schema = parse_schema((FILES / "test_message.avsc").read_text())
    message = (FILES / "test_message.bin").read_bytes()
    found = decode(pa.array([message], pa.binary()), resolve(schema, schema), 10)
    assert not found.is_broken.any()
    expected = {"id": 42, "name": "Bill", "tags": ["dog_lover", "cat_hater"]}
    assert found.values.to_pylist() == [expected]


def inputs_of_schema_tests() -> list[str]:
    """Each input, without the canonical form after it."""
    lines = (FILES / "schema-tests.txt").read_text().splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("//", "#")))
    inputs = [each.split("\n<<")[0] for each in text.split("<<INPUT")[1:]]
    return [each.strip().removesuffix("INPUT").strip() for each in inputs]


# Nothing has the type of the one, and Spark has no type for the other.
_REFUSED = ("a union has no types", "contains itself")


@pytest.mark.parametrize("text", inputs_of_schema_tests())
def test_schemas(text: str) -> None:
    try:
        parse_schema(text)
    except SchemaError as error:
        assert any(words in str(error) for words in _REFUSED), error
