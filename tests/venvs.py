"""Virtual environments that tests make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def new_venv(folder: Path, *packages: str) -> Path:
    """Make a venv with these packages; its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip(python, "install", *packages)
    return python


def pip(python: Path, *arguments: str) -> None:
    """Run the pip of a Python."""
    subprocess.run([str(python), "-m", "pip", "--quiet", *arguments], check=True)
