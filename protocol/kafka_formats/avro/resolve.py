"""Schema resolution: the schemas of a writer and a reader -> the plan to read.

Source: Apache Avro 1.12, "Schema Resolution"; `docs/formats.md` says where Java's library differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pyarrow as pa

from kafka_formats.arrow.decimals import ratio_of_scales
from kafka_formats.avro.logical import is_binary, is_readable, ratio_of
from kafka_formats.avro.plan import (
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
    Step,
    Symbol,
    min_bytes,
)
from kafka_formats.avro.schema import (
    Array,
    Enum,
    Field,
    Fixed,
    Map,
    Primitive,
    RecordSchema,
    Recursive,
    Schema,
    Union,
    kind_of,
)
from kafka_formats.avro.types import arrow_type, members_of, raw_branches
from kafka_formats.avro.values import default_of
from kafka_formats.errors import ITEMS, VALUES, SchemaError, about, named, path_of

# Written type -> the others that it may be read as.
_PROMOTIONS: Final[Mapping[str, frozenset[str]]] = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
_FLOATS: Final = frozenset({"float", "double"})
# The most items without bytes, such as nulls, of one list, and of one within another list.
_MOST_EMPTY: Final = 1_000
_MOST_EMPTY_WITHIN: Final = 10


def resolve(writer: Schema, reader: Schema) -> AvroPlan:
    """How to read a payload that was written with one schema as the type of the other.

    Raises:
        SchemaError: The two do not fit each other. Names the field.
    """
    # A reader's record within itself has no type: it is refused here, with its reason.
    arrow_type(reader)
    return _required(writer, reader, "")


def fits(writer: Schema, reader: Schema, path: str) -> bool:
    """Whether some values of a writer's schema can be read as a reader's."""
    return why_unfit(writer, reader, path) is None


def why_unfit(writer: Schema, reader: Schema, path: str) -> str | None:
    """Why no value of a writer's schema can be read as a reader's; None if some can."""
    try:
        plan = _resolve(writer, reader, path)
    except SchemaError as error:
        return str(error)
    return None if plan is not None else str(_mismatch(writer, reader, path))


def places_of(writer: RecordSchema, reader: RecordSchema) -> list[int | None] | None:
    """The place in the reader's record of each field of the writer's, None for one that it lacks.

    None if the records have other names.
    """
    if not _is_same_name(writer, reader):
        return None
    aliases = {name: at for at, each in enumerate(reader.fields) for name in each.aliases}
    known = aliases | {each.name: at for at, each in enumerate(reader.fields)}
    places: list[int | None] = []
    for field in writer.fields:
        place = known.get(field.name)
        places.append(None if place in places else place)
    return places


def _required(writer: Schema, reader: Schema, path: str) -> AvroPlan:
    plan = _resolve(writer, reader, path)
    if plan is None:
        raise _mismatch(writer, reader, path)
    return plan


def _mismatch(writer: Schema, reader: Schema, path: str) -> SchemaError:
    return SchemaError(about(path, f"{_shown(writer)} was written, {_shown(reader)} is expected"))


def _shown(schema: Schema) -> str:
    """The logical type if there is one, as the kinds may be the same."""
    logical = getattr(schema, "logical", None)
    return logical.name if logical else kind_of(schema)


def _resolve(writer: Schema, reader: Schema, path: str) -> AvroPlan | None:
    """None if the types do not fit each other."""
    if isinstance(writer, Recursive):
        # The reader's has an end, as its type is one of Arrow's.
        writer = writer.record
    if isinstance(writer, Union):
        return _of_branches(writer, reader, path)
    if isinstance(reader, Union):
        return _into_branch(writer, reader, path)
    if type(writer) is not type(reader):
        return None
    return _OF_SAME_KIND[type(writer)](writer, reader, path)


def _is_same_name(writer: Fixed | Enum | RecordSchema, reader: Fixed | Enum | RecordSchema) -> bool:
    """As in Java: the names without their namespaces, or an alias of the reader."""
    if writer.name.rpartition(".")[2] == reader.name.rpartition(".")[2]:
        return True
    return writer.name in reader.aliases


def _primitive(writer: Primitive, reader: Primitive, _path: str) -> AvroPlan | None:
    if not _is_promoted(writer, reader) or not is_readable(writer.logical, reader.logical):
        return None
    to = arrow_type(reader)
    if reader.name in {"bytes", "string"}:
        return _bytes(writer, reader, None)
    if reader.name == "null":
        return Null(to)
    if reader.name == "boolean":
        return Boolean(to)
    if reader.name in _FLOATS and writer.name not in _FLOATS:
        return Number(to, writer.name, None)
    return Number(to, writer.name, ratio_of(writer.logical, reader.logical))


def _is_promoted(writer: Primitive, reader: Primitive) -> bool:
    """Whether the types are the same, or the written one may be read as the other.

    A number in bytes cannot be a text, nor the reverse.
    """
    return writer.name == reader.name or (
        reader.name in _PROMOTIONS.get(writer.name, ())
        and not is_binary(writer.logical)
        and not is_binary(reader.logical)
    )


def _fixed(writer: Fixed, reader: Fixed, _path: str) -> AvroPlan | None:
    if writer.size != reader.size or not _is_same_name(writer, reader):
        return None
    if not is_readable(writer.logical, reader.logical):
        return None
    return _bytes(writer, reader, writer.size)


def _bytes(writer: Primitive | Fixed, reader: Primitive | Fixed, size: int | None) -> AvroPlan:
    to = arrow_type(reader)
    logical = reader.logical
    if logical is None or logical.name != "decimal":
        return Bytes(to, size)
    ratio = ratio_of_scales((writer.logical or logical).scale, logical.scale)
    if logical.is_text:
        return DecimalText(to, size, ratio, logical.scale)
    return Decimal(to, size, ratio, 10**logical.precision)


def _enum(writer: Enum, reader: Enum, _path: str) -> AvroPlan | None:
    if not _is_same_name(writer, reader):
        return None
    known = set(reader.symbols)
    symbols = [each if each in known else reader.default for each in writer.symbols]
    return Symbol(arrow_type(reader), symbols, writer.symbols)


def _array(writer: Array, reader: Array, path: str) -> AvroPlan:
    item = _required(writer.items, reader.items, path_of(path, ITEMS))
    return _items(arrow_type(reader), item, is_within=_is_in_list(path))


def _map(writer: Map, reader: Map, path: str) -> AvroPlan:
    to = arrow_type(reader)
    value = _required(writer.values, reader.values, path_of(path, VALUES))
    steps = [Step("key", Bytes(pa.string()), 0), Step("value", value, 1)]
    entry = RecordPlan(pa.struct([to.key_field, to.item_field]), steps, {})
    return _items(to, entry, is_within=_is_in_list(path))


def _is_in_list(path: str) -> bool:
    return ITEMS in path or VALUES in path


def _items(to: pa.DataType, item: AvroPlan, *, is_within: bool) -> Items:
    return Items(to, item, min_bytes(item), _MOST_EMPTY_WITHIN if is_within else _MOST_EMPTY)


def _record(writer: RecordSchema, reader: RecordSchema, path: str) -> AvroPlan | None:
    places = places_of(writer, reader)
    if places is None:
        return None
    steps = []
    left = dict(enumerate(reader.fields))
    for field, place in zip(writer.fields, places, strict=True):
        inner = path_of(path, field.name)
        if place is None:
            steps.append(
                Step(
                    field.name,
                    _skipped(field.schema, _Enclosing(inner, is_list=_is_in_list(inner))),
                    None,
                )
            )
        else:
            wanted = left.pop(place)
            steps.append(Step(field.name, _required(field.schema, wanted.schema, inner), place))
    constants = {place: _default(field, path) for place, field in left.items()}
    return RecordPlan(arrow_type(reader), steps, constants)


class _Enclosing(NamedTuple):
    """The schema around a skipped part.

    Attributes:
        path: The path of the field.
        records: By name.
        open: The names of records that the part is in directly, not as an item or a branch.
        is_list: Whether the part is in a list.
    """

    path: str
    records: Mapping[str, Again] = {}
    open: frozenset[str] = frozenset()
    is_list: bool = False


def _skipped(schema: Schema, around: _Enclosing) -> AvroPlan:
    """How to skip a value: its bytes, without rules for their meaning."""
    apart = around._replace(open=frozenset())
    plan: AvroPlan
    match schema:
        case Primitive(name):
            plan = _SKIPPED[name]
        case Fixed():
            plan = Bytes(pa.binary(), schema.size)
        case Enum():
            plan = _SKIPPED["long"]
        case Array(items):
            item = _skipped(items, apart._replace(is_list=True))
            plan = _items(pa.null(), item, is_within=around.is_list)
        case Map(values):
            value = _skipped(values, apart._replace(is_list=True))
            entry = [Step("key", _SKIPPED["bytes"], None), Step("value", value, None)]
            item = RecordPlan(pa.struct([]), entry, {})
            plan = _items(pa.null(), item, is_within=around.is_list)
        case Union(branches):
            plan = Choice(pa.null(), [_skipped(each, apart) for each in branches])
        case RecordSchema():
            plan = _skipped_record(schema, around)
        case Recursive(name):
            if name in around.open:
                raise SchemaError(
                    about(around.path, f"the record {name!r} is always within itself")
                )
            known = around.records.get(name)
            plan = known if known is not None else _skipped(schema.record, around)
    return plan


def _skipped_record(record: RecordSchema, around: _Enclosing) -> RecordPlan:
    again = Again(pa.null())
    inner = around._replace(
        records={**around.records, record.name: again}, open=around.open | {record.name}
    )
    steps = [Step(each.name, _skipped(each.schema, inner), None) for each in record.fields]
    again.record = RecordPlan(pa.struct([]), steps, {})
    return again.record


_SKIPPED: Final[Mapping[str, AvroPlan]] = {
    "null": Null(pa.null()),
    "boolean": Bytes(pa.binary(), 1),
    "int": Number(pa.int64(), "long"),
    "long": Number(pa.int64(), "long"),
    "float": Number(pa.float32(), "float"),
    "double": Number(pa.float64(), "double"),
    "bytes": Bytes(pa.binary()),
    "string": Bytes(pa.binary()),
}


def _default(field: Field, path: str) -> Any:
    inner = path_of(path, field.name)
    if not field.has_default:
        raise SchemaError(f"{named(inner)} was not written and has no default")
    value = default_of(field.schema, field.default, inner)
    try:
        pa.array([value], arrow_type(field.schema))
    except (ArithmeticError, TypeError, ValueError, pa.ArrowException) as error:
        raise SchemaError(f"the default of {named(inner)} does not fit its type") from error
    return value


_OF_SAME_KIND: Final[Mapping[type[Schema], Callable[[Any, Any, str], AvroPlan | None]]] = {
    Primitive: _primitive,
    Fixed: _fixed,
    Enum: _enum,
    Array: _array,
    Map: _map,
    RecordSchema: _record,
}


def _of_branches(writer: Union, reader: Schema, path: str) -> AvroPlan | None:
    branches = [_branch(branch, reader, path) for branch in writer.branches]
    if all(branch is None for branch in branches):
        return None
    return Choice(arrow_type(reader), branches, [_shown(each) for each in writer.branches])


def _branch(writer: Schema, reader: Schema, path: str) -> AvroPlan | None:
    try:
        return _resolve(writer, reader, path)
    except SchemaError:
        return None


def _into_branch(writer: Schema, reader: Union, path: str) -> AvroPlan | None:
    """The branch of a value that was written without a union: of its own type, or that fits."""
    to = arrow_type(reader)
    raw = raw_branches(reader).branches
    ordered = sorted(
        enumerate(reader.branches), key=lambda each: kind_of(each[1]) != kind_of(writer)
    )
    errors = []
    for number, branch in ordered:
        if branch != raw[number] and _is_other_meaning(writer, branch):
            continue
        try:
            plan = _resolve(writer, raw[number], path)
        except SchemaError as error:
            errors.append(error)
            continue
        if plan is not None:
            return _as_union(plan, reader, number, to)
    if errors:
        # This type would be the right one, except for a part of it.
        raise errors[0]
    return None


def _is_other_meaning(writer: Schema, reader: Schema) -> bool:
    """Whether the written number would mean something else, as Spark converts none here."""
    logicals = [getattr(each, "logical", None) for each in (writer, reader)]
    return None not in logicals and logicals[0] != logicals[1]


def _as_union(plan: AvroPlan, reader: Union, number: int, to: pa.DataType) -> AvroPlan | None:
    """The value of a branch as the type of its union."""
    if isinstance(plan, Null):
        return Null(to)
    if members := members_of(reader):
        return BranchPlan(to, members.index(reader.branches[number]), plan)
    if isinstance(plan, Number):
        # A union of int and long is read as long, and one of float and double as double.
        return replace(plan, type=to)
    return plan
