"""Many topics of JSON into tables of Delta: one query for all, one for each topic, and by hand.

    make bench-tables

One Spark session, all that the topics have (availableNow), into new tables. By hand: one query of
Spark's own connector for all topics, whose `foreachBatch` caches the micro-batch and filters it by
topic, as people paste it. `topics_to_tables` also reads ten topics of ten, and ten of a thousand of
which the others have no records.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.table import Table

from benchmarks.connectors import CONNECTORS
from benchmarks.processes import descendants, jvm_of, stat_of
from benchmarks.report import RESULTS, broker, connector_jars, console, save
from benchmarks.rounds import Result, shuffled
from benchmarks.session import TUNED, start
from kafka_spark_source.tables import topics_to_tables
from tests.change_data.jars import find
from tests.change_data.lake import DELTA, FORMATS

SCHEMA: Final = "id bigint, name string, amount double, tags array<string>"
NOW: Final = {"availableNow": True}
OURS, EACH, BY_HAND = "topics_to_tables", "a query for each topic", "connector, foreachBatch"
WARM_UP: Final = "warm"
_FLUSH_SECONDS: Final = 600
_SAMPLE_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = "300"
_numbers: Final = count()


class Case(NamedTuple):
    """Topics whose names begin with a prefix and a dot.

    Attributes:
        topics: How many of them have records.
        rows: How many records all of them have.
        empty: How many more there are without records.
    """

    prefix: str
    topics: int
    rows: int
    empty: int = 0

    def names(self) -> list[str]:
        """The topics with records."""
        return [f"{self.prefix}.t{number}" for number in range(self.topics)]


def fill(servers: str, case: Case) -> None:
    """Create the topics of a case, with one partition each, and write their records."""
    admin = AdminClient({"bootstrap.servers": servers})
    empty = [f"{case.prefix}.empty{number}" for number in range(case.empty)]
    for made in admin.create_topics([NewTopic(n, 1) for n in (*case.names(), *empty)]).values():
        made.result(_FLUSH_SECONDS)
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 50, "compression.type": "lz4"})
    each = case.rows // case.topics
    for topic in case.names():
        for id_ in range(each):
            row = {"id": id_, "name": f"name {id_ % 977}", "amount": id_ / 7, "tags": ["a", "b"]}
            producer.produce(topic, json.dumps(row))
            producer.poll(0)
        producer.flush(_FLUSH_SECONDS)


def ours(spark: SparkSession, servers: str, case: Case, schema: str, folder: str) -> None:
    """One query for all topics."""
    options = {
        "kafka.bootstrap.servers": servers,
        "subscribePattern": rf"{case.prefix}\..*",
        "startingOffsets": "earliest",
        "value.format": "json",
        "value.schema": SCHEMA,
    }
    tables = topics_to_tables(
        spark, options, lambda topic: f"{schema}.{topic.split('.')[1]}", metadata=["_kafka_offset"]
    )
    tables.start(folder, trigger=NOW).query.awaitTermination()


def one_query_each(spark: SparkSession, servers: str, case: Case, schema: str, folder: str) -> None:
    """A query of pykafka for each topic, all at the same time."""
    reader = spark.readStream.format("pykafka").option("kafka.bootstrap.servers", servers)
    reader = reader.option("startingOffsets", "earliest")
    reader = reader.option("value.format", "json").option("value.schema", SCHEMA)
    queries = []
    for topic in case.names():
        rows = reader.option("subscribe", topic).load().select("value.*", "offset")
        writer = rows.writeStream.format("delta").trigger(**NOW)
        writer = writer.option("checkpointLocation", f"{folder}/{topic}")
        queries.append(writer.toTable(f"{schema}.{topic.split('.')[1]}"))
    for query in queries:
        query.awaitTermination()


def by_hand(spark: SparkSession, servers: str, case: Case, schema: str, folder: str) -> None:
    """One query of Spark's connector, tuned; `foreachBatch` writes one topic after the other."""

    def write(rows: DataFrame, batch_id: int) -> None:
        rows.persist()
        for (topic,) in rows.select("topic").distinct().collect():
            parsed = F.from_json(F.col("value").cast("string"), SCHEMA).alias("value")
            of_topic = rows.where(F.col("topic") == topic).select(parsed, "offset")
            writer = of_topic.select("value.*", "offset").write.format("delta").mode("append")
            writer = writer.option("txnAppId", folder).option("txnVersion", batch_id)
            writer.saveAsTable(f"{schema}.{topic.split('.')[1]}")
        rows.unpersist()

    format_, options = CONNECTORS["kafka, tuned"]
    reader = spark.readStream.format(format_).options(**options)
    reader = reader.option("kafka.bootstrap.servers", servers)
    reader = reader.option("subscribePattern", rf"{case.prefix}\..*")
    writer = reader.option("startingOffsets", "earliest").load().writeStream.foreachBatch(write)
    writer.option("checkpointLocation", folder).trigger(**NOW).start().awaitTermination()


CONTENDERS: Final[Mapping[str, Callable[[SparkSession, str, Case, str, str], None]]] = {
    OURS: ours,
    EACH: one_query_each,
    BY_HAND: by_hand,
}


@contextmanager
def peak_memory(pid: int) -> Iterator[list[int]]:
    """The most memory in MB that a process and all below it have at a time: the last number."""
    peak, stop = [0], threading.Event()

    def sample() -> None:
        while not stop.wait(_SAMPLE_SECONDS):
            peak[0] = max(peak[0], sum(map(_resident_mb, descendants(pid))))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    yield peak
    stop.set()
    thread.join()


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process and all below it, also of processes that have ended."""
    ticks = sum(int(ticks) for each in descendants(pid) for ticks in _ticks(each))
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> list[str]:
    try:
        # User and system time, of the process and of its children that have ended.
        return stat_of(pid)[11:15]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _resident_mb(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def run(spark: SparkSession, servers: str, name: str, case: Case) -> Result:
    """Run a contender with new tables, and check that these have all records."""
    schema = f"run_{next(_numbers)}"
    spark.sql(f"CREATE SCHEMA {schema}")
    jvm = jvm_of(spark)
    with TemporaryDirectory() as folder, peak_memory(jvm) as peak:
        used, began = cpu_seconds(jvm), time.perf_counter()
        CONTENDERS[name](spark, servers, case, schema, folder)
        seconds, cpu = time.perf_counter() - began, cpu_seconds(jvm) - used
    tables = [f"{schema}.{topic.split('.')[1]}" for topic in case.names()]
    rows = sum(spark.table(each).count() for each in tables)
    if rows != case.rows:
        raise RuntimeError(f"{name} has written {rows} of {case.rows} records")
    details = [spark.sql(f"DESCRIBE DETAIL {each}").first() for each in tables]
    spark.sql(f"DROP SCHEMA {schema} CASCADE")
    files = sum(each["numFiles"] for each in details if each)
    return {"seconds": seconds, "cpu": cpu, "memory_mb": peak[0], "files": files}


def measure(options: argparse.Namespace) -> list[Result]:
    """A row for each case and contender."""
    many = Case("many", options.topics, options.rows)
    one = Case("one", 1, options.rows // 10)
    ten = Case("ten", 10, options.rows // 10)
    few = Case("few", 10, options.rows // 10, options.empty)
    warm = Case(WARM_UP, 2, 2_000)
    plan: list[tuple[Case, Sequence[str]]] = [
        *((many, [*CONTENDERS]), (one, [*CONTENDERS])),
        *((ten, [OURS]), (few, [OURS])),
    ]
    jars = find(FORMATS["delta"]).glob("*.jar")
    all_jars = ",".join([connector_jars("bench-tables"), *sorted(map(str, jars))])
    with broker() as cluster, TemporaryDirectory() as warehouse:
        servers = cluster.bootstrap_servers
        for case in (warm, *(each for each, _ in plan)):
            console.print(f"filling {case.topics} topics with {case.rows:,} records")
            fill(servers, case)
        # Fifty queries that start at the same time start fifty Python processes.
        os.environ["SPARK_AUTH_SOCKET_TIMEOUT"] = _PATIENCE_SECONDS
        conf = {"spark.python.authenticate.socketTimeout": f"{_PATIENCE_SECONDS}s"}
        spark = start(all_jars, {**TUNED, **DELTA, **conf, "spark.sql.warehouse.dir": warehouse})
        for name in CONTENDERS:
            run(spark, servers, name, warm)
        runs: dict[tuple[str, str], list[Result]] = {}
        for number in range(options.rounds):
            for case, names in plan:
                for name in shuffled(names, number):
                    ran = run(spark, servers, name, case)
                    console.print(f"{case.prefix} {name}: {ran['seconds']:.1f} s")
                    runs.setdefault((case.prefix, name), []).append(ran)
        spark.stop()
    return [summary(case, name, of_case, options) for (case, name), of_case in runs.items()]


def summary(case: str, name: str, runs: Sequence[Result], options: argparse.Namespace) -> Result:
    """The medians of a contender."""
    median = {key: round(float(np.median([each[key] for each in runs])), 1) for key in runs[0]}
    topics = {"many": options.topics, "one": 1, "ten": 10, "few": 10 + options.empty}[case]
    return {"case": case, "contender": name, "topics": topics, **median}


def show(results: Sequence[Result]) -> None:
    """A table of all rows."""
    shown = Table("case", "topics", "contender", "seconds", "CPU, s", "memory, MB", "files")
    for row in results:
        numbers: list[Any] = [row["seconds"], row["cpu"], row["memory_mb"], row["files"]]
        shown.add_row(row["case"], f"{row['topics']:,}", row["contender"], *map(str, numbers))
    console.print(shown)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--rows", type=int, default=5_000_000, help="of all 50 topics")
    parser.add_argument("--empty", type=int, default=990, help="more topics, without records")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    results = measure(options)
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    named = {"rows": options.rows, "rounds": options.rounds, "results": results}
    save(options.results / "topics_to_tables.json", named)


if __name__ == "__main__":
    main()
