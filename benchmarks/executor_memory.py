"""The memory of an executor's Python processes, which `spark.executor.memoryOverhead` holds.

    python -m benchmarks.executor_memory

Each workload runs in an application of its own, with one executor of four cores (`local-cluster`),
twice: the second run has reused workers. Its Python processes are looked at every 50 ms. Memory
that they share, as for Python and its libraries, counts once in PSS, as in a container, and in each
process in RSS, as for YARN. It needs Linux.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

from benchmarks.processes import descendants, jvm_of
from benchmarks.report import broker, console
from benchmarks.session import start
from benchmarks.topics import filled_topic, new_topic, rows_of
from tests.own_process import is_executor, parse_status

CORES: Final = 4
PARTITIONS: Final = 4
SAMPLE_SECONDS: Final = 0.05
MIB: Final = 1024
BYTES_PER_TOPIC: Final = 400_000_000

Options: TypeAlias = Mapping[str, str]
Work: TypeAlias = Callable[[DataFrame, Options], None]


class Memory(NamedTuple):
    """The memory of some processes together, in MiB."""

    pss: float = 0.0
    rss: float = 0.0
    processes: float = 0.0

    def peak_with(self, other: Memory) -> Memory:
        """The larger one of each figure."""
        return Memory(*map(max, self, other))


def read(df: DataFrame, _to: Options) -> None:
    df.write.format("noop").mode("overwrite").save()


def copy(df: DataFrame, to: Options) -> None:
    columns = df.select("key", "value", "headers")
    columns.write.format("pykafka").options(**to).mode("append").save()


def copy_exactly_once(df: DataFrame, to: Options) -> None:
    copy(df, {**to, "deliveryGuarantee": "exactly_once", "transactionalIdPrefix": "memory"})


WORKLOADS: Final[Mapping[str, Work]] = {
    "read": read,
    "copy": copy,
    "copy, exactly once": copy_exactly_once,
}


def executor_of(spark: SparkSession) -> int:
    """The JVM of the executor."""
    return next(filter(is_executor, descendants(jvm_of(spark))))


def memory_of(pid: int) -> Memory:
    """The memory of one process; zero if it has ended."""
    with suppress(OSError):
        sizes = parse_status(Path(f"/proc/{pid}/smaps_rollup").read_text())
        return Memory(sizes["Pss"] / MIB, sizes["Rss"] / MIB, 1.0)
    return Memory()


@contextmanager
def watched(executor: int, peaks: list[Memory]) -> Iterator[None]:
    """Add the peak of the executor's Python processes, while the body runs, to `peaks`."""
    ended = Event()

    def watch() -> None:
        peak = Memory()
        while not ended.wait(SAMPLE_SECONDS):
            memories = [memory_of(pid) for pid in descendants(executor) if pid != executor]
            peak = peak.peak_with(
                Memory(*map(sum, zip(*memories, strict=True))) if memories else Memory()
            )
        peaks.append(peak)

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def measure(servers: str, topic: str, work: Work) -> Memory:
    """The peak of two runs in an application of its own."""
    kafka = {"kafka.bootstrap.servers": servers}
    cluster = {"spark.master": f"local-cluster[1,{CORES},1024]", "spark.driver.host": "127.0.0.1"}
    spark = start(conf=cluster)
    peaks: list[Memory] = []
    try:
        spark.range(1).count()  # the executor is there
        df = spark.read.format("pykafka").options(**kafka, subscribe=topic, includeHeaders="true")
        with watched(executor_of(spark), peaks):
            for _ in range(2):
                work(df.load(), {**kafka, "topic": "copies"})
    finally:
        spark.stop()
    return peaks[0]


def main() -> None:
    table = Table(title=f"Python processes of an executor with {CORES} cores, in MiB at the peak")
    for name in ("workload", "value", "processes", "PSS", "PSS of a core", "RSS", "RSS of a core"):
        table.add_column(name, justify="left" if name == "workload" else "right")
    with broker() as kafka:
        servers = kafka.bootstrap_servers
        for value_bytes in (100, 10_000):
            rows = rows_of(BYTES_PER_TOPIC // PARTITIONS // value_bytes, value_bytes)
            with filled_topic(servers, "memory", rows, batch_rows=1_000):
                for name, work in WORKLOADS.items():
                    what = console.status(f"{name}, {value_bytes} B")
                    with what, new_topic(servers, "copies"):
                        peak = measure(servers, "memory", work)
                    figures = (peak.pss, peak.pss / CORES, peak.rss, peak.rss / CORES)
                    table.add_row(
                        name,
                        f"{value_bytes} B",
                        f"{peak.processes:.0f}",
                        *(f"{each:.0f}" for each in figures),
                    )
    console.print(table)


if __name__ == "__main__":
    main()
