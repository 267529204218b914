from __future__ import annotations

import importlib.util
from pathlib import Path
from zipfile import ZipFile
from zipimport import zipimporter

import pytest

from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.diagnosis.pyspark_archive import (
    Bytecode,
    add_bytecode,
    bytecode_in,
    pyspark_archive,
)

SOURCES = {
    "__init__.py": "",
    "first.py": "def where(): return __file__",
    "second.py": "'''A text of its own.'''\nVALUE = 2",
    "with_a_warning.py": "VALUE = '\\d'",
    "other_python.py": "print 'of Python 2'",
    "data.json": "{}",
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "pyspark.zip"
    with ZipFile(path, "w") as zipped:
        for name, source in SOURCES.items():
            zipped.writestr(f"pyspark/{name}", source)
    return path


def test_modules_are_imported_from_their_bytecode(archive: Path) -> None:
    assert bytecode_in(archive) is Bytecode.NONE
    assert add_bytecode(archive) == 4
    assert bytecode_in(archive) is Bytecode.OWN
    in_package = zipimporter(str(archive / "pyspark"))
    assert Path(in_package.get_filename("second")).suffix == ".pyc"
    code = in_package.get_code("second")
    assert "A text of its own." in code.co_consts
    assert code.co_filename == str(archive / "pyspark" / "second.py")


def test_tracebacks_have_absolute_paths(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(archive.parent)
    add_bytecode(Path(archive.name))
    code = zipimporter(str(archive / "pyspark")).get_code("second")
    assert code.co_filename == str(archive / "pyspark" / "second.py")


def test_sources_stay_as_they_were(archive: Path) -> None:
    add_bytecode(archive)
    with ZipFile(archive) as zipped:
        assert {f"pyspark/{name}" for name in SOURCES} <= {*zipped.namelist()}
        for name, source in SOURCES.items():
            assert zipped.read(f"pyspark/{name}").decode() == source
    assert [*archive.parent.iterdir()] == [archive]


def test_a_process_that_knew_the_archive_goes_on(archive: Path) -> None:
    in_package = zipimporter(str(archive / "pyspark"))
    add_bytecode(archive)
    space: dict[str, object] = {}
    exec(in_package.get_code("second"), space)
    assert space["VALUE"] == 2


def test_a_second_time_nothing_is_done(archive: Path) -> None:
    add_bytecode(archive)
    before = archive.read_bytes()
    assert add_bytecode(archive) == 0
    assert archive.read_bytes() == before


def test_bytecode_of_another_python_is_refused(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "MAGIC_NUMBER", b"old\n")
        add_bytecode(archive)
    assert bytecode_in(archive) is Bytecode.FOREIGN
    with pytest.raises(KafkaConfigError, match=r"another Python.*PYSPARK_PYTHON"):
        add_bytecode(archive)


def test_what_is_no_archive(tmp_path: Path) -> None:
    broken = tmp_path / "pyspark.zip"
    broken.write_bytes(b"half of an archive")
    with pytest.raises(KafkaConfigError, match="Install PySpark again"):
        add_bytecode(broken)
    with pytest.raises(FileNotFoundError):
        add_bytecode(tmp_path / "missing.zip")
    assert [*tmp_path.iterdir()] == [broken]


def test_the_archive_is_in_sparks_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    assert pyspark_archive().exists()
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert pyspark_archive() == Path("/opt/spark/python/lib/pyspark.zip")
    assert pyspark_archive("/opt/other") == Path("/opt/other/python/lib/pyspark.zip")


def test_without_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", {"pyspark": None}.__getitem__)
    with pytest.raises(KafkaConfigError, match="PySpark is not installed here"):
        pyspark_archive()
