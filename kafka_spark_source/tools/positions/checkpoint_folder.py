"""The files of a checkpoint, local or in a file system of `pyarrow.fs`: s3, gs, abfs, hdfs.

Only the contents of `metadata` are parsed here. Source: Spark's `HDFSMetadataLog` and
`StreamMetadata`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from kafka_protocol.errors import KafkaError

_METADATA: Final = "metadata"
# A micro-batch has a line for each source.
_MAX_FILE_BYTES: Final = 64 * 1024 * 1024


class CheckpointError(KafkaError):
    """A folder is not a checkpoint of a streaming query, or cannot be read or written."""


class CheckpointFolder:
    """The files of a checkpoint.

    Args:
        location: A path, or a URI such as `s3://bucket/checkpoints/orders`.

    Raises:
        CheckpointError: From each method: the folder cannot be read.
    """

    def __init__(self, location: str) -> None:
        self._location = location
        try:
            self._files, self._path = _file_system(location)
        except (OSError, ValueError, ImportError) as error:
            raise CheckpointError(f"{location} cannot be read: {error}.") from error

    def numbers(self, name: str) -> list[int]:
        """The numbers that are names of files in a folder."""
        selector = fs.FileSelector(f"{self._path}/{name}", allow_not_found=True)
        names = [each.base_name for each in self._read(self._files.get_file_info, selector)]
        return [int(each) for each in names if each.isascii() and each.isdigit()]

    def has(self, name: str) -> bool:
        """Whether there is a file or a folder."""
        info = self._read(self._files.get_file_info, f"{self._path}/{name}")
        return bool(info.type != fs.FileType.NotFound)

    def lines(self, name: str) -> list[str]:
        """The lines of a file."""

        def read(path: str) -> bytes:
            with self._files.open_input_stream(path) as file:
                return bytes(file.read(_MAX_FILE_BYTES))

        data: bytes = self._read(read, f"{self._path}/{name}")
        try:
            return data.decode().rstrip("\n").split("\n")
        except UnicodeDecodeError as error:
            raise CheckpointError(f"{self._location}/{name} is damaged: {error}.") from error

    def local_path(self) -> Path:
        """The folder on this machine.

        Raises:
            CheckpointError: It is elsewhere, where a file may not be replaced at once.
        """
        if self._files.type_name != "local":
            raise CheckpointError(
                f"{self._location} is not a local folder, and only there a file is replaced at "
                "once: copy it here, rewind the copy, and put it back in its place."
            )
        return Path(self._path)

    def query_id(self) -> str:
        """The id in the file `metadata`; empty if it has no id."""
        if not self.has(_METADATA):
            return ""
        try:
            return str(json.loads("".join(self.lines(_METADATA)))["id"])
        except (ValueError, KeyError, TypeError):
            return ""

    def _read(self, call: Any, argument: Any) -> Any:
        try:
            return call(argument)
        except OSError as error:
            raise CheckpointError(f"{self._location} cannot be read: {error}.") from error


def _file_system(location: str) -> tuple[Any, str]:
    if "://" not in location:
        return fs.LocalFileSystem(), location.removeprefix("file:").rstrip("/") or "/"
    files, path = fs.FileSystem.from_uri(location)
    return files, path.rstrip("/")
