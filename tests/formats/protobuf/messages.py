"""Classes of messages, as protobuf itself makes them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf.message_factory import GetMessageClass

from kafka_formats.payload.schema_text import SchemaText
from kafka_formats.protobuf.descriptors import files_of, message_of


def message_class(schema: SchemaText, name: str) -> Any:
    return GetMessageClass(message_of(files_of(schema), name))


def descriptor_set(folder: Path, files: Mapping[str, str], *arguments: str) -> Path:
    """The descriptor set of `.proto` files, as protoc itself makes it.

    Args:
        folder: Where files are made.
        files: Name -> text.
        arguments: Names of files to compile.
    """
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    found = folder / "set.desc"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={folder}"]
    command += [f"--descriptor_set_out={found}", "--include_imports"]
    subprocess.run([*command, *arguments], check=True, capture_output=True, timeout=60)
    return found
