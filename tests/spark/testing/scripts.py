"""Programs of the machine, as small scripts: Maven and Java."""

from __future__ import annotations

from pathlib import Path

import pytest

_MAVEN = """#!/bin/sh
PATH=/usr/bin:/bin
for each in "$@"; do
    case "$each" in -DoutputDirectory=*) cp "{files}"/* "${{each#*=}}" ;; esac
done
echo call >> "{calls}"
"""


def script(path: Path, text: str) -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o700)
    return path


class Maven:
    """The only program on the PATH. It copies files to the folder that it is told.

    Attributes:
        files: The folder with the files.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.files = folder / "files"
        self.files.mkdir()
        self._calls = folder / "calls"
        script(folder / "bin" / "mvn", _MAVEN.format(files=self.files, calls=self._calls))
        monkeypatch.setenv("PATH", str(folder / "bin"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))

    @property
    def calls(self) -> int:
        """How often it was run, by any process."""
        return len(self._calls.read_text().splitlines()) if self._calls.exists() else 0


def fake_java(folder: Path, banner: str, program: str = "") -> Path:
    """`bin/java` in the folder: prints the banner, or is the program, a shell's command."""
    text = f"""#!/bin/sh
case "$1" in -version) echo '{banner}' >&2; exit ;; esac
{program}
"""
    return script(folder / "bin" / "java", text)
