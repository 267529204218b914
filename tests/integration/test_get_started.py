"""The page docs/get-started.md: its lines run as they stand there, and print what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafka_spark_source.testing import CONVENIENT, SchemaRegistry
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.integration.example_processes import ROOT, run_example
from tests.pages.tour import Tour

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.newest,
    pytest.mark.timeout(600),
]

_OUTPUT = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_the_page_prints_what_it_shows(
    kafka_cluster_factory: ClusterFactory, schema_registry: SchemaRegistry, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "get-started.md").read_text()
    assert schema_registry.url.endswith("/apis/ccompat/v7")
    replaced = {
        "localhost:9092": kafka_cluster_factory(config=CONVENIENT).bootstrap_servers,
        "http://127.0.0.1:8081/apis/ccompat/v7": schema_registry.url,
        '"orders"': '"orders-of-beginners"',
    }
    code = ""
    with Tour("docs/get-started.md", {}, replaced) as tour:
        while tour.next_text:
            code += f"{tour.take()}\n"
    script = tmp_path / "get_started.py"
    script.write_text(code)
    shown = run_example(str(script))
    assert lines_of(shown) == lines_of("".join(_OUTPUT.findall(page)))
