"""A schema's text -> descriptors of its files.

A registry gives `.proto` text, or a serialised `FileDescriptorProto` in Base64, which Confluent's
clients in Python register, or as a response to a request for it: then no compiler runs.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from kafka_formats.errors import SchemaError
from kafka_formats.payload.schema_text import DESCRIPTOR_SET, SchemaText
from kafka_formats.protobuf.known_files import CONFLUENT_FILES, KNOWN_FILES
from kafka_formats.protobuf.names import messages_in, name_meant
from kafka_formats.protobuf.protoc import compiled_texts, imports_of
from kafka_protocol.auth.mechanism import shown

# Files that no registry has; their modules are part of protobuf and googleapis-common-protos.
_BUILT_IN: Final = re.compile(r"google/(?:protobuf|type)(?:/[a-z_]+)+\.proto")
_IN_PROTOC: Final = re.compile(r"google/protobuf/[a-z_]+\.proto")


class Files(tuple[FileDescriptorProto, ...]):
    """The files of a schema, its own last, after the files that it imports."""

    __slots__ = ()

    @property
    def own(self) -> FileDescriptorProto:
        """The file of the schema itself."""
        return self[-1]


def compiled(schema: SchemaText) -> Files:
    """The files of a schema.

    Raises:
        SchemaError: A text is invalid, an import is missing, or no file of a set has the message.
    """
    if schema.text.startswith(DESCRIPTOR_SET):
        return _of_set(schema.text, schema.message)
    # Once for all messages of a text.
    return _compiled(replace(schema, message=None))


@lru_cache(maxsize=200)
def _compiled(schema: SchemaText) -> Files:
    for name, _ in schema.dependencies:
        _check_name(name)
    own = _free_name({name for name, _ in schema.dependencies})
    texts = dict([*schema.dependencies, (own, schema.text)])
    given = {name: file for name, text in texts.items() if (file := serialised(name, text))}
    texts = {name: text for name, text in texts.items() if name not in given}
    if texts:
        common = {each: _built_in(each, own) for each in _common_types(texts) - given.keys()}
        given |= compiled_texts(texts, _with_imports(given | common, but_for=texts))
    return _in_order(given, own)


def serialised(name: str, text: str) -> FileDescriptorProto | None:
    """The file in a text that is a descriptor in Base64; None for `.proto` text."""
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text.strip(), validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None
    file.name = name
    return file


def is_built_in(name: str) -> bool:
    """Whether a file is one that no registry has to have."""
    return _BUILT_IN.fullmatch(name) is not None or name in CONFLUENT_FILES


@lru_cache(maxsize=200)
def _of_set(text: str, message: str | None) -> Files:
    """The files that the message needs, its own last; without a message, the last file's."""
    encoded = text.removeprefix(DESCRIPTOR_SET)
    try:
        files = FileDescriptorSet.FromString(base64.b64decode(encoded, validate=True)).file
    except (binascii.Error, ValueError, DecodeError) as error:
        raise SchemaError(
            "it is not a FileDescriptorSet: make it with protoc --descriptor_set_out=... "
            "--include_imports"
        ) from error
    if not files:
        raise SchemaError("the FileDescriptorSet has no file")
    own = files[-1].name
    if message is not None:
        file_of = {name: file for file in reversed(files) for name in messages_in(file).values()}
        own = file_of[name_meant(message, [*file_of])].name
    return _in_order({each.name: each for each in files}, own)


def _in_order(given: dict[str, FileDescriptorProto], own: str) -> Files:
    known = _with_imports(given)
    ordered: dict[str, FileDescriptorProto] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        if name in path:
            raise SchemaError(f"its imports form a circle: {' -> '.join([*path, name])}")
        if name in ordered:
            return
        path.append(name)
        for each in known[name].dependency:
            visit(each)
        path.pop()
        ordered[name] = known[name]

    try:
        visit(own)
    except RecursionError as error:
        raise SchemaError("its imports are nested too deep") from error
    return Files(ordered.values())


def _with_imports(
    given: dict[str, FileDescriptorProto], but_for: Collection[str] = ()
) -> dict[str, FileDescriptorProto]:
    """The files, and built-in ones that they import."""
    files = dict(given)
    waiting = [(each, name) for name, file in given.items() for each in file.dependency]
    while waiting:
        name, importer = waiting.pop()
        if name not in files and name not in but_for:
            files[name] = _built_in(name, importer)
            waiting += [(each, name) for each in files[name].dependency]
    return files


def _built_in(name: str, importer: str) -> FileDescriptorProto:
    if (known := KNOWN_FILES.get(name)) is not None:
        return known
    if is_built_in(name):
        with suppress(ImportError):
            module = importlib.import_module(f"{name.removesuffix('.proto').replace('/', '.')}_pb2")
            return FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        # protoc has more, as the features of Java, Go and C++ in editions.
        if _IN_PROTOC.fullmatch(name):
            with suppress(SchemaError):
                return compiled_texts({"": f'syntax="proto3";import "{name}";'}, {})[name]
    raise SchemaError(
        f"{importer} imports {name!r}, which is missing: register it as a reference, or give a "
        "FileDescriptorSet with all imports"
    )


def _common_types(texts: Mapping[str, str]) -> set[str]:
    """The files that texts import, and that neither they nor protoc bring."""
    names = {name for text in texts.values() for name in imports_of(text)} - texts.keys()
    return {name for name in names if name.startswith("google/type/")} | (
        names & KNOWN_FILES.keys()
    )


def _check_name(name: str) -> None:
    """Check a name that no import can have: protoc compares the text of names, not places."""
    path = PurePosixPath(name)
    is_normal = str(path) == name and not path.is_absolute() and not {".", ".."} & {*path.parts}
    if not is_normal or "\\" in name or not name.isprintable():
        raise SchemaError(f"a file cannot be named {shown(name)!r}: rename the reference")


def _free_name(taken: set[str]) -> str:
    name = "schema.proto"
    while name in taken:
        name = f"_{name}"
    return name
