"""The payloads of protobuf's conformance suite are read as its own runtime reads them.

`conformance/` has the payloads of the official suite (release 33.2) and its schemas: the runner was
run with a program that writes down what it gets. Columns have no fields that contain themselves.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.descriptors import message_in
from kafka_formats.protobuf.layout import layout_for
from kafka_formats.protobuf.plan import plan_for
from tests.formats.protobuf.comparison import BROKEN, Comparison
from tests.formats.protobuf.witness import type_without_circles

FOLDER = Path(__file__).with_name("conformance")
# Message -> its file, and its payloads.
MESSAGES = {
    "proto2.TestAllTypesProto2": ("proto2", "proto2"),
    "proto3.TestAllTypesProto3": ("proto3", "proto3"),
    "editions.proto2.TestAllTypesProto2": ("proto2_editions", "proto2"),
    "editions.proto3.TestAllTypesProto3": ("proto3_editions", "proto3"),
    "editions.TestAllTypesEdition2023": ("edition2023", "edition2023"),
}

# Editions of proto2 and proto3 have the same fields with other features.
SLOW = ("editions.proto2.TestAllTypesProto2", "editions.proto3.TestAllTypesProto3")
NAMES = [pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in MESSAGES]


def payloads_of(kind: str) -> list[bytes]:
    lines = [each.split() for each in (FOLDER / "payloads.txt").read_text().splitlines()]
    return [bytes.fromhex("".join(rest)) for name, *rest in lines if name == kind]


def schema_of(name: str) -> SchemaText:
    text = (FOLDER / "google/protobuf" / f"test_messages_{MESSAGES[name][0]}.proto").read_text()
    return SchemaText(text, message=f"protobuf_test_messages.{name}")


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_all_fields(name: str) -> None:
    schema, payloads = schema_of(name), payloads_of(MESSAGES[name][1])
    assert len(payloads) == {"proto2": 491, "proto3": 500, "edition2023": 8}[MESSAGES[name][1]]
    compared = Comparison(schema, type_without_circles(message_in(schema)))
    differences = compared.differences(payloads)
    assert not differences, "\n".join(map(str, differences))
    broken = Counter(compared.wanted(each) == BROKEN for each in payloads)[True]
    assert broken == (0 if name.endswith("2023") else 162)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
def test_the_fields_that_a_scan_reads(name: str) -> None:
    """Payloads may be damaged in the other fields, which are skipped."""
    schema, payloads = schema_of(name), payloads_of(MESSAGES[name][1])
    message = message_in(schema)
    fields = [
        each
        for each in type_without_circles(message)
        if layout_for(message, plan_for(message, pa.struct([each]))) is not None
    ]
    compared = Comparison(schema, pa.struct(fields))
    differences = compared.differences(payloads)
    wrong = [
        each for each in differences if each.wanted != BROKEN or each.at_once != each.one_by_one
    ]
    assert not wrong, "\n".join(map(str, wrong))
    assert len(differences) < len(payloads) // 4
    assert compared.scanned >= len(payloads) // 2
