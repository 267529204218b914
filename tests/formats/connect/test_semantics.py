"""The parts of a type by their paths."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_formats.connect.semantics import Path, shown, type_at
from kafka_formats.errors import ITEMS, VALUES

TYPE = pa.struct(
    {"row": pa.struct({"tags": pa.list_(pa.map_(pa.string(), pa.int32())), "id": pa.int64()})}
)


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ((), "", TYPE),
        (("row", "id"), "row.id", pa.int64()),
        (("row", "tags", ITEMS, VALUES), "row.tags[]{}", pa.int32()),
        (("row", "name"), "row.name", None),
        (("row", "id", ITEMS), "row.id[]", None),
        (("row", "tags", VALUES), "row.tags{}", None),
    ],
)
def test_the_type_of_a_part(path: Path, text: str, expected: pa.DataType | None) -> None:
    assert type_at(TYPE, path) == expected
    assert shown(path) == text
