"""A message with each scalar in each place, and random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.query.formats import FORMATS
from tests.formats.protobuf.messages import message_class

PROTOBUF = FORMATS[Format.PROTOBUF]
SCALARS = {
    "double": st.floats(),
    "float": st.floats(width=32),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "sint32": st.integers(-(2**31), 2**31 - 1),
    "sint64": st.integers(-(2**63), 2**63 - 1),
    "fixed32": st.integers(0, 2**32 - 1),
    "fixed64": st.integers(0, 2**64 - 1),
    "sfixed32": st.integers(-(2**31), 2**31 - 1),
    "sfixed64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": st.text(max_size=4),
    "bytes": st.binary(max_size=4),
}

ALL = SchemaText(
    'syntax = "proto3"; package p; message All {'
    + "".join(
        f"{kind} plain_{kind} = {n}; optional {kind} optional_{kind} = {n + 20};"
        f"repeated {kind} list_{kind} = {n + 40};"
        f"repeated {kind} loose_{kind} = {n + 60}"
        f"{'' if kind in ('string', 'bytes') else ' [packed = false]'};"
        f"map<string, {kind}> map_{kind} = {n + 80};"
        for n, kind in enumerate(SCALARS, 1)
    )
    + "oneof either { int32 one = 101; Part two = 102; }"
    "Part part = 103; repeated Part parts = 104; map<sint64, Part> places = 105;"
    "enum E { ZERO = 0; ONE = 1; ALSO = -5; } E e = 106; repeated E es = 107;"
    "message Part { int32 x = 1; string y = 2; repeated int32 zs = 3; } }"
)
TYPE = PROTOBUF.type_of(ALL)
All: Any = message_class(ALL, "p.All")


def values_of(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    """Fields of one kind of scalar."""
    one, several = SCALARS[kind], st.lists(SCALARS[kind], max_size=3)
    items = st.dictionaries(st.text(max_size=2), SCALARS[kind], max_size=2)
    fields = {"plain": one, "optional": one, "list": several, "loose": several, "map": items}
    named = {f"{name}_{kind}": values for name, values in fields.items()}
    return st.fixed_dictionaries({}, optional=named)


PARTS = st.builds(
    All.Part, x=SCALARS["int32"], y=SCALARS["string"], zs=st.lists(SCALARS["int32"], max_size=3)
)


@st.composite
def messages(draw: st.DrawFn) -> Any:
    found = All(es=draw(st.lists(st.integers(-6, 3), max_size=3)), e=draw(st.integers(-6, 3)))
    for kind in draw(st.sets(st.sampled_from([*SCALARS]), max_size=4)):
        found.MergeFrom(All(**draw(values_of(kind))))
    if draw(st.booleans()):
        found.one = draw(SCALARS["int32"])
    if draw(st.booleans()):
        found.part.CopyFrom(draw(PARTS))
    if draw(st.booleans()):
        found.two.CopyFrom(draw(PARTS))
    found.parts.extend(draw(st.lists(PARTS, max_size=3)))
    for key, part in draw(st.dictionaries(SCALARS["sint64"], PARTS, max_size=2)).items():
        found.places[key].CopyFrom(part)
    return found
