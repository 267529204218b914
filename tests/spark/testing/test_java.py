"""The search for Java, with small scripts instead of it."""

from pathlib import Path

import pytest

from kafka_spark_source.testing import JavaError
from kafka_spark_source.testing.java import find_java, java_major_version
from tests.spark.testing.scripts import fake_java


@pytest.mark.parametrize(
    ("banner", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -X\nopenjdk version "17.0.1"', 17),
        ("command not found", None),
    ],
)
def test_major_version_of_a_banner(banner: str, major: int | None) -> None:
    assert java_major_version(banner) == major


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home = fake_java(tmp_path / "home", 'openjdk version "17.0.15"')
    on_path = fake_java(tmp_path / "path", 'openjdk version "21"')
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == at_home
    monkeypatch.delenv("JAVA_HOME")
    assert find_java() == on_path


@pytest.mark.parametrize(
    ("banner", "reason"),
    [
        ('openjdk version "11.0.2"', "is Java 11, Kafka needs 17 or newer: install Java 17"),
        ("not a Java", "does not print its version: install Java 17"),
    ],
    ids=["too old", "no version"],
)
def test_unsuitable_java(
    banner: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = fake_java(tmp_path, banner)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=f"{java} {reason}"):
        find_java()


def test_java_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = fake_java(tmp_path, "")
    java.write_bytes(b"\x7fELF this is no program")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match="does not start"):
        find_java()


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaError, match=r"no Java: .* install Java 17, or point JAVA_HOME at one"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=f"JAVA_HOME is {tmp_path}, but there is no"):
        find_java()
