"""AUTO CDC with the changes of `make demo-cdc`: a database, Debezium, a pipeline, equal tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from typing import Any, Final

import pytest

from kafka_spark_source.testing import KafkaCluster
from tests.auto_cdc import WITH_HISTORY, PipelineServer, pipeline_server
from tests.change_data import workload
from tests.change_data.conftest import ONLY_WITH_NEWEST_DELTA
from tests.change_data.debezium import PREFIX, connector, debezium, topic_of
from tests.change_data.demo import wait_for_debezium
from tests.change_data.jars import find
from tests.change_data.lake import DELTA, FORMATS
from tests.change_data.postgres import postgres
from tests.change_data.workload import ADDED, TABLES, Workload

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    ONLY_WITH_NEWEST_DELTA,
]
# In each third: with the seed of the demo they are its changes of a minute.
CHANGES: Final = 230
_SEED: Final = 1


@pytest.fixture(scope="module")
def brokers() -> Iterator[KafkaCluster]:
    """Brokers of its own: the names of the topics are Debezium's."""
    with KafkaCluster() as cluster:
        for table in TABLES:
            cluster.create_topic(topic_of(table))
        yield cluster


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PipelineServer]:
    """The server, with Delta, too."""
    jars = sorted(find(FORMATS["delta"]).glob("*.jar"))
    with pipeline_server(tmp_path_factory.mktemp("server"), jars, DELTA) as running:
        yield running


def test_the_tables_equal_the_database(server: PipelineServer, brokers: KafkaCluster) -> None:
    server.create("shop")
    spec = server.project("shop")
    with postgres() as database, closing(database.connect()) as connection:
        workload.create(connection)
        # AUTO CDC cannot keep a value that an event lacks.
        connection.execute("ALTER TABLE products REPLICA IDENTITY FULL")
        work = Workload(connection, _SEED)
        with debezium(brokers.bootstrap_servers, [connector(database, [*TABLES])]):
            for third in range(3):
                if third == 2:
                    table, column, _, type_ = ADDED
                    workload.add_column(connection)
                    work.use_added_column()
                    last = f"is_regular {TABLES[table].types['is_regular']}"
                    server.change(spec, {last: f"{last}, {column} {type_}"})
                for _ in range(CHANGES):
                    work.change()
                wait_for_debezium(connection, PREFIX)
                code, printed = server.run(spec, brokers.bootstrap_servers)
                assert code == 0, printed
        for table in TABLES:
            columns, rows = workload.rows_of(connection, table)
            ours = [dict(zip(columns, map(_as_json, row), strict=True)) for row in rows]
            theirs = server.rows(f"SELECT {', '.join(columns)} FROM lake.shop.{table}")
            assert sorted(theirs, key=str) == sorted(ours, key=str), table
    assert work.done["deletes"] > 0
    assert work.done["updates of keys"] > 0
    assert work.done["updates without the TOAST column"] > 0


def test_tables_of_delta_are_refused(server: PipelineServer, brokers: KafkaCluster) -> None:
    server.rows("CREATE SCHEMA spark_catalog.delta_tables", "SELECT 1")
    made = "dp.create_streaming_table(table"
    spec = server.project(
        "delta_tables", "spark_catalog", **{f"{made})": f'{made}, format="delta")'}
    )
    code, printed = server.run(spec, brokers.bootstrap_servers)
    assert code != 0
    assert "AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE" in printed
    assert "(format: delta)" in printed


def test_the_release_has_no_history(server: PipelineServer, brokers: KafkaCluster) -> None:
    server.create("versions")
    spec = server.project("versions", **WITH_HISTORY)
    code, printed = server.run(spec, brokers.bootstrap_servers)
    assert code != 0
    assert "`stored_as_scd_type` should be Literal[1, '1'], got int" in printed


def _as_json(value: object) -> Any:
    """A value of the database, as JSON has that of Spark, which has times without their zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone().replace(tzinfo=None)
    return json.loads(json.dumps(value, default=str))
