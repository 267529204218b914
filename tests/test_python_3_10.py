"""What Python 3.10 does not have, and neither mypy nor ruff sees."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [
    file
    for room in ("kafka_spark_source", "pyspark_pykafka", "protocol")
    for file in sorted((ROOT / room).rglob("*.py"))
]


def names_of(base: ast.expr) -> str:
    return ast.unparse(base).partition("[")[0].rpartition(".")[2]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_named_tuple_has_no_other_base(file: Path) -> None:
    """Such a class cannot be made before Python 3.11, so the module cannot be imported."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef) and len(node.bases) > 1:
            assert "NamedTuple" not in map(names_of, node.bases), f"{file}: {node.name}"
