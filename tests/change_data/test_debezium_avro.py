"""Debezium with Avro and a schema registry, into tables that must be equal to the database's."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kafka_spark_source.changes import apply_changes
from kafka_spark_source.testing import KafkaCluster, SchemaRegistry
from tests.change_data import workload
from tests.change_data.conftest import ONLY_WITH_NEWEST_DELTA
from tests.change_data.debezium import avro, connector, debezium
from tests.change_data.demo import compared, wait_for_debezium
from tests.change_data.jars import DEBEZIUM_AVRO
from tests.change_data.postgres import postgres
from tests.change_data.workload import ADDED, TABLES, Workload

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    ONLY_WITH_NEWEST_DELTA,
]

PREFIX = "avro_shop"
CHANGES = 150
SOON_SECONDS = 120


def apply_all(spark: SparkSession, options: dict[str, str], folder: Path) -> None:
    """Apply the changes that there are to each table."""
    for name, table in TABLES.items():
        rows = spark.readStream.format("pykafka").options(
            **options,
            subscribe=f"{PREFIX}.public.{name}",
            startingOffsets="earliest",
            envelope="debezium",
        )
        keys = ", ".join(f"{each} {table.types[each]}" for each in table.keys)
        target = str(folder / name)
        spark.sql(f"CREATE TABLE IF NOT EXISTS delta.`{target}` ({keys}) USING delta")
        writer = rows.load().writeStream.trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(folder / "checkpoints" / name))
        apply = apply_changes(target, keys=[*table.keys], evolve=True)
        query = writer.foreachBatch(apply).start()
        try:
            assert query.awaitTermination(SOON_SECONDS)
        finally:
            query.stop()


def test_avro_with_a_registry(
    spark: SparkSession,
    kafka_cluster: KafkaCluster,
    schema_registry: SchemaRegistry,
    tmp_path: Path,
) -> None:
    servers = kafka_cluster.bootstrap_servers
    options = {
        "kafka.bootstrap.servers": servers,
        "value.format": "avro",
        **schema_registry.client_options,
    }
    with postgres() as database, closing(database.connect()) as connection:
        workload.create(connection)
        shop = connector(database, [*TABLES], avro(schema_registry.url), PREFIX)
        with debezium(servers, [shop], DEBEZIUM_AVRO):
            work = Workload(connection, seed=2)

            def change_and_compare() -> None:
                for _ in range(CHANGES):
                    work.change()
                wait_for_debezium(connection, PREFIX)
                apply_all(spark, options, tmp_path)
                tables = [*compared(connection, spark, tmp_path)]
                assert [each.table for each in tables if each.is_equal] == [*TABLES], tables

            change_and_compare()
            # The next query has the column: its schema is in the registry by then.
            workload.add_column(connection)
            work.use_added_column()
            change_and_compare()
    table, column, _, _ = ADDED
    phones = spark.read.format("delta").load(str(tmp_path / table)).where(f"{column} IS NOT NULL")
    assert phones.count()
