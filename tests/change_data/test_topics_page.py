"""The page docs/topics-to-tables.md: its statements run as they stand there, in its order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_protocol.arrow_io.topic import create_topic
from kafka_spark_source.testing.plugin import ClusterFactory
from tests.change_data.conftest import ONLY_WITH_NEWEST_DELTA
from tests.pages.tour import Tour
from tests.witness import produce

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    ONLY_WITH_NEWEST_DELTA,
]

TOPICS = ("shop.log", "shop.customers", "shop.public.items")


@pytest.fixture
def lake(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that has the schema of the page."""
    spark.sql("CREATE SCHEMA lake")
    yield spark
    spark.sql("DROP SCHEMA lake CASCADE")


def test_the_statements_of_the_page(
    lake: SparkSession,
    kafka_cluster_factory: ClusterFactory,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    servers = kafka_cluster_factory().bootstrap_servers
    rows = [json.dumps({"id": each, "name": f"name {each}"}) for each in range(3)]
    for topic in TOPICS[:2]:
        create_topic(topic, {"bootstrap.servers": servers})
        produce(servers, topic, rows)
    checkpoint = str(tmp_path / "checkpoint")
    kafka = {"kafka.bootstrap.servers": servers}
    names = {"spark": lake, "kafka": kafka, "checkpoint": checkpoint}
    with Tour("docs/topics-to-tables.md", names) as tour:
        tour.run("from kafka_spark_source.tables import")
        assert "CREATE TABLE `lake`.`shop_log`" in capsys.readouterr().out
        assert lake.table("lake.shop_log").count() == 3
        first = tour.names["tables"]
        formats = {"value.format": "json", "value.schema": "id bigint, name string"}
        tour.names["options"] = {**kafka, **formats, "subscribePattern": r"shop\..*"}
        tour.run("keyed =")
        planned = tour.names["tables"].plan()
        assert [each.table for each in planned] == ["`lake`.`customers`", "`lake`.`log`"]
        assert not any(each.refusal for each in planned)
        tour.run("lambda topic, name")
        tour.names["tables"] = first
        tour.run("DROP TABLE lake.shop_log")
        assert lake.table("lake.shop_log").count() == 3
        tour.run("query.stop()")
        tour.run("for each in query.tables()")
        assert 'pykafka_table_backfill_offsets{topic="shop.log"} 0' in capsys.readouterr().out
        for each in ("query.show()", "query.awaitTermination()", "query.show(files=True)"):
            tour.run(each)
        assert "MB a file" in capsys.readouterr().out
