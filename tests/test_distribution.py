"""The metadata and the contents of the distribution; `make dist` builds and tries it."""

from __future__ import annotations

import re
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
TARGETS = PYPROJECT["tool"]["hatch"]["build"]["targets"]
PACKAGES = [ROOT / path for path in TARGETS["wheel"]["packages"]]
# Everything in the packages that is not Python, and not typing's marker.
DATA = ["kafka_spark_source/testing/downloads/jars.lock.json"]


def test_the_version_is_in_one_place() -> None:
    assert "version" in PROJECT["dynamic"]
    stated = [
        file.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for file in package.rglob("*.py")
        if re.search(r"^__version__ *=", file.read_text("utf-8"), re.M)
    ]
    assert stated == [PYPROJECT["tool"]["hatch"]["version"]["path"]]


def test_the_wheel_has_every_package() -> None:
    folders = [*ROOT.glob("kafka_*"), *ROOT.glob("pyspark_*"), *ROOT.glob("protocol/*")]
    assert sorted(PACKAGES) == sorted(each for each in folders if (each / "__init__.py").exists())


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_package_has_types(package: Path) -> None:
    assert (package / "py.typed").exists()
    assert [each for each in package.rglob("*") if is_stray(each)] == []


def is_stray(path: Path) -> bool:
    """Whether a file of a package was not meant for the wheel, or a folder is no package."""
    if "__pycache__" in path.parts:
        return False
    if path.is_dir():
        return not (path / "__init__.py").exists()
    name = path.relative_to(ROOT).as_posix()
    return path.suffix != ".py" and path.name != "py.typed" and name not in DATA


def test_data_files_exist() -> None:
    assert [name for name in DATA if not (ROOT / name).exists()] == []


def test_the_sdist_has_what_its_tests_need() -> None:
    included = {path.strip("/") for path in TARGETS["sdist"]["include"]}
    assert [path for path in included if not (ROOT / path).exists()] == []
    assert included >= {"tests", "docs", "examples", "benchmarks", "protocol", "Makefile"}


def test_classifiers_fit_the_oldest_python() -> None:
    releases = [
        (3, int(found[1]))
        for each in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", each))
    ]
    oldest = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    assert releases == [(3, minor) for minor in range(oldest[1], releases[-1][1] + 1)]
    assert "Typing :: Typed" in PROJECT["classifiers"]
    # An SPDX expression stands for the classifier of the licence.
    assert PROJECT["license"] == "Apache-2.0"
    assert not [each for each in PROJECT["classifiers"] if each.startswith("License ::")]


def test_executors_need_few_packages() -> None:
    names = [re.split(r"[><=]", each)[0] for each in PROJECT["dependencies"]]
    assert names == ["numpy", "pyarrow", "crc32c", "lz4", "zstandard"]


def test_entry_points_lead_somewhere() -> None:
    found = {each.group: each for each in distribution("pyspark-pykafka").entry_points}
    assert set(found) == {"console_scripts", "pysail.datasources", "pytest11"}
    for each in found.values():
        assert each.load() is not None
