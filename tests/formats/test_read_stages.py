"""The order of the stages of a read. What each does is tested in its room."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafka_formats.json.decoder import JsonDecoderFactory
from kafka_formats.options.alone import parse_alone
from kafka_formats.options.settings import Framing, Mode
from kafka_formats.payload.columns import ColumnFormat
from kafka_formats.query.decoder import Decoder
from kafka_formats.read_stages import ordered_stages

TYPE = pa.struct([("id", pa.int64())])
FORMATS = {"value": ColumnFormat(Framing.NONE, TYPE, JsonDecoderFactory(TYPE))}
DECODER = Decoder(pa.schema({"value": TYPE}), FORMATS, Mode.FAILFAST)


@pytest.mark.parametrize(
    ("envelope", "decoder", "expected"),
    [
        ("none", None, []),
        ("none", DECODER, ["Decoder"]),
        ("upsert", None, ["Upsert"]),
        ("upsert", DECODER, ["Upsert", "Decoder"]),
    ],
)
def test_only_rows_are_decoded(envelope: str, decoder: Decoder | None, expected: list[str]) -> None:
    options = parse_alone({"envelope": envelope}).envelope
    found = ordered_stages(["value"], decoder, None, options)
    assert [type(each).__name__ for each in found] == expected
    if len(found) == 2:
        upsert = found[0]
        assert {"topic", "partition", "offset", "key", "value"} <= {*upsert.source_columns}
