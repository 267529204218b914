"""Decodes one payload, value by value: it names the fault in it, and reads long lists.

`decode` reads many payloads at once with the same plans, and gives the same values.
"""

from __future__ import annotations

import decimal
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_formats.arrow.bytes_cursor import MAX_INT_BYTES, MAX_LONG_BYTES
from kafka_formats.arrow.decimals import (
    MAX_BYTES,
    ONE,
    Ratio,
    decimal_of,
    does_not_fit,
    rescaled,
)
from kafka_formats.avro.logical import text_of_decimal
from kafka_formats.avro.plan import (
    LONG_LIMIT,
    Again,
    AvroPlan,
    Boolean,
    BranchPlan,
    Bytes,
    Choice,
    Decimal,
    DecimalText,
    Items,
    Null,
    Number,
    RecordPlan,
    Symbol,
)
from kafka_formats.errors import ITEMS, VALUES, PayloadError

_FLOAT: Final = struct.Struct("<f")
_DOUBLE: Final = struct.Struct("<d")


def read_payload(plan: AvroPlan, payload: bytes | memoryview) -> Any:
    """The value of a payload, as `pyarrow.array` takes it for the plan's type.

    Raises:
        PayloadError: The payload does not have the schema. Names the field.
    """
    return PayloadCursor(payload, 0).read(plan)


class _Rest(NamedTuple):
    """The items of a block that are left to skip, and the number of items up to its end."""

    plan: Items
    left: int
    before: int


class PayloadCursor:
    """A position in one payload."""

    def __init__(self, payload: bytes | memoryview, at: int) -> None:
        self._payload = payload
        self.at = at

    def read(self, plan: AvroPlan) -> Any:
        """The next value.

        Raises:
            PayloadError: It is damaged or incomplete.
        """
        return _READ[type(plan)](self, plan)

    def null(self, _plan: Null) -> None:
        """No bytes."""

    def number(self, plan: Number) -> Any:
        """A number, a date or a timestamp."""
        if plan.written in _FLOATS:
            code = _FLOATS[plan.written]
            (value,) = code.unpack(self._take(code.size))
            return value
        value = self._int() if plan.written == "int" else self._long()
        if plan.ratio is ONE:
            return value
        if plan.ratio is None:
            # Rounded once: a float is not made of a double.
            number = np.int64(value)
            return float(number.astype(np.float32) if pa.types.is_float32(plan.type) else number)
        shown = rescaled(value, plan.ratio, LONG_LIMIT)
        if shown is None:
            raise PayloadError("", _why_not(value, plan.ratio))
        return shown

    def boolean(self, _plan: Boolean) -> bool:
        """A byte that is 0 or 1."""
        byte = self._take(1)[0]
        if byte > 1:
            raise PayloadError("", f"a boolean is {byte}")
        return byte == 1

    def bytes_(self, plan: Bytes) -> bytes | str:
        """Bytes, or a string."""
        raw = self._sized(plan.size)
        if not pa.types.is_string(plan.type):
            return raw
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise PayloadError("", f"a string is not UTF-8: {error.reason}") from None

    def symbol(self, plan: Symbol) -> str:
        """A symbol of an enum."""
        number = self._int()
        if not 0 <= number < len(plan.symbols):
            raise PayloadError("", f"an enum of {len(plan.symbols)} symbols has number {number}")
        symbol = plan.symbols[number]
        if symbol is None:
            raise PayloadError("", f"the symbol {plan.written[number]} is unknown to the reader")
        return symbol

    def decimal(self, plan: Decimal) -> decimal.Decimal:
        """A decimal."""
        raw = self._sized(plan.size)
        number = rescaled(int.from_bytes(raw, "big", signed=True), plan.ratio, plan.limit)
        if not raw or number is None:
            raise PayloadError(
                "",
                f"a decimal of {len(raw)} bytes "
                f"{does_not_fit(plan.type.precision, plan.type.scale)}",
            )
        return decimal_of(number, plan.type.scale)

    def decimal_text(self, plan: DecimalText) -> str:
        """A decimal that is wider than Arrow's."""
        raw = self._sized(plan.size)
        text = text_of_decimal(raw, plan.ratio, plan.scale)
        if text is None:
            raise PayloadError(
                "",
                f"a decimal of {len(raw)} bytes is not a number of up to {MAX_BYTES} bytes "
                f"with {plan.scale} digits after the point",
            )
        return text

    def struct(self, plan: RecordPlan) -> dict[str, Any]:
        """A record."""
        values = {plan.type[place].name: value for place, value in plan.constants.items()}
        try:
            for step in plan.steps:
                if step.place is None:
                    self.skip(step.plan)
                else:
                    values[plan.type[step.place].name] = self.read(step.plan)
        except PayloadError as error:
            raise error.within(step.name) from error.__cause__
        return values

    def items(self, plan: Items) -> list[Any]:
        """An array, or the entries of a map."""
        is_map = pa.types.is_map(plan.type)
        items: list[Any] = []
        while count := self._next_block(plan, len(items)):
            try:
                items += [self.read(plan.item) for _ in range(count)]
            except PayloadError as error:
                raise error.within(VALUES if is_map else ITEMS) from error.__cause__
        return [(entry["key"], entry["value"]) for entry in items] if is_map else items

    def choice(self, plan: Choice) -> Any:
        """A union."""
        return self.read(self._branch(plan))

    def _branch(self, plan: Choice) -> AvroPlan:
        number = self._long()
        if not 0 <= number < len(plan.branches):
            raise PayloadError("", f"a union of {len(plan.branches)} types has number {number}")
        branch = plan.branches[number]
        if branch is None:
            raise PayloadError("", f"the type {plan.names[number]} is unknown to the reader")
        return branch

    def member(self, plan: BranchPlan) -> dict[str, Any]:
        """A union that Spark shows as a struct."""
        return {plan.type[plan.member].name: self.read(plan.plan)}

    def skip(self, plan: AvroPlan) -> None:
        """Skip the next value, without recursion: a record may be within itself very often.

        Raises:
            PayloadError: It is damaged or incomplete.
        """
        if not isinstance(plan, _NESTED):
            self.read(plan)
            return
        waiting: list[AvroPlan | _Rest] = [plan]
        while waiting:
            each = waiting.pop()
            match each:
                case Again():
                    waiting.append(each.record)
                case RecordPlan():
                    waiting += [step.plan for step in reversed(each.steps)]
                case Choice():
                    waiting.append(self._branch(each))
                case Items():
                    waiting += self._first_items(each, 0)
                case _Rest(plan=items, left=0, before=before):
                    waiting += self._first_items(items, before)
                case _Rest(plan=items):
                    waiting += [each._replace(left=each.left - 1), items.item]
                case _:
                    self.read(each)

    def _first_items(self, plan: Items, before: int) -> list[_Rest]:
        """The items of the next block, after some; empty at the end."""
        count = self._next_block(plan, before)
        return [_Rest(plan, count, before + count)] if count else []

    def _next_block(self, plan: Items, before: int) -> int:
        """The number of items in the next block of an array or a map; 0 at its end.

        `before` is the number of items in the blocks before it.
        """
        count = self._long()
        if count < 0:
            size = self._long()
            if not 0 <= size <= len(self._payload) - self.at:
                raise PayloadError("", f"a block of items has {size} bytes")
            count = -count
        smallest = plan.item_bytes
        left = len(self._payload) - self.at
        if count > left // smallest if smallest else before + count > plan.most_empty:
            raise PayloadError("", f"a block of {count} items has {left} bytes left")
        return count

    def _sized(self, size: int | None) -> bytes:
        length = self._long() if size is None else size
        if length < 0:
            raise PayloadError("", f"the length of bytes is {length}")
        return bytes(self._take(length))

    def _take(self, size: int) -> bytes | memoryview:
        left = len(self._payload) - self.at
        if size > left:
            raise PayloadError("", f"{size} bytes are needed, and {left} are left")
        taken = self._payload[self.at : self.at + size]
        self.at += size
        return taken

    def _int(self) -> int:
        value = self._long(MAX_INT_BYTES)
        if not -(2**31) <= value < 2**31:
            raise PayloadError("", f"{value} does not fit 32 bits")
        return value

    def _long(self, max_bytes: int = MAX_LONG_BYTES) -> int:
        raw = 0
        for shift in range(0, 7 * max_bytes, 7):
            byte = self._take(1)[0]
            raw |= (byte & 0x7F) << shift
            if byte < 0x80:
                # As numpy and Java: bits above 64 are lost.
                raw &= 2**64 - 1
                return raw >> 1 ^ -(raw & 1)
        raise PayloadError("", f"a number has more than {max_bytes} bytes")


def _why_not(value: int, ratio: Ratio) -> str:
    if ratio.per == 1:
        return f"the time {value}, of {ratio.times:,} units of the reader, does not fit 64 bits"
    return f"the time {value} is not a multiple of {ratio.per:,}, which is the reader's unit"


_NESTED: Final = (Again, Choice, Items, RecordPlan)
_FLOATS: Final[Mapping[str, struct.Struct]] = {"float": _FLOAT, "double": _DOUBLE}
_READ: Final[Mapping[type, Callable[[PayloadCursor, Any], Any]]] = {
    Null: PayloadCursor.null,
    Number: PayloadCursor.number,
    Boolean: PayloadCursor.boolean,
    Bytes: PayloadCursor.bytes_,
    Symbol: PayloadCursor.symbol,
    Decimal: PayloadCursor.decimal,
    DecimalText: PayloadCursor.decimal_text,
    RecordPlan: PayloadCursor.struct,
    Items: PayloadCursor.items,
    Choice: PayloadCursor.choice,
    BranchPlan: PayloadCursor.member,
}
