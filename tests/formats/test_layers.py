"""The page about the design counts packages, layers and arrows as they are."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "protocol" / "kafka_formats"


def package_of(module: str) -> str:
    return module.split(".")[1]


def imported_packages(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    names = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {package_of(name) for name in names if name and name.startswith(f"{PACKAGE.name}.")}


def arrows() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts != ("__init__",):
            found.setdefault(parts[0], set()).update(imported_packages(path) - {parts[0]})
    return found


def layer_of(package: str, imported: dict[str, set[str]]) -> int:
    return 1 + max((layer_of(each, imported) for each in imported[package]), default=0)


def test_the_page_counts_packages_layers_and_arrows() -> None:
    imported = arrows()
    layers = max(layer_of(package, imported) for package in imported)
    arrows_count = sum(map(len, imported.values()))
    counted = f"{len(imported)} packages in {layers} layers, with {arrows_count} arrows"
    assert counted in (ROOT / "docs" / "design-files.md").read_text("utf-8")
