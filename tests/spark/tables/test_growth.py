"""What a table lacks for rows. A table only grows, and what it cannot hold is refused by name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T

from kafka_spark_source.changes.types import fits
from kafka_spark_source.tables.growth import At, Growth, Path, growth, wider

BYTE, SHORT, INT, LONG = T.ByteType(), T.ShortType(), T.IntegerType(), T.LongType()
FLOAT, DOUBLE, TEXT, VOID = T.FloatType(), T.DoubleType(), T.StringType(), T.NullType()
DATE, MOMENT, INSTANT = T.DateType(), T.TimestampNTZType(), T.TimestampType()
Decimal, Array = T.DecimalType, T.ArrayType


def struct(**fields: T.DataType) -> T.StructType:
    return T.StructType([T.StructField(name, type_) for name, type_ in fields.items()])


def texts(value: T.DataType) -> T.MapType:
    return T.MapType(TEXT, value)


def grown(there: T.DataType, path: Path, to: T.DataType) -> T.DataType:
    """A type with another one at a path, or with one more field."""
    if not path:
        return to
    match there:
        case T.StructType():
            fields = {each.name: each.dataType for each in there}
            fields[path[0]] = grown(fields.get(path[0], VOID), path[1:], to)
            return struct(**fields)
        case T.ArrayType():
            assert path[0] == "element"
            return Array(grown(there.elementType, path[1:], to))
        case T.MapType():
            assert path[0] == "value"
            return T.MapType(there.keyType, grown(there.valueType, path[1:], to))
    raise AssertionError(f"{there} has no {path}")


def after(table: T.StructType, needed: Growth) -> T.StructType:
    """A table after the statements for all that it needs."""
    result: T.DataType = table
    for each in (*needed.added, *needed.widened):
        result = grown(result, each.path, each.type)
    assert isinstance(result, T.StructType)
    return result


def at(there: T.DataType, path: Path) -> T.DataType:
    for name in path:
        match there:
            case T.StructType():
                there = there[name].dataType
            case T.ArrayType():
                there = there.elementType
            case T.MapType():
                there = there.valueType
    return there


def has_all(old: T.DataType, new: T.DataType) -> bool:
    """Whether a grown type has each column, field and value of the old one."""
    match old, new:
        case T.StructType(), T.StructType():
            kept = new.fields[: len(old.fields)]
            return old.names == [each.name for each in kept] and all(
                has_all(ours.dataType, theirs.dataType)
                for ours, theirs in zip(old, kept, strict=True)
            )
        case T.ArrayType(), T.ArrayType():
            return has_all(old.elementType, new.elementType)
        case T.MapType(), T.MapType():
            return old.keyType == new.keyType and has_all(old.valueType, new.valueType)
    return fits(old, new)


DECIMALS = st.integers(1, 38).flatmap(
    lambda digits: st.integers(0, digits).map(lambda scale: Decimal(digits, scale))
)
NUMBERS = st.sampled_from([BYTE, SHORT, INT, LONG, FLOAT, DOUBLE]) | DECIMALS
LEAVES = NUMBERS | st.sampled_from([DATE, MOMENT, INSTANT, TEXT, T.BinaryType(), VOID, struct()])
# Names that also are parts of paths, and one that a path has to quote.
NAMES = st.sampled_from(["a", "B", "b", "element", "key", "Value", "x.y", "x`y"])


def structs(inner: st.SearchStrategy[T.DataType]) -> st.SearchStrategy[T.StructType]:
    fields = st.lists(
        st.tuples(NAMES, inner), unique_by=lambda field: field[0].lower(), min_size=1, max_size=4
    )
    return fields.map(lambda each: struct(**dict(each)))


def nested(inner: st.SearchStrategy[T.DataType]) -> st.SearchStrategy[T.DataType]:
    maps = st.builds(T.MapType, st.sampled_from([TEXT, INT, LONG]), inner)
    return st.builds(Array, inner) | maps | structs(inner)


TYPES = st.recursive(LEAVES, nested, max_leaves=6)


@st.composite
def relatives(draw: st.DrawFn, of: T.DataType) -> T.DataType:
    """Types like another one: fields that go, come and change their case, and other numbers."""
    match of:
        case T.StructType():
            drawn = {each.name.lower(): each for each in draw(structs(TYPES))}
            for field in draw(st.permutations(of.fields)):
                name = draw(st.sampled_from([field.name, field.name.upper(), field.name.lower()]))
                drawn[name.lower()] = T.StructField(name, draw(relatives(field.dataType)))
            return T.StructType([each for each in drawn.values() if draw(st.integers(0, 5))])
        case T.ArrayType():
            return Array(draw(relatives(of.elementType)))
        case T.MapType():
            keys = draw(st.sampled_from([of.keyType, of.keyType, INT]))
            return T.MapType(keys, draw(relatives(of.valueType)))
    is_number = isinstance(of, T.NumericType)
    return draw(st.sampled_from([of, VOID]) | (NUMBERS if is_number else st.just(of)))


def check_growth(table: T.StructType, rows: T.StructType, provider: str) -> None:
    needed = growth(table, rows, provider)
    then = after(table, needed)
    # All that is not refused is done; all that is refused stays so.
    assert growth(then, rows, provider) == Growth((), (), needed.refused)
    assert has_all(table, then)
    assert growth(then, table, provider) == Growth()
    for each in needed.widened:
        before = at(table, each.path)
        assert before != each.type
        assert fits(before, each.type)
        assert fits(at(rows, _path_of_rows(rows, each.path)), each.type)


def _path_of_rows(there: T.DataType, path: Path) -> Path:
    """A path in the spelling of the rows."""
    result: list[str] = []
    for name in path:
        here = at(there, tuple(result))
        spelled = here.names if isinstance(here, T.StructType) else ()
        names = {each.lower(): each for each in spelled}
        result.append(names.get(name.lower(), name))
    return tuple(result)


@given(st.data(), structs(TYPES), st.sampled_from(["delta", "iceberg"]))
def test_a_grown_table_lacks_nothing_and_has_all_that_it_had(
    data: Any, table: T.StructType, provider: str
) -> None:
    check_growth(table, data.draw(relatives(table)), provider)


@given(structs(TYPES), structs(TYPES), st.sampled_from(["delta", "iceberg"]))
def test_a_table_also_grows_for_rows_that_are_not_like_it(
    table: T.StructType, rows: T.StructType, provider: str
) -> None:
    check_growth(table, rows, provider)


@given(st.data(), NUMBERS, NUMBERS, st.sampled_from(["delta", "iceberg"]))
def test_a_wider_type_has_all_values_of_both(
    data: Any, there: T.DataType, rows: T.DataType, provider: str
) -> None:
    to = wider(there, rows, provider)
    if to is None:
        return
    assert fits(there, to)
    assert fits(rows, to)
    # What a smaller type needs is not more.
    other = data.draw(NUMBERS)
    if fits(other, rows) and not fits(other, there):
        assert wider(there, other, provider) is not None


@pytest.mark.parametrize("provider", ["delta", "iceberg"])
@pytest.mark.parametrize(
    ("table", "rows", "path", "type_"),
    [
        pytest.param(struct(), struct(a=INT), ("a",), INT, id="no table"),
        pytest.param(struct(a=INT), struct(b=TEXT, a=INT), ("b",), TEXT, id="a column"),
        pytest.param(
            struct(a=INT), struct(s=struct(x=Array(INT))), ("s",), struct(x=Array(INT)), id="struct"
        ),
        pytest.param(
            struct(s=struct(x=INT)), struct(S=struct(Y=TEXT, X=INT)), ("s", "Y"), TEXT, id="a field"
        ),
        pytest.param(
            struct(l=Array(struct(x=INT))),
            struct(l=Array(struct(y=TEXT))),
            ("l", "element", "y"),
            TEXT,
            id="a field of elements",
        ),
        pytest.param(
            struct(m=texts(struct(x=INT))),
            struct(m=texts(struct(x=INT, y=DATE))),
            ("m", "value", "y"),
            DATE,
            id="a field of values",
        ),
        pytest.param(
            struct(m=texts(Array(struct(value=struct(x=INT))))),
            struct(m=texts(Array(struct(VALUE=struct(key=INT))))),
            ("m", "value", "element", "value", "key"),
            INT,
            id="a field far inside",
        ),
    ],
)
def test_what_is_added(
    table: T.StructType, rows: T.StructType, path: Path, type_: T.DataType, provider: str
) -> None:
    assert growth(table, rows, provider) == Growth(added=(At(path, type_),))


def test_all_that_a_table_lacks_is_listed() -> None:
    table = struct(a=INT, s=struct(x=FLOAT), t=TEXT)
    rows = struct(new=INT, a=LONG, s=struct(y=INT, x=DOUBLE), t=INT, u=VOID)
    needed = growth(table, rows, "delta")
    assert needed.added == (At(("new",), INT), At(("s", "y"), INT))
    assert needed.widened == (At(("a",), LONG), At(("s", "x"), DOUBLE))
    assert len(needed.refused) == 2
