"""Finding Java, with small scripts in its place."""

from pathlib import Path

import pytest

from kafka_spark_source.testing import JavaError
from kafka_spark_source.testing.java import find_java, java_major_version


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
def test_a_banner_tells_the_major_version(banner: str, major: int | None) -> None:
    assert java_major_version(banner) == major


def java_that_says(folder: Path, text: str) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    java.chmod(0o700)
    return java


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_home = java_that_says(tmp_path / "home", 'openjdk version "17.0.15"')
    on_path = java_that_says(tmp_path / "path", 'openjdk version "21"')
    monkeypatch.setenv("PATH", str(on_path.parent))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == at_home
    monkeypatch.delenv("JAVA_HOME")
    assert find_java() == on_path


@pytest.mark.parametrize(
    ("says", "sentence"),
    [
        ('openjdk version "11.0.2"', "is Java 11, Kafka wants 17 or newer: install Java 17"),
        ("I am no Java", "does not tell its version: install Java 17"),
    ],
)
def test_a_java_that_will_not_do_is_named(
    says: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = java_that_says(tmp_path, says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=f"{java} {sentence}"):
        find_java()


def test_a_java_that_does_not_start_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = java_that_says(tmp_path, "")
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
