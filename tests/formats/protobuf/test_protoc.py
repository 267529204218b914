"""protoc gets no name of others as an argument or a path, and refuses what it cannot compile."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from hypothesis import given
from hypothesis import strategies as st

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf import compiler
from kafka_formats.protobuf.compiler import compiled
from kafka_formats.protobuf.protoc import compiled_texts, imports_of
from tests.hostile.names import HOSTILE_NAMES, hostile_names

EMPTY = 'syntax = "proto3"; message {} {{ int32 x = 1; }}'
COMMAND = [sys.executable, "-m", "grpc_tools.protoc"]
ARGUMENTS = re.compile(
    r"--(?:proto_path|descriptor_set_out|descriptor_set_in)=/\S+/pykafka-proto-\w+/(?:files|out|known)"
    r"|--include_imports|[0-9a-f]{16}_\d+\.proto"
)


def quoted(name: str) -> str:
    return name.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


@given(st.lists(hostile_names(), min_size=1, max_size=5, unique=True), st.text(max_size=40))
def test_no_name_of_others_is_an_argument_or_a_path(names: list[str], text: str) -> None:
    """protoc does not run here: `tests.formats.test_hostile_registry` runs it."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        root = Path(command[3].partition("=")[2])
        assert root.parent.name.startswith("pykafka-proto-")
        files = {each.relative_to(root).as_posix() for each in root.rglob("*")}
        assert files == {each for each in command if not each.startswith("-")} - {*COMMAND}
        assert all((root / each).read_bytes() == text.encode() for each in files)
        return subprocess.CompletedProcess(command, 1, "", "refused")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("subprocess.run", run)
        with pytest.raises(SchemaError, match="protoc refuses it: refused"):
            compiled_texts(dict.fromkeys(names, text), {})
    [command] = commands
    assert command[:3] == COMMAND
    assert len(command) == 6 + len(names)
    assert all(ARGUMENTS.fullmatch(each) for each in command[3:])


def test_files_have_any_name_that_an_import_can_have() -> None:
    """With many names in few processes, as the real protoc sees them."""
    names = [each for each in HOSTILE_NAMES if '"' not in each]
    texts = {name: EMPTY.format(f"M{at}") for at, name in enumerate(names)}
    imports = "".join(f'import "{name}";' for name in names)
    own = f'syntax = "proto3"; {imports} message Own {{ int32 x = 1; }}'
    refused = [name for name in names if not is_compiled(SchemaText(own, ((name, EMPTY),)))]
    kept = {name: text for name, text in texts.items() if name not in refused}
    imports = "".join(f'import "{name}";' for name in kept)
    own = f'syntax = "proto3"; {imports} message Own {{ int32 x = 1; }}'
    files = compiled(SchemaText(own, tuple(kept.items())))
    assert [*files.own.dependency] == [*kept]
    assert {each.name: each.message_type[0].name for each in files[:-1]} == {
        name: f"M{names.index(name)}" for name in kept
    }
    assert "--plugin=protoc-gen-x=/bin/sh" in kept


def is_compiled(schema: SchemaText) -> bool:
    """Whether the names are accepted; protoc does not run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafka_formats.protobuf.compiler.compiled_texts", lambda *_: {})
        try:
            compiler._compiled.__wrapped__(schema)
        except SchemaError as error:
            assert "a file cannot be named" in str(error)
            return False
        except KeyError:  # nothing was compiled
            return True
    raise AssertionError("protoc's result is needed")


def test_texts_are_compiled_level_by_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dependencies may be in any order; those that need none of the others share a process."""
    sizes: list[int] = []
    run = subprocess.run

    def counting(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        sizes.append(sum(not each.startswith("-") for each in command[3:]))
        return run(command, **options)

    monkeypatch.setattr("subprocess.run", counting)
    texts = {
        "top": 'syntax="proto3"; import "b"; import public "c"; message T { B b=1; C c=2; A a=3; }',
        "b": 'syntax="proto3"; import "a"; message B { A a=1; }',
        "c": 'syntax="proto3"; import public "a"; message C { A a=1; }',
        "a": 'syntax="proto3"; message A { int32 x=1; }',
    }
    files = compiled_texts(texts, {})
    assert sizes == [1, 2, 1]
    assert {name: [*file.dependency] for name, file in files.items()} == {
        **{"top": ["b", "c"], "b": ["a"], "c": ["a"], "a": []},
    }
    assert files["top"].message_type[0].field[2].type_name == ".A"


def test_a_reference_to_a_file_of_protoc_itself() -> None:
    name = "google/protobuf/timestamp.proto"
    text = f'syntax = "proto3"; import "{name}"; message M {{ google.protobuf.Timestamp at = 1; }}'
    same = (
        'syntax = "proto3"; package google.protobuf; '
        "message Timestamp { int64 seconds = 1; int32 nanos = 2; }"
    )
    files = compiled(SchemaText(text, ((name, same),)))
    assert [each.name for each in files] == [name, "schema.proto"]


def test_imports_are_neither_in_comments_nor_in_strings() -> None:
    text = """
    import "one"; import public 'two'; import weak "three"; import option "four";
    // import "no";
    /* import "no"; */ option x = "import 'no'"; option y = "\\" import 'no'"; message important {}
    import
      "five"; /* import "no";
    """
    assert [*imports_of(text)] == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"a": 'import "b";', "b": 'import "a";'}, "its imports form a circle: a, b"),
        ({"a": 'import "a";'}, "its imports form a circle: a"),
        ({str(n): f'import "{n + 1}";' for n in range(30)}, "are nested more than 20 deep"),
        ({"a/b.proto": "message"}, r"protoc refuses it: a/b\.proto:1:8: "),
        # A line of the text's own, that looks like one of Python.
        ({"a": "No module named x"}, "protoc refuses it: a:1:1: "),
        ({"\x1b[2J": "x"}, r"protoc refuses it: \?\[2J:1:1: "),
    ],
)  # fmt: skip
def test_texts_that_are_refused(texts: dict[str, str], reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        compiled_texts(texts, {})


def test_protoc_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """All levels together have a minute."""
    timeouts: list[float] = []

    def run(command: list[str], *, timeout: float, **_: Any) -> None:
        timeouts.append(timeout)
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr("subprocess.run", run)
    with pytest.raises(SchemaError, match="protoc took more than 30 s"):
        compiled_texts({"a": 'import "b";', "b": ""}, {})
    assert timeouts == [30]


def test_without_grpcio_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        message = "python: Error while finding module specification: No module named 'grpc_tools'"
        return subprocess.CompletedProcess(command, 1, "", message)

    monkeypatch.setattr("subprocess.run", run)
    with pytest.raises(SchemaError, match="pip install 'pyspark-pykafka"):
        compiled_texts({"a": ""}, {"b": FileDescriptorProto(name="b")})
