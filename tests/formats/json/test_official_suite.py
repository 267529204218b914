"""Each schema of the JSON Schema Test Suite has a type that loses nothing of a valid instance.

Or it is refused by name, or the instance is a broken payload, which says why: never less than what
was sent. `official_suite/` has the suite, and `make_official_suite` makes it.

What is read is written again and compared with the instance. These are the same (docs/formats.md
says so): null and nothing at all, properties that the schema does not name and nothing at all,
numbers and the doubles nearest to them, and values of several kinds and their JSON texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pytest

from kafka_formats.errors import SchemaError
from kafka_formats.json.decoder import decoder_for
from kafka_formats.json.encode import encode
from kafka_formats.json.schema import type_of
from kafka_formats.payload.schema_text import SchemaText
from tests.formats.json.make_official_suite import DIALECTS, FOLDER

_READ: Final = "read"
_LOST: Final = "lost"
_OTHER: Final = "for another reason"
_UNNAMED: Final = "read, without properties that the schema does not name"


class Case(NamedTuple):
    """A schema with instances of it."""

    about: str
    draft: str
    schema: Any
    valid: list[Any]


def lines_of(name: str) -> Iterator[Any]:
    for line in (FOLDER / name).read_text("utf-8").splitlines():
        yield json.loads(line)


@cache
def remotes() -> tuple[tuple[str, str], ...]:
    return tuple((each["uri"], json.dumps(each["schema"])) for each in lines_of("remotes.jsonl"))


def cases() -> Iterator[Case]:
    for line in lines_of("cases.jsonl"):
        for draft in line["drafts"]:
            schema = line["schema"]
            if isinstance(schema, dict):
                schema = {"$schema": DIALECTS[draft], **schema}
            yield Case(line["about"], draft, schema, line["valid"])


def outcomes(case: Case) -> Iterator[tuple[Any, str]]:
    """Each instance, and what becomes of it."""
    text = json.dumps(case.schema)
    schema = SchemaText(text, remotes() if "localhost:1234" in text else ())
    try:
        data_type = type_of(schema)
    except SchemaError as error:
        for instance in case.valid:
            yield instance, f"refused: {kind_of(str(error), REFUSED)}"
        return
    decoder = decoder_for(data_type)
    for instance in case.valid:
        payload = json.dumps(instance).encode()
        values, is_broken = decoder.decode(pa.array([payload]), 0)
        if is_broken[0]:
            yield instance, f"broken: {kind_of(str(decoder.explain(payload)), BROKEN)}"
        else:
            yield instance, compared(instance, json.loads(encode(values)[0].as_py()), data_type)


def compared(instance: Any, written: Any, data_type: pa.DataType) -> str:
    """Whether what is written again is all of an instance."""
    if instance is None or written is None:
        return _READ if instance is written else _LOST
    if pa.types.is_struct(data_type):
        names = [field.name for field in data_type]
        unnamed = {_UNNAMED if names else _LOST} if instance.keys() - {*names} else set()
        parts = [(instance.get(each.name), written.get(each.name), each.type) for each in data_type]
        return worst(unnamed, parts)
    if pa.types.is_map(data_type) and instance.keys() == written.keys():
        parts = [(instance[key], written[key], data_type.item_type) for key in instance]
        return worst(set(), parts)
    if pa.types.is_list(data_type) and len(instance) == len(written):
        parts = [(*pair, data_type.value_type) for pair in zip(instance, written, strict=True)]
        return worst(set(), parts)
    if pa.types.is_string(data_type) and not isinstance(instance, str):
        written = json.loads(written)
    return _READ if same(instance, written) else _LOST


def worst(found: set[str], parts: Sequence[tuple[Any, Any, pa.DataType]]) -> str:
    found |= {compared(*part) for part in parts}
    return next((each for each in (_LOST, _UNNAMED) if each in found), _READ)


def same(instance: Any, written: Any) -> bool:
    """Equal, and true is not 1. Python's numbers are equal to the doubles nearest to them."""
    if isinstance(instance, bool) or isinstance(written, bool):
        return instance is written
    if isinstance(instance, dict) and isinstance(written, dict):
        return instance.keys() == written.keys() and all(
            same(each, written[name]) for name, each in instance.items()
        )
    if isinstance(instance, list) and isinstance(written, list):
        return len(instance) == len(written) and all(map(same, instance, written))
    if isinstance(instance, int) and isinstance(written, float):
        return float(instance) == written
    return bool(instance == written)


# What errors begin with, after the field that they name.
REFUSED: Final = (
    "the type contains itself",
    "$dynamicRef is not supported",
    "$recursiveRef is not supported",
    "there is no schema",
)
BROKEN: Final = (
    "it is null",
    "it is a number with a fraction",
    "the number does not fit 64 bits",
    "not an object",
    "not an array",
)


# What becomes of the instances of all drafts; docs/formats.md tells why.
COUNTS: Final = {
    _READ: 3792,
    _UNNAMED: 33,
    "broken: it is null": 196,
    "broken: it is a number with a fraction": 30,
    "broken: the number does not fit 64 bits": 10,
    "broken: not an object": 65,
    "broken: not an array": 10,
    "refused: the type contains itself": 27,
    "refused: $dynamicRef is not supported": 23,
    "refused: $recursiveRef is not supported": 3,
    "refused: there is no schema": 10,
}


def kind_of(text: str, kinds: tuple[str, ...]) -> str:
    return next((each for each in kinds if each in text), f"{_OTHER}: {text}")


@pytest.mark.no_cover
def test_nothing_of_a_valid_instance_is_lost() -> None:
    counts: Counter[str] = Counter()
    for case in cases():
        for instance, outcome in outcomes(case):
            counts[outcome] += 1
            assert outcome != _LOST, (case, instance)
            assert _OTHER not in outcome, (case, instance)
    assert counts == COUNTS


def test_the_comparison_finds_what_is_lost() -> None:
    struct = pa.struct([("a", pa.list_(pa.int64()))])
    assert compared({"a": [1, None], "b": None}, {"a": [1, None]}, struct) == _UNNAMED
    assert compared({"a": None}, {}, struct) == _READ
    assert compared({"a": [1, 2]}, {"a": [1]}, struct) == _LOST
    assert compared({"a": [True]}, {"a": [1]}, struct) == _LOST
    assert compared({"a": 1}, {}, pa.struct([])) == _LOST
    assert compared({"a": 1}, {"b": 1}, pa.map_(pa.string(), pa.int64())) == _LOST
    assert compared({"a": [1]}, '{"a":[1.5]}', pa.string()) == _LOST
