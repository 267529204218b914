"""No name of a schema gets in the way of protobuf's runtime, in C and in Python alike."""

from __future__ import annotations

import ast
import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.internal.python_message import GeneratedProtocolMessageType
from google.protobuf.message import Message

from kafka_formats.options.settings import Format
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.compiler import compiled
from kafka_formats.query.formats import FORMATS
from tests.formats.arrow.test_bytes_cursor import varint
from tests.formats.protobuf.messages import message_class

PROTOBUF = FORMATS[Format.PROTOBUF]
WORDS = [*("None", "True", "class", "import", "lambda", "self", "message", "oneof", "group", "map")]
WORDS += [*("package", "extend", "to", "f1", "f2", "o0", "key", "value", "_fields", "__slots__")]
WORDS += [
    *("__dict__", "__class__", "__init__", "_cached_byte_size", "_listener", "X_FIELD_NUMBER")
]
# All that messages have: also the attributes that only their class in Python has.
NAMES = sorted(
    {
        *WORDS,
        *dir(Message),
        *dir(GeneratedProtocolMessageType),
        *dir(message_class(SchemaText('syntax = "proto3"; message A { int32 x = 1; }'), "A")),
    }
    - {""}
)
FIELDS = "".join(f"int32 {name} = {number};" for number, name in enumerate(NAMES, 1))
# The same names for a package, messages, enums, their symbols and oneofs.
PACKAGE = "HasField.DESCRIPTOR.import"
HOSTILE = f"""
syntax = "proto3"; package {PACKAGE};
message Clear {{ {FIELDS} }}
message MergeFromString {{
  DESCRIPTOR SetInParent = 1; repeated DESCRIPTOR HasField = 2;
  map<string, DESCRIPTOR> ListFields = 3; __slots__ Extensions = 4;
  oneof ClearField {{ int32 WhichOneof = 5; string IsInitialized = 6; }}
  optional int32 CopyFrom = 7; repeated int32 FromString = 8; map<int32, string> ByteSize = 9;
  message DESCRIPTOR {{ int32 MergeFromString = 1; repeated Clear Clear = 2; }}
  message Clear {{ string SerializeToString = 1; }}
  enum __slots__ {{ _fields = 0; _cached_byte_size = 1; __init__ = -1; }}
}}
"""


def schema_of(text: str, name: str) -> SchemaText:
    return SchemaText(text, message=name)


def there_and_back(schema: SchemaText, row: dict[str, Any]) -> tuple[bytes, list[Any]]:
    """The payload of a row, and what is read of it."""
    to = PROTOBUF.type_of(schema)
    payload = PROTOBUF.encoder(schema).encode(pa.array([row], to))[0]
    decoder = PROTOBUF.decoder_factory(schema, to, None).for_schema(None)
    decoded = decoder.decode(pa.array([payload.as_py()], pa.binary()), 0)
    assert decoded.is_broken.tolist() == [False]
    return payload.as_py(), decoded.values.to_pylist()


ROW: dict[str, Any] = {
    "SetInParent": {"MergeFromString": 1, "Clear": [{"SerializeToString": "a"}]},
    "HasField": [{"MergeFromString": 0, "Clear": []}],
    "ListFields": [("k", {"MergeFromString": 2, "Clear": []})],
    "Extensions": "_cached_byte_size",
    "WhichOneof": None,
    "IsInitialized": "b",
    "CopyFrom": 0,
    "FromString": [1, 2],
    "ByteSize": [(1, "c")],
}


@pytest.mark.usefixtures("many")
def test_fields_with_the_names_of_all_attributes() -> None:
    assert {"HasField", "MergeFromString", "SetInParent", "__class__", "class"} <= {*NAMES}
    row = {name: number for number, name in enumerate(NAMES, 1)}
    payload, rows = there_and_back(schema_of(HOSTILE, f"{PACKAGE}.Clear"), row)
    assert payload == b"".join(varint(n << 3) + varint(n) for n in row.values())
    assert rows == [row]


@pytest.mark.usefixtures("many")
def test_messages_enums_and_oneofs_with_such_names() -> None:
    _, rows = there_and_back(schema_of(HOSTILE, "MergeFromString"), ROW)
    assert rows == [ROW]


def test_what_is_broken_names_the_field_of_the_schema() -> None:
    schema = schema_of(
        'syntax = "proto2"; message Clear { required int32 HasField = 1;'
        "map<string, Clear> DESCRIPTOR = 2; }",
        "Clear",
    )
    inner = pa.struct([("HasField", pa.int32())])
    to = pa.struct([("HasField", pa.int32()), ("DESCRIPTOR", pa.map_(pa.string(), inner))])
    decoder = PROTOBUF.decoder_factory(schema, to, None).for_schema(None)
    assert decoder.explain(b"").reason == "it lacks required fields: HasField"
    secret = b"\x08\x01\x12\x0a\x0a\x06secret\x12\x00"
    assert decoder.explain(secret).reason == "it lacks required fields: DESCRIPTOR{}.HasField"
    assert decoder.explain(b"\x08").reason.startswith("it is not a Clear: ")
    assert "M0" not in decoder.explain(b"\x08").reason


SCRIPT = """
import ast, sys
from google.protobuf.internal import api_implementation
from kafka_formats.payload.schema_text import SchemaText
from tests.formats.protobuf.test_runtime import there_and_back
assert api_implementation.Type() == "python"
text, rows = ast.literal_eval(sys.stdin.read())
found = {name: there_and_back(SchemaText(text, (), name), rows[name])[1][0] for name in rows}
print(repr(found))
"""


@pytest.mark.no_cover
def test_the_runtime_in_python() -> None:
    """The choice of the runtime is one of the process."""
    own = compiled(SchemaText(HOSTILE)).own
    text = base64.b64encode(own.SerializeToString()).decode()
    names = {name: number for number, name in enumerate(NAMES, 1)}
    rows = {f"{PACKAGE}.Clear": names, "MergeFromString": ROW}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=repr([text, rows]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[3],
        env=os.environ
        | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
        | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    assert ast.literal_eval(done.stdout) == rows
