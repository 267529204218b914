"""The plan to read payloads with semantic types as the types that a query wants.

A format decodes what the payload has, and a conversion makes of it what is wanted. A user may want
the type of the payload itself, too. Where no schema has a semantic type (JSON without schemas,
Protobuf), it follows from the type that is wanted, and from an option where that leaves it open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import pyarrow as pa

from kafka_formats.arrow.type_match import wanted_fields
from kafka_formats.arrow.types import as_nullable
from kafka_formats.connect.conversion import Conversion, Fields, Items, Leaf, Values
from kafka_formats.connect.decimals import plain_text
from kafka_formats.connect.semantics import (
    ConnectType,
    Path,
    Semantic,
    Semantics,
    shown,
    type_at,
)
from kafka_formats.connect.times import Converted
from kafka_formats.connect.types import (
    DATE,
    DECIMAL,
    LOCAL,
    MOMENT,
    TEXT,
    TYPES,
    VARIABLE_DECIMAL,
    has_parts,
    scale_of,
)
from kafka_formats.errors import ITEMS, VALUES, SchemaError, named
from kafka_protocol.columnar.arrays.arrow_memory import is_valid

_TIME: Final = "io.debezium.time."
PRECISION_OPTION: Final = "debezium.time.precision.mode"


@dataclass(frozen=True, slots=True)
class AssumedSemantics:
    """The semantic types of types for which no schema has one.

    Attributes:
        moment: The semantic type of `timestamp_ntz`; None: it is refused.
        decimal_is_number: Whether decimals in JSON are numbers, and not bytes.
    """

    moment: str | None = None
    decimal_is_number: bool = False

    @property
    def is_iso(self) -> bool:
        """Whether dates and moments are texts."""
        return self.moment == f"{_TIME}IsoTimestamp"


class ConnectPlan(NamedTuple):
    """How to read payloads.

    Attributes:
        type: The type that the format decodes.
        conversion: What makes the wanted values of it; None: they are decoded as wanted.
    """

    type: pa.DataType
    conversion: Conversion | None


def default_type(given: ConnectType, path: Path = ()) -> pa.DataType:
    """The type of Spark's to read payloads as, with all parts nullable."""
    raw, semantics = given
    semantic = semantics.get(path)
    if semantic is not None and semantic.name in TYPES:
        return TYPES[semantic.name].default(raw, semantic)

    def inner(data_type: pa.DataType, name: str) -> pa.DataType:
        return default_type(ConnectType(data_type, semantics), (*path, name))

    # Only Connect's Timestamp, which has no zone in Debezium, becomes a moment of a format.
    return _of_parts(raw, inner) or (LOCAL if raw == MOMENT else raw)


def payload_type(wanted: pa.DataType, assumed: AssumedSemantics) -> pa.DataType:
    """The type that documents of JSON have, if a user wants a type and there is no schema."""
    if wanted == MOMENT or (wanted in {LOCAL, DATE} and assumed.is_iso):
        return TEXT
    if wanted in _NUMBERS:
        return _NUMBERS[wanted]
    if pa.types.is_decimal(wanted):
        return wanted if assumed.decimal_is_number else pa.binary()
    return _of_parts(wanted, lambda data_type, _: payload_type(data_type, assumed)) or wanted


_NUMBERS: Final[Mapping[pa.DataType, pa.DataType]] = {LOCAL: pa.int64(), DATE: pa.int32()}


def _of_parts(
    data_type: pa.DataType, inner: Callable[[pa.DataType, str], pa.DataType]
) -> pa.DataType | None:
    """The same struct, list or map of other types, by type and name of each part; else None."""
    if pa.types.is_struct(data_type):
        fields = [pa.field(each.name, inner(each.type, each.name)) for each in data_type]
        return pa.struct(fields)
    if pa.types.is_list(data_type):
        return pa.list_(pa.field("element", inner(data_type.value_type, ITEMS)))
    if pa.types.is_map(data_type):
        values = pa.field("value", inner(data_type.item_type, VALUES))
        return pa.map_(data_type.key_type, values)
    return None


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans how to read payloads of one schema.

    Attributes:
        reader: The semantic types of the schema to read as.
        assumed: The semantic types for parts that have none in it.
        writer: The schema that payloads were written with, if it is another one.
        is_checked: Whether the format checks that it can decode a type; else the types must be
            equal to the payload's types, or wider.
        implies: Whether a part without a semantic type may have one, which follows from the type
            that is wanted; else schemas have all of them.
    """

    reader: Semantics
    assumed: AssumedSemantics
    writer: ConnectType | None = None
    is_checked: bool = True
    implies: bool = True

    def plan(self, raw: pa.DataType, wanted: pa.DataType, path: Path = ()) -> ConnectPlan:
        """Plan a part.

        Args:
            raw: Its type in payloads.
            wanted: The type to read it as: of structs some of the fields.
            path: Its path.

        Raises:
            SchemaError: It cannot be read so. Names the field.
        """
        self._check_written(raw, path)
        plan = self._leaf(raw, wanted, path)
        if plan is not None:
            return plan
        if pa.types.is_struct(raw) and pa.types.is_struct(wanted):
            return self._struct(raw, wanted, path)
        if pa.types.is_list(raw) and pa.types.is_list(wanted):
            items = self.plan(raw.value_type, wanted.value_type, (*path, ITEMS))
            to = pa.list_(pa.field("element", items.type))
            return ConnectPlan(to, items.conversion and Items(items.conversion))
        if pa.types.is_map(raw) and pa.types.is_map(wanted):
            values = self.plan(raw.item_type, wanted.item_type, (*path, VALUES))
            to = pa.map_(wanted.key_type, pa.field("value", values.type))
            return ConnectPlan(to, values.conversion and Values(values.conversion))
        self._check(raw, wanted, path)
        return ConnectPlan(wanted, None)

    def _leaf(self, raw: pa.DataType, wanted: pa.DataType, path: Path) -> ConnectPlan | None:
        """The plan of a part that is converted as a whole; None for another one."""
        semantic = self._semantic(raw, path)
        if semantic is None:
            self._check_unit(raw, wanted, path)
            if self._lacks_unit(raw, wanted):
                return ConnectPlan(raw, self._refused(path))
        elif semantic.name == DECIMAL and self.assumed.decimal_is_number:
            return self._number(semantic, wanted, path)
        implied = self._implied(raw, wanted) if self.implies else None
        if semantic is None and implied is not None:
            self._check_same(raw, path)
        convert = self._convert(semantic or implied, raw, wanted)
        if convert is not None:
            return ConnectPlan(as_nullable(raw), convert)
        if (
            semantic is not None
            and semantic.name != DECIMAL
            and not _is_read_as(semantic, raw, wanted)
        ):
            raise SchemaError(
                f"{named(shown(path))} is {semantic.name}, {raw} in the payload, which cannot be "
                f"read as {wanted}"
            )
        return None

    def _number(self, semantic: Semantic, wanted: pa.DataType, path: Path) -> ConnectPlan:
        """A decimal that is a number in JSON; its text has all of the digits."""
        scale = scale_of(semantic)
        is_exact = pa.types.is_decimal(wanted) and scale is not None and scale <= wanted.scale
        if not (is_exact or wanted == TEXT):
            raise SchemaError(
                f"{named(shown(path))} is a decimal with the scale {scale}, which cannot be read "
                f"as {wanted}"
            )
        reason = f"the value of {semantic.name} does not fit {wanted}"
        return ConnectPlan(wanted, Leaf(plain_text, reason) if wanted == TEXT else None)

    def _struct(self, raw: pa.StructType, wanted: pa.StructType, path: Path) -> ConnectPlan:
        known = {each.name: each.type for each in raw}
        if not self.is_checked:
            # A document need not have a field: it is null, whatever its type.
            known = dict.fromkeys((each.name for each in wanted), pa.null()) | known
        fields: list[pa.Field] = []
        parts: dict[int, Conversion] = {}
        for place, (field, inner, _) in enumerate(wanted_fields(known, wanted, shown(path))):
            is_there = inner != pa.null()
            part = (*path, field.name)
            plan = self.plan(inner, field.type, part) if is_there else ConnectPlan(field.type, None)
            fields.append(pa.field(field.name, plan.type))
            if plan.conversion is not None:
                parts[place] = plan.conversion
        return ConnectPlan(pa.struct(fields), Fields(parts) if parts else None)

    def _semantic(self, raw: pa.DataType, path: Path) -> Semantic | None:
        """The semantic type that values at a path were written with, if it changes their meaning.

        A field that the writer does not have is the default of the reader. A text may be a moment
        with a zone: each value is checked.
        """
        reader = _known(self.reader.get(path))
        semantic = reader
        if self.writer is not None and self._written(path) is not None:
            semantic = _known(self.writer.semantics.get(path))
        is_text = raw == TEXT and reader is not None and reader.name == _ZONED
        return reader if semantic is None and is_text else semantic

    def _convert(
        self, semantic: Semantic | None, raw: pa.DataType, wanted: pa.DataType
    ) -> Leaf | None:
        if semantic is None:
            return None
        convert = TYPES[semantic.name].convert(raw, wanted, semantic)
        return convert and Leaf(convert, f"the value of {semantic.name} does not fit {wanted}")

    def _lacks_unit(self, raw: pa.DataType, wanted: pa.DataType) -> bool:
        has_no_unit = self.implies and self.assumed.moment is None
        return has_no_unit and wanted == LOCAL and raw in {pa.int64(), TEXT}

    def _refused(self, path: Path) -> Leaf:
        """Refuse numbers without a unit: now, or in documents where there is one."""
        reason = (
            "it is wanted as timestamp_ntz, and no schema names the unit of its numbers: set "
            f"{PRECISION_OPTION} to connect, microseconds, nanoseconds or isostring, or read it as "
            "bigint"
        )
        if self.is_checked:
            raise SchemaError(f"{named(shown(path))}: {reason}")
        return Leaf(
            lambda values: Converted(pa.nulls(len(values), LOCAL), is_valid(values)), reason
        )

    def _implied(self, raw: pa.DataType, wanted: pa.DataType) -> Semantic | None:
        """The semantic type of a part that has none in a schema, by the wanted type."""
        moment_as = TEXT if self.assumed.is_iso else pa.int64()
        if wanted == LOCAL and raw == moment_as and self.assumed.moment is not None:
            return Semantic(self.assumed.moment, {})
        if wanted == DATE and raw == TEXT and self.assumed.is_iso:
            return Semantic(f"{_TIME}IsoDate", {})
        for (kind, to), name in _IMPLIED.items():
            if raw == kind and wanted == to:
                return Semantic(name, {})
        if pa.types.is_decimal(wanted) and raw == pa.binary():
            return Semantic(DECIMAL, {"scale": str(wanted.scale)})
        is_number = pa.types.is_decimal(wanted) or wanted == TEXT
        return Semantic(VARIABLE_DECIMAL, {}) if is_number and has_parts(raw) else None

    def _check_unit(self, raw: pa.DataType, wanted: pa.DataType, path: Path) -> None:
        """Check that numbers of a writer that are read as they are mean what the reader's do.

        A text may have any meaning where it stays a text.
        """
        known = [_known(self.reader.get(path)), self._semantic(raw, path)]
        units = [each and each.name for each in known]
        if raw == wanted == TEXT:
            units = [None if each in _TEXTS else each for each in units]
        if units[0] != units[1]:
            here, there = (each or "without a semantic type" for each in units)
            raise _differs(path, there, here)

    def _written(self, path: Path) -> pa.DataType | None:
        """The type of a part in the schema that payloads were written with, if it is known."""
        return None if self.writer is None else type_at(self.writer.type, path)

    def _check_written(self, raw: pa.DataType, path: Path) -> None:
        """Check that a format that reads payloads as the reader's type keeps what they say.

        Avro reads bytes as a text or as a decimal of any scale, a number as a moment of another
        unit, and a large number as the nearest double.
        """
        written = self._written(path) if self.is_checked else None
        if written is None or pa.types.is_null(written) or _is_kept(written, raw):
            return
        semantic = self._semantic(raw, path)
        is_number = pa.types.is_temporal(written) and pa.types.is_integer(raw)
        # One of them has more digits than a decimal of Arrow.
        is_text = semantic is not None and semantic.name == DECIMAL and TEXT in {written, raw}
        is_digits = is_text and any(pa.types.is_decimal(each) for each in (written, raw))
        if semantic is None or not (is_number or is_digits):
            raise _differs(path, written, raw)

    def _check_same(self, raw: pa.DataType, path: Path) -> None:
        """Check that what the wanted type gives a unit to was written as the same type."""
        written = self._written(path)
        if written is not None and written != raw:
            raise _differs(path, written, raw)

    def _check(self, raw: pa.DataType, wanted: pa.DataType, path: Path) -> None:
        self._check_unit(raw, wanted, path)
        if not (self.is_checked or as_nullable(raw) == wanted or _is_wider(raw, wanted)):
            raise SchemaError(f"{named(shown(path))} has the type {raw}, not {wanted}")


_IMPLIED: Final[Mapping[tuple[pa.DataType, pa.DataType], str]] = {
    (pa.int32(), DATE): f"{_TIME}Date",
    (TEXT, MOMENT): f"{_TIME}ZonedTimestamp",
    (MOMENT, LOCAL): "org.apache.kafka.connect.data.Timestamp",
}


# What they say is in their text.
_ZONED: Final = f"{_TIME}ZonedTimestamp"
_TEXTS: Final = frozenset({_ZONED, f"{_TIME}IsoDate", f"{_TIME}IsoTimestamp"})


def _is_read_as(semantic: Semantic, raw: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether payloads are read without a conversion; a number that stays one may be wider."""
    is_number = TYPES[semantic.name].default(raw, semantic) == raw
    return as_nullable(raw) == wanted or (is_number and _is_wider(raw, wanted))


def _differs(path: Path, written: object, read: object) -> SchemaError:
    return SchemaError(
        f"{named(shown(path))} is {written} in the schema of the payload, and {read} in that of "
        "the query"
    )


def _known(semantic: Semantic | None) -> Semantic | None:
    return semantic if semantic is not None and semantic.name in TYPES else None


def _is_kept(written: pa.DataType, raw: pa.DataType) -> bool:
    """Whether values, or parts of them, have the same meaning in both types."""
    kinds = (
        pa.types.is_struct,
        pa.types.is_list,
        pa.types.is_map,
        pa.types.is_decimal,
        pa.types.is_binary,
    )
    # Bytes of a decimal have the scale of the writer's schema.
    is_unscaled = pa.types.is_decimal(written) and pa.types.is_binary(raw)
    is_same_kind = any(is_kind(written) and is_kind(raw) for is_kind in kinds)
    return written == raw or is_same_kind or is_unscaled or _is_wider(written, raw)


def _is_wider(raw: pa.DataType, wanted: pa.DataType) -> bool:
    for is_kind in (pa.types.is_signed_integer, pa.types.is_floating):
        if is_kind(raw) and is_kind(wanted):
            return bool(wanted.bit_width >= raw.bit_width)
    return False
