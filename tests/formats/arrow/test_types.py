"""Types with all parts nullable."""

from __future__ import annotations

import pyarrow as pa

from kafka_formats.arrow.types import as_nullable


def test_all_parts_but_the_keys_of_maps_are_nullable() -> None:
    number = pa.field("n", pa.int64(), nullable=False)
    item = pa.field("item", pa.struct([number]), nullable=False)
    strict = pa.struct(
        [
            pa.field("list", pa.list_(item), nullable=False),
            pa.field("map", pa.map_(pa.string(), item), nullable=False),
        ]
    )
    loose_item = pa.field("item", pa.struct([pa.field("n", pa.int64())]))
    assert as_nullable(strict).equals(
        pa.struct(
            [
                pa.field("list", pa.list_(loose_item)),
                pa.field("map", pa.map_(pa.string(), loose_item)),
            ]
        )
    )
    assert as_nullable(pa.string()) == pa.string()
