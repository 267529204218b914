"""The types of columns that formats may have, by their names in DDL, with values at their ends."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pyarrow as pa

_FIRST, _LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)


class Kind(NamedTuple):
    """A type, and values of it."""

    type: pa.DataType
    values: tuple[Any, ...]


def _whole(to: pa.DataType) -> Kind:
    end = 2 ** (to.bit_width - 1)
    return Kind(to, (0, 1, -1, end - 1, -end))


def _decimal(precision: int, scale: int) -> Kind:
    # Not by arithmetic, which rounds to 28 digits.
    ends = ((0, (0,)), (0, (9,) * precision), (1, (9,) * precision))
    values = tuple(Decimal((sign, digits, -scale)) for sign, digits in ends)
    return Kind(pa.decimal128(precision, scale), values)


KINDS: Final = {
    "boolean": Kind(pa.bool_(), (True, False)),
    "tinyint": _whole(pa.int8()),
    "smallint": _whole(pa.int16()),
    "int": _whole(pa.int32()),
    "bigint": _whole(pa.int64()),
    "float": Kind(pa.float32(), (0.0, -0.5, 2.0**-149, (2.0 - 2.0**-23) * 2.0**127)),
    "double": Kind(pa.float64(), (0.0, -0.5, 0.1, 5e-324, 1.7976931348623157e308)),
    "string": Kind(pa.string(), ("", "text", '"\\\n\0', "ÿ日🎈")),
    "binary": Kind(pa.binary(), (b"", b"\x00\xff", bytes(range(256)))),
    "date": Kind(pa.date32(), (date(1970, 1, 1), _FIRST.date(), _LAST.date())),
    "timestamp": Kind(
        pa.timestamp("us", tz="UTC"),
        tuple(each.replace(tzinfo=timezone.utc) for each in (datetime(1970, 1, 1), _FIRST, _LAST)),
    ),
    "timestamp_ntz": Kind(pa.timestamp("us"), (datetime(1970, 1, 1), _FIRST, _LAST)),
    "decimal(9,2)": _decimal(9, 2),
    "decimal(38,10)": _decimal(38, 10),
}
