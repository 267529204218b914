"""The lock of artifacts, with a Maven that writes small files."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafka_spark_source.testing.downloads.lock import lock_artifacts, pom_text


def write_with_maven(monkeypatch: pytest.MonkeyPatch, jar: str) -> None:
    def maven(command: list[str], **_: Any) -> None:
        pom = Path(command[command.index("-f") + 1]).read_text()
        assert "<artifactId>one</artifactId><version>1.0</version>" in pom
        path = Path(command[-1].removeprefix("-DoutputDirectory=")) / "org/example/one/1.0" / jar
        path.parent.mkdir(parents=True)
        path.write_bytes(b"first jar")

    monkeypatch.setattr(subprocess, "run", maven)


def test_the_lock_has_the_checksum_of_each_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    write_with_maven(monkeypatch, "one-1.0.jar")
    checksum = hashlib.sha256(b"first jar").hexdigest()
    assert lock_artifacts(["org.example:one:1.0"]) == {"org.example:one:1.0": checksum}


@pytest.mark.parametrize("wanted", ["org.example:one:1.0", "org.example:one:1.0:jar:tests"])
def test_a_classifier_is_in_the_coordinates(monkeypatch: pytest.MonkeyPatch, wanted: str) -> None:
    write_with_maven(monkeypatch, "one-1.0-tests.jar")
    assert [*lock_artifacts([wanted])] == ["org.example:one:1.0:jar:tests"]


def test_maven_gets_the_classifier() -> None:
    assert "<version>1.0</version><classifier>tests</classifier>" in pom_text(["g:a:1.0:jar:tests"])


def test_a_file_of_another_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    write_with_maven(monkeypatch, "two-1.0.jar")
    with pytest.raises(ValueError, match="another name than its artifact"):
        lock_artifacts(["org.example:one:1.0"])
