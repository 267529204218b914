"""PySpark's archive `python/lib/pyspark.zip`: which bytecode it has, and how it gets it.

The archive comes first on the path of the Python processes that Spark starts. It has sources only,
and Python keeps no bytecode for an archive, so each process compiles what it imports. Knows neither
Spark nor Kafka.

Source: PEP 552, "Deterministic pycs".
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import shutil
import warnings
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from kafka_protocol.errors import KafkaConfigError

_PLACE: Final = Path("python", "lib", "pyspark.zip")
# The flags of bytecode that Python does not compare with its source.
_UNCHECKED: Final = (0b01).to_bytes(4, "little")


class Bytecode(Enum):
    """The bytecode in an archive."""

    NONE = auto()
    OWN = auto()  # for this version of Python
    FOREIGN = auto()  # for another version


def pyspark_archive(spark_home: str | None = None) -> Path:
    """The archive in Spark's folder: the given one, else SPARK_HOME, else PySpark's.

    Raises:
        KafkaConfigError: PySpark is not installed here.
    """
    home = spark_home or os.environ.get("SPARK_HOME")
    if home:
        return Path(home) / _PLACE
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise KafkaConfigError("PySpark is not installed here. Name Spark's folder")
    return Path(spec.origin).parent / _PLACE


def bytecode_in(archive: Path) -> Bytecode:
    """Whether an archive has bytecode, and whether it is for this version of Python.

    Raises:
        KafkaConfigError: The file is damaged.
        OSError: There is no such file.
    """
    try:
        with ZipFile(archive) as zipped:
            names = [name for name in zipped.namelist() if name.endswith(".pyc")]
            if not names:
                return Bytecode.NONE
            magic = zipped.read(names[0])[: len(importlib.util.MAGIC_NUMBER)]
    except BadZipFile as error:
        raise KafkaConfigError(f"{archive}: {error}. Install PySpark again") from error
    return Bytecode.OWN if magic == importlib.util.MAGIC_NUMBER else Bytecode.FOREIGN


def add_bytecode(archive: Path) -> int:
    """Add the bytecode of this Python to an archive of sources.

    Running processes go on, because no source moves.

    Returns:
        How many modules now have it; 0 if they had it before.

    Raises:
        KafkaConfigError: The file is damaged, or has the bytecode of another Python.
        OSError: There is no such file, or it cannot be replaced.
    """
    present = bytecode_in(archive)
    if present is Bytecode.FOREIGN:
        raise KafkaConfigError(
            f"{archive} has the bytecode of another Python. Install PySpark again, then add that "
            "of the Python that Spark uses (PYSPARK_PYTHON)"
        )
    if present is Bytecode.OWN:
        return 0
    new = archive.with_name(f"{archive.name}.{os.getpid()}.new")
    try:
        shutil.copy2(archive, new)
        with ZipFile(new, "a", ZIP_DEFLATED) as zipped:
            compiled = dict(_compiled(archive, zipped))
            for name, bytecode in compiled.items():
                zipped.writestr(name, bytecode)
        new.replace(archive)
    finally:
        new.unlink(missing_ok=True)
    return len(compiled)


def _compiled(archive: Path, zipped: ZipFile) -> Iterator[tuple[str, bytes]]:
    """The bytecode of each source, with its name."""
    for name in zipped.namelist():
        if not name.endswith(".py"):
            continue
        source = zipped.read(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                code = compile(source, str(archive.absolute() / name), "exec", dont_inherit=True)
            except SyntaxError:  # for another Python
                continue
        head = importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source)
        yield f"{name}c", head + marshal.dumps(code)
