"""One Spark session: micro-batches of changes into tables of Delta, beside a MERGE by hand.

    make bench-changes

Each contender applies the same micro-batches to a table of its own, in turns. The MERGE by hand is
the usual one of a `foreachBatch`: `row_number()` chooses the newest change of each key, and no
change is checked. Its table and that of `apply_changes` must be equal at the end. Rows are few, so
most of the time is Spark's and Delta's for planning and committing.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

import numpy as np
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from rich.progress import Progress
from rich.table import Table

from benchmarks.report import RESULTS, console, save
from benchmarks.rounds import Result, shuffled
from benchmarks.session import start
from kafka_spark_source.changes import apply_changes
from tests.change_data.jars import find
from tests.change_data.lake import DELTA, FORMATS

# Java goes on to compile for the first ones.
WARM_UP: Final = 6
ROWS: Final = "id bigint, name string, amount decimal(12,2)"
BY_HAND: Final = "MERGE by hand"
OURS: Final = "apply_changes"

Apply: TypeAlias = Callable[[DataFrame, int], None]


def micro_batch(spark: SparkSession, number: int, changes: int, keys: int) -> DataFrame:
    """Changes of `keys` rows in turn, the newest last; each tenth one is a delete."""
    offsets = spark.range(number * changes, (number + 1) * changes, numPartitions=2)
    offset = F.col("id")
    envelope = {
        "id": offset * 7 % keys,
        "name": F.concat(F.lit("name "), offset),
        "amount": (offset / 100).cast("decimal(12,2)"),
        "op": F.when(offset % 10 == 9, "d").otherwise("u"),
        "topic": F.lit("t"),
        "partition": F.lit(0),
        "offset": offset,
        "topicId": F.lit("A"),
        "ts_ms": offset * 1_000,
    }
    return offsets.select(*(each.alias(name) for name, each in envelope.items()))


def by_hand(table: str) -> Apply:
    """The function for `foreachBatch` that the documentation of table formats shows."""

    def apply(rows: DataFrame, _number: int) -> None:
        newest = Window.partitionBy("id").orderBy(F.col("offset").desc())
        latest = rows.withColumn("number", F.row_number().over(newest)).where("number = 1")
        latest.createOrReplaceTempView("newest_changes")
        rows.sparkSession.sql(
            f"MERGE INTO {table} t USING newest_changes s ON t.id = s.id "
            "WHEN MATCHED AND s.offset > t.offset THEN UPDATE SET name = s.name, "
            "amount = s.amount, offset = s.offset, deleted = s.op = 'd' "
            "WHEN NOT MATCHED THEN INSERT (id, name, amount, offset, deleted) "
            "VALUES (s.id, s.name, s.amount, s.offset, s.op = 'd')"
        )

    return apply


CONTENDERS: Final[Mapping[str, Callable[[str], Apply]]] = {
    BY_HAND: by_hand,
    OURS: lambda table: apply_changes(table, keys="id", evolve=True),
    f"{OURS}, sequence_by": lambda table: apply_changes(
        table, keys="id", evolve=True, sequence_by="ts_ms"
    ),
    f"{OURS}, history": lambda table: apply_changes(table, keys="id", evolve=True, history=True),
}


def tables_for(spark: SparkSession) -> dict[str, Apply]:
    """A table for each contender, and what applies micro-batches to it."""
    own = {BY_HAND: "offset bigint, deleted boolean"}
    found = {}
    for number, (name, make) in enumerate(CONTENDERS.items()):
        columns = f"{ROWS}, {own[name]}" if name in own else ROWS
        spark.sql(f"CREATE TABLE changes_{number} ({columns}) USING delta")
        found[name] = make(f"changes_{number}")
    return found


def check_rows(spark: SparkSession) -> None:
    """A contender with another table would have no claim to be faster."""
    columns = "id", "name", "amount"
    tables = [
        spark.table("changes_0").where("NOT deleted").select(*columns),
        spark.table("changes_1").where("NOT _tombstone").select(*columns),
    ]
    if tables[0].exceptAll(tables[1]).count() or tables[1].exceptAll(tables[0]).count():
        raise RuntimeError(f"the tables of {BY_HAND} and {OURS} differ")


def measure(spark: SparkSession, options: argparse.Namespace) -> list[Result]:
    """A row for each contender."""
    tracker = spark.sparkContext.statusTracker()
    seconds: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    jobs: dict[str, int] = {}
    tables = tables_for(spark)
    with Progress(console=console, transient=True) as progress:
        bar = progress.add_task("", total=(WARM_UP + options.rounds) * len(tables))
        for number in range(WARM_UP + options.rounds):
            for name in shuffled(tables, number):
                progress.update(bar, description=f"{name}, micro-batch {number}", advance=1)
                rows = micro_batch(spark, number, options.changes, options.keys)
                group = f"{name} {number}"
                spark.sparkContext.setJobGroup(group, group)
                begin = time.perf_counter()
                tables[name](rows, number)
                seconds[name].append(time.perf_counter() - begin)
                jobs[name] = len(tracker.getJobIdsForGroup(group))
    check_rows(spark)
    return summary({name: each[WARM_UP:] for name, each in seconds.items()}, jobs, options)


def summary(
    seconds: Mapping[str, list[float]], jobs: Mapping[str, int], options: argparse.Namespace
) -> list[Result]:
    """Medians, and how many times as long as the MERGE by hand of the same round."""
    found = []
    for name, times in seconds.items():
        ratios = np.divide(times, seconds[BY_HAND])
        low, middle, high = (round(float(each), 2) for each in np.percentile(ratios, [25, 50, 75]))
        found.append(
            {
                "contender": name,
                "changes": options.changes,
                "keys": options.keys,
                "seconds": round(statistics.median(times), 2),
                "times": middle,
                "times_quartiles": [low, high],
                "jobs": jobs[name],
            }
        )
    return found


def show(results: list[Result]) -> None:
    table = Table("a micro-batch", "median, s", "times as long", "quartiles", "jobs of Spark")
    for row in results:
        table.add_row(
            row["contender"],
            f"{row['seconds']:.2f}",
            f"{row['times']:.2f}",
            "{:.2f}..{:.2f}".format(*row["times_quartiles"]),
            str(row["jobs"]),
        )
    console.print(table)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=1_000)
    parser.add_argument("--keys", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder to write into")
    return parser.parse_args()


def main() -> None:
    options = parse()
    jars = ",".join(sorted(map(str, find(FORMATS["delta"]).glob("*.jar"))))
    with TemporaryDirectory() as warehouse:
        spark = start(jars, {**DELTA, "spark.sql.warehouse.dir": warehouse})
        results = measure(spark, options)
        spark.stop()
    show(results)
    options.results.mkdir(exist_ok=True, parents=True)
    save(options.results / "changes.json", {"rounds": options.rounds, "results": results})


if __name__ == "__main__":
    main()
