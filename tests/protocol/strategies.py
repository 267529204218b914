"""Messages for property tests: any instance of a version, and one with all fields set."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from kafka_protocol.wire.codec import write_message
from kafka_protocol.wire.primitives import Out
from kafka_protocol.wire.schema import Field, Message, Shape, StructMeta, default_of, describe

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def encode(message: Message, version: int) -> bytes:
    """The message's body in one piece."""
    out: Out = []
    write_message(message, version, out)
    return b"".join(out)


# --- Any instance ------------------------------------------------------------------------------

_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    **{name: st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for name, bits in _BITS.items()},
    "bool": st.booleans(),
    "uint16": st.integers(0, 2**16 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "float64": st.floats(allow_nan=False),
    "uuid": st.uuids(allow_nil=True),
    "string": st.text(max_size=6),
    "bytes": st.binary(max_size=6),
    "records": st.binary(max_size=6),
}


@cache
def structs(cls: StructMeta, version: int) -> st.SearchStrategy[Any]:
    """Instances of a struct or message; fields that the version lacks keep their default."""
    fields = {f.name: _values(f, version) for f in cls.__fields__ if version in f.versions}
    return st.fixed_dictionaries(fields).map(lambda values: cls(**values))


def _values(declared: Field, version: int) -> st.SearchStrategy[Any]:
    values = _of_shape(describe(declared.wire_type), version)
    if version in declared.nullable:
        values = st.none() | values
    if declared.tag is not None:
        # The default is not encoded, so try it as often as all other values together.
        values = st.builds(default_of, st.just(declared)) | values
    return values


def _of_shape(shape: Shape, version: int) -> st.SearchStrategy[Any]:
    if shape.struct is not None:
        return structs(shape.struct, version)
    if shape.primitive is not None:
        return _PRIMITIVES[shape.primitive]
    return st.lists(_of_shape(describe(shape.element), version), max_size=2)


# --- One full instance -------------------------------------------------------------------------


def full(cls: type[Message], version: int) -> Any:
    """An instance with every field of the version set, each to a different value."""
    return _full_struct(cls, version, itertools.count(1))


def _full_struct(cls: StructMeta, version: int, numbers: Iterator[int]) -> Any:
    values = {
        f.name: _full_value(describe(f.wire_type), version, numbers)
        for f in cls.__fields__
        if version in f.versions
    }
    return cls(**values)


def _full_value(shape: Shape, version: int, numbers: Iterator[int]) -> Any:
    if shape.struct is not None:
        return _full_struct(shape.struct, version, numbers)
    if shape.element is not None:
        return [_full_value(describe(shape.element), version, numbers) for _ in range(2)]
    return _MAKE.get(str(shape.primitive), int)(next(numbers))


_MAKE: dict[str, Callable[[int], Any]] = {
    "bool": bool,
    "uuid": lambda number: uuid.UUID(int=number),
    "string": "text {}".format,
    "bytes": b"%d bytes".__mod__,
    "records": b"%d bytes".__mod__,
}


# --- Damaged bytes -----------------------------------------------------------------------------


@st.composite
def damaged(draw: st.DrawFn, honest: st.SearchStrategy[bytes]) -> bytes:
    """Valid bytes with a part replaced by other bytes: truncated, changed, longer or repeated."""
    data = draw(honest)
    start = draw(st.integers(0, len(data)))
    end = draw(st.integers(start, len(data)))
    other = st.binary(max_size=6) | st.sampled_from([b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x00"])
    return data[:start] + draw(other) + data[end:]
