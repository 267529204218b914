"""The import paths that users' code, entry points, docs and examples rely on."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PUBLIC = {
    "kafka_formats.topic": ["read_topic"],
    "kafka_protocol.arrow_io.table": ["write_table"],
    "kafka_protocol.arrow_io.topic": [
        *("create_topic", "offsets_for_times", "read_topic", "topics"),
    ],
    "kafka_spark_source.changes": ["apply_changes"],
    "kafka_spark_source.cli": ["main"],
    "kafka_spark_source.doctor": ["Report", "check"],
    "kafka_spark_source.functions": ["from_avro", "from_protobuf", "to_avro", "to_protobuf"],
    "kafka_spark_source.lag": ["LagListener", "PartitionLag"],
    "kafka_spark_source.prometheus": ["PrometheusServer"],
    "kafka_spark_source.sail": ["SailDataSource"],
    "kafka_spark_source.schema": ["source_schema"],
    "kafka_spark_source.source": ["KafkaDataSource"],
    "kafka_spark_source.testing": [
        *(
            "CONVENIENT",
            "NEWEST",
            "RELEASES",
            "Broker",
            "BrokerStartError",
            "JarError",
            "JavaError",
        ),
        *("KafkaCluster", "LocalBrokerError", "RegistryStartError", "SchemaRegistry", "StartError"),
    ],
    "kafka_spark_source.testing.plugin": [
        *("kafka_cluster", "kafka_cluster_factory", "schema_registry"),
    ],
    "kafka_spark_source.version": ["__version__"],
    "pyspark_pykafka": ["DefaultSource"],
}


def imports_in(code: str) -> set[tuple[str, str]]:
    """The modules of this project and the names that `code` imports from them."""
    return {
        (node.module, alias.name)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
        if re.match(r"kafka_|pyspark_pykafka", node.module)
    }


SHOWN = {
    *(found for file in (ROOT / "examples").glob("*.py") for found in imports_in(file.read_text())),
    *(
        found
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
        for line in re.findall(r"^from \w+(?:\.\w+)* import \w+$", page.read_text(), re.MULTILINE)
        for found in imports_in(line)
    ),
}


@pytest.mark.parametrize("module", PUBLIC)
def test_public_path(module: str) -> None:
    imported = importlib.import_module(module)
    assert [name for name in PUBLIC[module] if not hasattr(imported, name)] == []


@pytest.mark.parametrize(
    ("module", "name"),
    [("topic", "read_topic"), ("topic", "create_topic"), ("table", "write_table")],
)
def test_a_deprecated_path_warns_and_has_the_same_function(module: str, name: str) -> None:
    old = importlib.import_module(f"kafka_protocol.columnar.{module}")
    moved = importlib.import_module(f"kafka_protocol.arrow_io.{module}")
    with pytest.warns(DeprecationWarning, match=f"import {name} from {moved.__name__}"):
        found = getattr(old, name)
    assert found is getattr(moved, name)
    with pytest.raises(AttributeError):
        old.gone  # noqa: B018


def test_the_api_pages_have_each_name() -> None:
    page = "".join((ROOT / "docs" / name).read_text() for name in ("api.md", "testing.md"))
    by_itself = {"main", "__version__", "DefaultSource"}  # used through a command or by Spark
    names = {name for names in PUBLIC.values() for name in names} - by_itself
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", page)) == []


@pytest.mark.parametrize(
    ("module", "name"), [pytest.param(*found, id=".".join(found)) for found in sorted(SHOWN)]
)
def test_imports_in_docs_and_examples(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(module), name)
