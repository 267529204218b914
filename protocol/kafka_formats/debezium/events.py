"""Payloads of Debezium's envelope -> events: the row, the operation and the source of each change.

The row is `after`, of a delete `before`. A payload that is not a change event is broken. Keys come
later: see `debezium_rows`.

Source: `io.debezium.data.Envelope` and `ExtractNewRecordState`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_formats.arrow.arrays import fields_of, with_fields, with_type
from kafka_formats.connect.conversion import Conversion, Misfit, Outcome, converted
from kafka_formats.connect.plan import ConnectPlan
from kafka_formats.connect.semantics import Path, shown
from kafka_formats.debezium.placeholder import Placeholder, names_of, without
from kafka_formats.errors import PayloadError
from kafka_formats.payload.format import Bools, PayloadDecoder, Values
from kafka_protocol.columnar.arrays.arrow_memory import (
    array_of_bools,
    bools_of,
    indices_of,
    is_valid,
)

BEFORE: Final = "before"
AFTER: Final = "after"
OP: Final = "op"
TS_MS: Final = "ts_ms"
SOURCE: Final = "source"
# An event also has its row, and the columns of the row without a value.
ROW: Final = "row"
UNAVAILABLE: Final = "_unavailable"

DELETE: Final = "d"
# Snapshots, inserts and updates.
WRITTEN: Final = ("r", "c", "u")
# Truncated tables, and messages.
OTHERS: Final = ("t", "m")

_NO_EVENT: Final = (
    "it is not a change event of Debezium: it has no op. Heartbeats, schema changes and "
    "transactions have topics of their own, so leave this topic out; if the connector writes "
    "flattened events (ExtractNewRecordState), remove the option envelope"
)


_FRAME: Final = b"\0"
_EMPTY: Final = "it is empty, and no event; a tombstone has no payload at all"
# The beginning of the reason of JSON's decoder.
_IS_TEXT: Final = "it is a string, not"
OF_MONGODB: Final = (
    "the field 'after' is a text: Debezium writes documents of MongoDB so, and a table has rows "
    "with columns. Read them without the option envelope, with 'after' as a string, or let the "
    "connector flatten them (ExtractNewDocumentState)"
)


@dataclass(frozen=True, slots=True)
class EventPlan:
    """How to read envelopes.

    Attributes:
        payload: The type that the format decodes. It has `op`, and whatever else is wanted.
        row: Converts the row, which `before` has with the types of `after`; None: it is as wanted.
        before: For a column with `before`: the part of it that is decoded, and how to convert it.
        source: Converts `source`.
    """

    payload: pa.StructType
    row: Conversion | None
    before: ConnectPlan | None
    source: Conversion | None


class KeyPlan(NamedTuple):
    """How to read keys.

    Attributes:
        payload: The type that the format decodes.
        conversion: What makes the wanted keys of it; None: they are as wanted.
        missing: The fields that keys of this schema do not have: null, whatever the default.
    """

    payload: pa.DataType
    conversion: Conversion | None
    missing: tuple[str, ...]


@dataclass(frozen=True)
class EventPayloadDecoder:
    """Decodes envelopes.

    Attributes:
        inner: Decodes payloads as `plan.payload`.
        plan: How to go on.
        placeholder: For values that are not available; None: they are left as they are.
    """

    inner: PayloadDecoder
    plan: EventPlan
    placeholder: Placeholder | None

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Decode payloads after frames of one size."""
        values, is_broken = self.inner.decode(payloads, skipped_bytes)
        event = _Event(with_type(values, self.plan.payload), is_valid(values) & ~is_broken)
        events, misfits = event.read(self.plan, self.placeholder)
        # JSON reads blanks as null.
        is_empty = is_valid(payloads) & ~is_valid(values)
        masks = [is_broken, is_empty, *(each.is_broken for each in misfits)]
        return Values(events, np.logical_or.reduce(masks))

    def explain(self, payload: bytes) -> PayloadError:
        """The fault in a broken payload, without its frame."""
        values, is_broken = self.inner.decode(_framed(payload), len(_FRAME))
        if is_broken[0]:
            error = self.inner.explain(payload)
            is_text = error.field in {AFTER, BEFORE} and error.reason.startswith(_IS_TEXT)
            return PayloadError("", OF_MONGODB) if is_text else error
        if values.null_count:
            return PayloadError("", _EMPTY)
        event = _Event(with_type(values, self.plan.payload), is_valid(values))
        _, misfits = event.read(self.plan, self.placeholder)
        misfit = next(misfit for misfit in misfits if misfit.is_broken[0])
        return PayloadError(shown(misfit.path), misfit.reason)


def _framed(payload: bytes) -> pa.BinaryArray:
    """A payload after a frame: without one, Protobuf takes its message index for missing."""
    return pa.array([_FRAME + payload], pa.binary())


class _Event:
    """Values envelopes; where one is broken or null, `is_event` is not."""

    def __init__(self, values: pa.StructArray, is_event: Bools) -> None:
        self._is_event = is_event
        self._parts = fields_of(values)
        self._op: pa.StringArray = self._parts[OP]

    def _has_op(self, *ops: str) -> Bools:
        return bools_of(pc.is_in(self._op, pa.array(ops))) & self._is_event

    def read(self, plan: EventPlan, placeholder: Placeholder | None) -> Outcome:
        """The events as structs of the wanted fields, null where there is none; and the misfits."""
        misfits = [*self._wrong_ops()]
        columns: dict[str, pa.Array] = {OP: self._op}
        if AFTER in self._parts:
            row, names = self._row(placeholder)
            columns[ROW] = self._converted(plan.row, row, (), misfits)
            if names is not None:
                columns[UNAVAILABLE] = names
        if plan.before is not None:
            before = with_fields(self._parts[BEFORE], plan.before.type)
            before, _ = _available(before, placeholder)
            columns[BEFORE] = self._converted(plan.before.conversion, before, (BEFORE,), misfits)
        if TS_MS in self._parts:
            columns[TS_MS] = self._parts[TS_MS]
        if SOURCE in self._parts:
            columns[SOURCE] = self._converted(plan.source, self._parts[SOURCE], (SOURCE,), misfits)
        events = pa.StructArray.from_arrays(
            [*columns.values()], [*columns], mask=array_of_bools(~self._is_event)
        )
        return Outcome(events, misfits)

    def _wrong_ops(self) -> list[Misfit]:
        # An absent text of Protobuf is empty.
        no_op = self._is_event & (~is_valid(self._op) | self._has_op(""))
        unknown = self._is_event & ~no_op & ~self._has_op(DELETE, *WRITTEN, *OTHERS)
        misfits = [
            Misfit((), no_op, _NO_EVENT),
            Misfit((OP,), unknown, f"it is not one of {', '.join((*WRITTEN, DELETE, *OTHERS))}"),
        ]
        if AFTER in self._parts:
            lacks = self._has_op(*WRITTEN) & ~is_valid(self._parts[AFTER])
            misfits.append(Misfit((AFTER,), lacks, "it is missing, and the event is not a delete"))
        return [each for each in misfits if each.is_broken.any()]

    def _row(self, placeholder: Placeholder | None) -> tuple[pa.StructArray, pa.ListArray | None]:
        """The row of each event, and the names of its columns that are not available."""
        row = self._parts[AFTER]
        is_delete = self._has_op(DELETE)
        if is_delete.any():
            before = pa.nulls(len(row), row.type)
            if BEFORE in self._parts:
                before = with_fields(self._parts[BEFORE], row.type)
            at = np.arange(len(row)) + len(row) * is_delete
            row = pa.concat_arrays([row, before]).take(indices_of(at))
        row, masks = _available(row, placeholder)
        if masks is None:
            return row, None
        return row, names_of([field.name for field in row.type], masks, len(row))

    def _converted(
        self, conversion: Conversion | None, values: pa.Array, path: Path, misfits: list[Misfit]
    ) -> pa.Array:
        outcome = converted(conversion, values)
        misfits += [
            Misfit((*path, *each.path), each.is_broken & self._is_event, each.reason)
            for each in outcome.misfits
        ]
        return outcome.values


def _available(
    rows: pa.StructArray, placeholder: Placeholder | None
) -> tuple[pa.StructArray, list[Bools] | None]:
    """Rows with null for unavailable values; and for each column, which rows had such a value."""
    if placeholder is None:
        return rows, None
    columns = rows.flatten()
    masks = [placeholder.is_in(column) for column in columns]
    if any(mask.any() for mask in masks):
        names = [field.name for field in rows.type]
        is_null = array_of_bools(~is_valid(rows))
        rows = pa.StructArray.from_arrays(without(columns, masks), names, mask=is_null)
    return rows, masks


@dataclass(frozen=True)
class KeyPayloadDecoder:
    """Decodes the keys of events.

    Attributes:
        inner: Decodes payloads as `plan.payload`.
        plan: How to go on.
    """

    inner: PayloadDecoder
    plan: KeyPlan

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Decode payloads after frames of one size."""
        values, is_broken = self.inner.decode(payloads, skipped_bytes)
        outcome = converted(self.plan.conversion, with_type(values, self.plan.payload))
        masks = [each.is_broken & is_valid(values) for each in outcome.misfits]
        keys = self._without_missing(outcome.values) if self.plan.missing else outcome.values
        return Values(keys, np.logical_or.reduce([is_broken, *masks]))

    def _without_missing(self, keys: pa.StructArray) -> pa.StructArray:
        parts = fields_of(keys)
        parts |= {name: pa.nulls(len(keys), parts[name].type) for name in self.plan.missing}
        mask = array_of_bools(~is_valid(keys))
        return pa.StructArray.from_arrays([*parts.values()], [*parts], mask=mask)

    def explain(self, payload: bytes) -> PayloadError:
        """The fault in a broken payload, without its frame."""
        values, is_broken = self.inner.decode(_framed(payload), len(_FRAME))
        if is_broken[0]:
            return self.inner.explain(payload)
        misfit = converted(self.plan.conversion, with_type(values, self.plan.payload)).misfits[0]
        return PayloadError(shown(misfit.path), misfit.reason)
