"""Confluent's decimals: exact, or broken; read and written as Confluent's own converters do."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry.protobuf import decimal_to_protobuf, protobuf_to_decimal
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.arrow.decimals import NOT_A_DECIMAL
from kafka_formats.errors import PayloadError, SchemaError
from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.decimals import Told, told_by
from kafka_formats.query.formats import FORMATS
from tests.formats.protobuf.messages import message_class

PROTOBUF = FORMATS[Format.PROTOBUF]
MISFIT = "does not fit 10 digits, 2 of them after the point"


def options(**params: Any) -> str:
    pairs = ", ".join(f'{{ key: "{key}", value: "{value}" }}' for key, value in params.items())
    return f"[(confluent.field_meta) = {{ params: [ {pairs} ] }}]"


SCHEMA = SchemaText(f"""
syntax = "proto3"; package shop;
import "confluent/type/decimal.proto";
import "confluent/meta.proto";
message Value {{
  int32 id = 1;
  confluent.type.Decimal amount = 2 {options(precision=10, scale=2)};
  repeated confluent.type.Decimal prices = 3 {options(precision=38, scale=4)};
  map<string, confluent.type.Decimal> rates = 4 {options(scale=6)};
  confluent.type.Decimal wide = 5 {options(precision=64, scale=2)};
  confluent.type.Decimal untold = 6;
  oneof either {{ confluent.type.Decimal whole = 7 {options(precision=5)}; int32 other = 8; }}
}}""")
# The types that a query names.
TYPE = pa.struct(
    [
        ("id", pa.int32()),
        ("amount", pa.decimal128(10, 2)),
        ("prices", pa.list_(pa.decimal128(38, 4))),
        ("rates", pa.map_(pa.string(), pa.decimal128(38, 6))),
        ("wide", pa.string()),
        (
            "untold",
            pa.struct([("value", pa.binary()), ("precision", pa.int32()), ("scale", pa.int32())]),
        ),
        ("whole", pa.decimal128(5, 0)),
        ("other", pa.int32()),
    ]
)
PARTS = {"value": pa.binary(), "precision": pa.int32(), "scale": pa.int32()}
UNTOLD = SchemaText(
    'syntax = "proto3"; import "confluent/type/decimal.proto"; message A {'
    "confluent.type.Decimal d = 1; }"
)
Value: Any = message_class(SCHEMA, "shop.Value")


def decode(payload: bytes, to: pa.DataType = TYPE, schema: SchemaText = SCHEMA) -> Any:
    """The row of a payload, or the fault in it."""
    decoder = PROTOBUF.decoder_factory(schema, to, None).for_schema(None)
    found = decoder.decode(pa.array([b"", payload, None], pa.binary()), 0)
    found.values.validate(full=True)
    assert found.is_broken.tolist()[::2] == [False, False]
    return decoder.explain(payload) if found.is_broken[1] else found.values[1].as_py()


def test_decimals_are_structs_as_for_spark() -> None:
    types = PROTOBUF.type_of(SCHEMA)
    parts = pa.struct(PARTS.items())
    for name in ("amount", "wide", "untold", "whole"):
        assert types.field(name).type == parts
    assert types.field("prices").type.value_type == parts
    assert types.field("rates").type.item_type == parts
    payload = b"\x08\x01\x12\x08\x0a\x02\x04\xd2\x10\x0a\x18\x02"
    amount = {"value": b"\x04\xd2", "precision": 10, "scale": 2}
    assert decode(payload, types)["amount"] == amount


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"precision": 10, "scale": 2}, Told(10, 2)),
        ({"precision": 0, "scale": 3}, Told(38, 3)),
        ({"precision": 3, "scale": -2}, Told(3, -2)),
        ({"precision": 5}, Told(5, 0)),
        ({"precision": "many", "scale": "+2"}, Told(38, 2)),
        ({"scale": 39}, Told(39, 39)),
        ({"precision": 999999999, "scale": 2}, Told(10_000, 2)),
        ({"precision": "x"}, None),
        ({"other": 1}, None),
    ],
)
def test_what_options_tell_a_write(params: dict[str, Any], told: Told | None) -> None:
    schema = SchemaText(
        'syntax = "proto3"; import "confluent/types/decimal.proto"; import "confluent/meta.proto";'
        f"message A {{ confluent.type.Decimal d = 1 {options(**params)}; }}"
    )
    field = message_class(schema, "A").DESCRIPTOR.fields_by_name["d"]
    assert told_by(field) == told


@pytest.mark.usefixtures("many")
def test_the_case_of_confluents_converter() -> None:
    found = decode(b"\x08\x01\x12\x08\x0a\x02\x04\xd2\x10\x0a\x18\x02")
    assert (found["id"], found["amount"]) == (1, Decimal("12.34"))


@pytest.mark.usefixtures("many")
def test_all_places() -> None:
    message = Value()
    for decimal_message in (message.amount, message.prices.add(), message.rates["a"], message.wide):
        decimal_message.CopyFrom(decimal_like(decimal_message, Decimal("-0.05"), 2))
    message.untold.CopyFrom(decimal_like(message.untold, Decimal("1.5"), 1))
    message.whole.CopyFrom(decimal_like(message.whole, Decimal(7), 0))
    assert decode(message.SerializeToString()) == {
        **{"id": 0, "amount": Decimal("-0.05"), "prices": [Decimal("-0.0500")]},
        **{"rates": [("a", Decimal("-0.050000"))], "wide": "-0.05"},
        **{"untold": {"value": b"\x0f", "precision": 2, "scale": 1}},
        **{"whole": Decimal(7), "other": None},
    }


def decimal_like(message: Any, value: Decimal, scale: int) -> Any:
    found = type(message)()
    found.ParseFromString(decimal_to_protobuf(value, scale).SerializeToString())
    return found


@pytest.mark.no_cover
@pytest.mark.usefixtures("many")
@pytest.mark.parametrize(
    ("value", "scale", "wanted"),
    [
        (b"", 0, Decimal("0.00")),  # as in Confluent's client in Python; Java fails
        (b"", 2**31 - 1, Decimal("0.00")),
        (b"\x01", 2, Decimal("0.01")),
        (b"\xff", 0, Decimal("-1.00")),
        (b"\x00" * 50 + b"\x05", 1, Decimal("0.50")),
        (b"\x30\x39", -2, Decimal("1234500.00")),
        (b"\x64", 4, Decimal("0.01")),
        (b"\x65", 4, f"a decimal of 1 bytes with the scale 4 {MISFIT}"),
        (b"\x01", 2**31 - 1, f"a decimal of 1 bytes with the scale 2147483647 {MISFIT}"),
        (b"\x01", -(2**31), f"a decimal of 1 bytes with the scale -2147483648 {MISFIT}"),
        (b"\x02\x54\x0b\xe4\x00", 2, f"a decimal of 5 bytes with the scale 2 {MISFIT}"),
        (
            b"\x01" * 5_000,
            2,
            "a decimal of 5000 bytes with the scale 2 is not a number of up to 4153 bytes with a "
            "scale of up to 10000",
        ),
    ],
)
def test_values_are_exact_or_broken(value: bytes, scale: int, wanted: Any) -> None:
    message = Value()
    message.amount.value, message.amount.scale = value, scale
    message.amount.precision = 1
    found = decode(message.SerializeToString())
    if isinstance(found, PayloadError):
        assert (found.field, found.reason) == ("amount", wanted)
    else:
        assert repr(found["amount"]) == repr(wanted)


@pytest.mark.usefixtures("many")
def test_a_text_of_a_hostile_scale_is_broken() -> None:
    message = Value()
    message.wide.value, message.wide.scale = b"\x01", 2**31 - 1
    found = decode(message.SerializeToString())
    assert (found.field, found.reason) == (
        "wide",
        "a decimal of 1 bytes with the scale 2147483647 is not a number of up to 4153 bytes with a "
        "scale of up to 10000",
    )


@pytest.mark.usefixtures("many")
def test_a_user_names_another_type() -> None:
    payload = b"\x0a\x06\x0a\x02\x04\xd2\x18\x02"
    for to, wanted in (
        (pa.decimal128(20, 5), Decimal("12.34000")),
        (pa.string(), "12.34"),
        (pa.struct([("scale", pa.int32())]), {"scale": 2}),
    ):
        assert decode(payload, pa.struct([("d", to)]), UNTOLD) == {"d": wanted}
    found = decode(payload, pa.struct([("d", pa.decimal128(20, 1))]), UNTOLD)
    assert found.reason == (
        "a decimal of 2 bytes with the scale 2 does not fit 20 digits, 1 of them after the point"
    )
    with pytest.raises(SchemaError, match="has the type struct, not double"):
        PROTOBUF.check_part(UNTOLD, pa.struct([("d", pa.float64())]))


@given(st.decimals(places=2, min_value=-(10**7), max_value=10**8 - 1))
def test_confluents_client_reads_what_is_written(value: Decimal) -> None:
    row = {"amount": value, "whole": int(value) % 1000}
    to = pa.struct([("amount", pa.decimal128(12, 3)), ("whole", pa.decimal128(5, 0))])
    payload = PROTOBUF.encoder(SCHEMA).encode(pa.array([row], to))[0].as_py()
    written = Value.FromString(payload)
    assert protobuf_to_decimal(written.amount) == value
    assert written.amount.SerializeToString() == decimal_to_protobuf(value, 2).SerializeToString()
    assert decode(payload)["amount"] == value


@pytest.mark.parametrize(
    ("name", "value", "to", "reason"),
    [
        ("amount", Decimal("0.001"), pa.decimal128(10, 3), MISFIT),
        ("amount", Decimal(10**8), pa.decimal128(10, 0), MISFIT),
        ("wide", "twelve", pa.string(), NOT_A_DECIMAL),
        ("wide", "Infinity", pa.string(), NOT_A_DECIMAL),
        ("wide", "1E999999", pa.string(), NOT_A_DECIMAL),
    ],
)
def test_what_does_not_fit_is_not_written(name: str, value: Any, to: Any, reason: str) -> None:
    with pytest.raises(PayloadError, match=reason):
        PROTOBUF.encoder(SCHEMA).encode(pa.array([{name: value}], pa.struct([(name, to)])))


def test_a_wide_decimal_there_and_back() -> None:
    text = "9" * 62 + ".25"
    row = pa.array([{"wide": text}], pa.struct([("wide", pa.string())]))
    payload = PROTOBUF.encoder(SCHEMA).encode(row)[0].as_py()
    assert decode(payload)["wide"] == text
    assert Value.FromString(payload).wide.precision == 64
