"""Runs protoc on `.proto` texts. No other module starts a process.

The names and texts come from a registry, which may be hostile. protoc never sees a name as an
argument or as a path: each text is a file with a name of our own, and files with the names of
others are in a FileDescriptorSet. Texts that import each other are compiled level by level.
"""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from kafka_formats.errors import SchemaError
from kafka_protocol.auth.mechanism import shown

_TIMEOUT_SECONDS: Final = 60
_MAX_CHARACTERS: Final = 16 * 1024 * 1024
# Each level is a process.
_MAX_LEVELS: Final = 20
# Comments and strings are tokens, so that an `import` in them is none.
_TOKENS: Final = re.compile(
    r"""//[^\n]* | /\*.*?(?:\*/|\Z)
    | \bimport\s+(?:(?:public|weak|option)\s+)?(?:"([^"\\\n]+)"|'([^'\\\n]+)')
    | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'""",
    re.VERBOSE | re.DOTALL,
)
# How a line about a fault begins.
_FAULT: Final = re.compile(r"\S+\.proto:(?!.*\bwarning: )")
_MAX_SHOWN: Final = 1_000

Files = Mapping[str, FileDescriptorProto]


def imports_of(text: str) -> Iterator[str]:
    """The names of the files that a text imports."""
    for token in _TOKENS.finditer(text):
        if name := token[1] or token[2]:
            yield name


def compiled_texts(texts: Mapping[str, str], others: Files) -> dict[str, FileDescriptorProto]:
    """The files of texts by name, and the files of protoc's own that they import.

    Args:
        texts: Name -> `.proto` text.
        others: Name -> file: what the texts import beside each other and protoc's own files.

    Raises:
        SchemaError: A text is invalid or too long, imports are missing, form a circle or are too
            deep, or protoc is missing or takes too long.
    """
    if sum(map(len, texts.values())) > _MAX_CHARACTERS:
        raise SchemaError(f"it has more than {_MAX_CHARACTERS} characters")
    levels = _levels(texts)
    files = dict(others)
    for level in levels:
        files |= _compiled_level(level, files, _TIMEOUT_SECONDS / len(levels))
    return {name: file for name, file in files.items() if name not in others}


def _levels(texts: Mapping[str, str]) -> list[dict[str, str]]:
    """The texts, in such an order that each text only imports earlier ones."""
    imports = {name: texts.keys() & imports_of(text) for name, text in texts.items()}
    waiting = dict(texts)
    levels = []
    while waiting:
        level = {name: text for name, text in waiting.items() if not imports[name] & waiting.keys()}
        if not level:
            raise SchemaError(f"its imports form a circle: {shown(', '.join(sorted(waiting)))}")
        levels.append(level)
        waiting = {name: text for name, text in waiting.items() if name not in level}
        if len(levels) > _MAX_LEVELS:
            raise SchemaError(f"its imports are nested more than {_MAX_LEVELS} deep")
    return levels


def _compiled_level(
    texts: Mapping[str, str], others: Files, timeout: float
) -> dict[str, FileDescriptorProto]:
    """The files of texts that do not import each other."""
    # They are random, so no text imports them.
    token = secrets.token_hex(8)
    names = {f"{token}_{number}.proto": name for number, name in enumerate(texts)}
    with tempfile.TemporaryDirectory(prefix="pykafka-proto-") as folder:
        root, known, out = (Path(folder, each) for each in ("files", "known", "out"))
        root.mkdir()
        for own_name, name in names.items():
            (root / own_name).write_text(texts[name], "utf-8", "surrogatepass")
        arguments = [f"--proto_path={root}", f"--descriptor_set_out={out}", "--include_imports"]
        if others:
            known.write_bytes(FileDescriptorSet(file=others.values()).SerializeToString())
            arguments.append(f"--descriptor_set_in={known}")
        try:
            _run([*arguments, *names], timeout)
        except _ProtocError as error:
            raise SchemaError(_reason(str(error).replace(f"{root}/", ""), names)) from None
        files = FileDescriptorSet.FromString(out.read_bytes()).file
    for file in files:
        file.name = names.get(file.name, file.name)
    return {file.name: file for file in files}


class _ProtocError(Exception):
    """The output of a protoc that failed."""


def _run(arguments: list[str], timeout: float) -> None:
    # The module adds the folder of the well-known types itself.
    command = [sys.executable, "-m", "grpc_tools.protoc", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 our own arguments, no shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SchemaError(f"protoc took more than {timeout:.0f} s") from error
    if done.returncode:
        raise _ProtocError(done.stderr)


def _reason(output: str, names: Mapping[str, str]) -> str:
    """Why protoc failed, with the names that the registry knows."""
    lines = output.splitlines()
    faults = [each for each in lines if _FAULT.match(each)]
    if not faults and "No module named" in output:
        return (
            "Protobuf needs grpcio-tools to compile .proto text: pip install "
            "'pyspark-pykafka[protobuf]', or give a FileDescriptorSet"
        )
    text = "; ".join((faults or lines)[:3])
    for own_name, name in names.items():
        text = text.replace(own_name, name)
    return f"protoc refuses it: {shown(text, _MAX_SHOWN)}"
