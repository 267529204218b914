"""The types of columns that formats may have, by their names in DDL, with values of them."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Final, NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

_ZERO, _FIRST, _LAST = (
    *(datetime(1970, 1, 1), datetime(1, 1, 1)),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
)
_UTC: Final = timezone.utc


class Kind(NamedTuple):
    """A type.

    Attributes:
        type: In Arrow.
        values: Ends of the type, and others that are not usual.
        random: Any finite values.
    """

    type: pa.DataType
    values: tuple[Any, ...]
    random: st.SearchStrategy[Any]


def _whole(to: pa.DataType) -> Kind:
    end = 2 ** (to.bit_width - 1)
    # The first whole numbers that a float and a double do not have.
    inexact = (each for each in (2**24 + 1, 2**53 + 1) if each < end)
    return Kind(to, (0, 1, -1, end - 1, -end, *inexact), st.integers(-end, end - 1))


def _real(to: pa.DataType, *ends: float) -> Kind:
    values = st.floats(width=to.bit_width, allow_nan=False, allow_infinity=False)
    return Kind(to, (0.0, -0.5, *ends), values)


def _decimal(precision: int, scale: int) -> Kind:
    # Not by arithmetic, which rounds to 28 digits.
    def number(unscaled: int) -> Decimal:
        digits = tuple(map(int, str(abs(unscaled))))
        return Decimal((int(unscaled < 0), digits, -scale))

    end = 10**precision - 1
    values = tuple(map(number, (0, end, -end)))
    return Kind(pa.decimal128(precision, scale), values, st.integers(-end, end).map(number))


KINDS: Final = {
    "boolean": Kind(pa.bool_(), (True, False), st.booleans()),
    "tinyint": _whole(pa.int8()),
    "smallint": _whole(pa.int16()),
    "int": _whole(pa.int32()),
    "bigint": _whole(pa.int64()),
    "float": _real(pa.float32(), 2.0**24, 2.0**-149, (2.0 - 2.0**-23) * 2.0**127),
    "double": _real(pa.float64(), 0.1, 2.0**53, 5e-324, 1.7976931348623157e308),
    "string": Kind(
        pa.string(),
        # Some look like values of other types.
        ("", "text", '"\\\n\0', "ÿ日🎈", "1", "true", "AA=="),
        st.text(max_size=5),
    ),
    "binary": Kind(pa.binary(), (b"", b"\x00\xff", bytes(range(256))), st.binary(max_size=5)),
    "date": Kind(pa.date32(), (date(1970, 1, 1), _FIRST.date(), _LAST.date()), st.dates()),
    "timestamp": Kind(
        pa.timestamp("us", tz="UTC"),
        tuple(each.replace(tzinfo=_UTC) for each in (_ZERO, _FIRST, _LAST)),
        st.datetimes(timezones=st.just(_UTC)),
    ),
    "timestamp_ntz": Kind(pa.timestamp("us"), (_ZERO, _FIRST, _LAST), st.datetimes()),
    "decimal(9,2)": _decimal(9, 2),
    "decimal(38,10)": _decimal(38, 10),
}
