"""The notebook about moving a query, with the jars of Spark's own connector."""

from __future__ import annotations

import pytest

from tests.jvm_connector import spark_jars
from tests.notebooks import FOLDER, text_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_200)]


def test_from_kafka_to_pykafka() -> None:
    jars = spark_jars(print)
    notebook = FOLDER / "from_kafka_to_pykafka.ipynb"
    printed = text_of(notebook, KAFKA_CONNECTOR_JARS=jars)
    assert "6000 rows, 6000 different records, of 6000" in printed
