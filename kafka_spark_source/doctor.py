"""Finds out, from the driver and from every executor, why a job cannot reach, read or write.

`pykafka doctor` takes the same steps from one machine. The executors of a cluster often have other
routes, certificates and packages than its driver.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kafka_formats.options.option import Use
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.references import resolved_option
from kafka_protocol.errors import KafkaConfigError
from kafka_spark_source.diagnosis.diagnosis import Job, diagnose
from kafka_spark_source.diagnosis.environment import environment
from kafka_spark_source.diagnosis.findings import Finding, Result
from kafka_spark_source.diagnosis.pyspark_archive import Bytecode, bytecode_in, pyspark_archive
from kafka_spark_source.diagnosis.report import Place, pasteable, side_by_side
from kafka_spark_source.options.names import CLIENT_PREFIX, by_key, client_options
from kafka_spark_source.options.table import Table
from kafka_spark_source.options.write import parse_write_options
from kafka_spark_source.planning.strategies import topics_of
from kafka_spark_source.tools.masking import masked
from kafka_spark_source.worker.worker import UNIX_SOCKETS, has_unix_sockets

# The tasks that run at a time, where Spark does not report the number.
_TASKS: Final = 64
# The facts that must be the same wherever Python runs, as the Python of a package is.
_ALIKE: Final = ("python", "pyspark-pykafka", "pyspark", "pyarrow", "lz4", "zstandard", "crc32c")

# The buffer between Spark and its Python workers, in bytes.
_BUFFER_SIZE: Final = "spark.sql.execution.pandas.udf.buffer.size"
_DEFAULT_BUFFER_SIZE: Final = "65536"
# How much Spark passes to a sink at once, in bytes, if its 10,000 rows are not less.
_ARROW_BATCH: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_DEFAULT_ARROW_BATCH: Final = "67108864b"
# Without checks of each access that Arrow for Java makes by default.
_ARROW_FLAGS: Final = (
    "-Darrow.enable_unsafe_memory_access=true",
    "-Darrow.enable_null_check_for_get=false",
)


class Report(NamedTuple):
    """The findings of a diagnosis; `print` it.

    Attributes:
        places: The driver, then the executors that ran a task, by name.
        options: The options of the client, without secrets.
    """

    places: tuple[Place, ...]
    options: Mapping[str, str]

    @property
    def is_good(self) -> bool:
        """Whether no step is bad, wherever it was taken."""
        return all(place.is_good for place in self.places)

    def __str__(self) -> str:
        return f"{side_by_side(self.places)}\n\n{pasteable(self.places, self.options)}"


def check(spark: SparkSession, options: Mapping[str, str]) -> Report:
    """Take the steps of a read or a write on the driver and on every executor.

    The executors take part that have a free slot; all do where nothing else runs. Brokers keep no
    more of it than of `pykafka doctor`.

    Args:
        spark: The session.
        options: The options of `format("pykafka")`: with `topic` or `deliveryGuarantee` of a write,
            otherwise of a read.

    Raises:
        KafkaConfigError: An option cannot be used.
    """
    given = by_key(options)
    client, job = _write(options) if _is_write(given) else _read(given)
    ClientConfig.from_options(client)
    driver = _examine("driver", client, job)
    executors = _executors(spark, client, job)
    more = _costs_of_writes(spark) if _is_write(given) else {}
    places = [
        _with_more(driver, _settings(_costs(spark) | more)),
        *(_with_more(each, _differences(driver, each)) for each in executors),
    ]
    return Report(tuple(places), masked(client))


def _is_write(given: Mapping[str, str]) -> bool:
    return any(row.key in given for row in (Table.TOPIC, Table.DELIVERY_GUARANTEE))


def _write(options: Mapping[str, str]) -> tuple[dict[str, str], Job]:
    parsed = parse_write_options(options)
    identity = parsed.exactly_once
    job = Job(
        writes=() if parsed.topic is None else (parsed.topic,),
        transactional_prefix=identity.prefix if identity else None,
        commit_log=identity.commit_log if identity else None,
    )
    return dict(parsed.kafka), job


def _read(given: Mapping[str, str]) -> tuple[dict[str, str], Job]:
    client = client_options(given, Use.BATCH_READ)
    subscribed, assigned = Table.SUBSCRIBE.value_if_in(given), Table.ASSIGN.value_if_in(given)
    topics = [topic for each in (subscribed, assigned) if each for topic in topics_of(each)]
    pattern = Table.SUBSCRIBE_PATTERN.value_if_in(given)
    return client, Job(reads=tuple(topics), group=client.get("group.id"), pattern=pattern)


def _examine(name: str, client: Mapping[str, str], job: Job) -> Place:
    try:
        config = ClientConfig.from_options(client)
        if job.group is not None:
            group = resolved_option("group.id", job.group, client, CLIENT_PREFIX)
            job = job._replace(group=group)
        findings = [*diagnose(config, job)]
    except KafkaConfigError as error:  # a reference has no value on this machine
        findings = [Finding("options", "client", Result.BAD, str(error))]
    return Place(name, environment(), (*_archive(), *findings))


def _archive() -> list[Finding]:
    """The finding about the time that Spark's Python processes take to start on this machine."""
    try:
        archive = pyspark_archive()
        bytecode = bytecode_in(archive)
    except (OSError, KafkaConfigError):  # Spark is installed in another way, or not at all
        return []
    if bytecode is Bytecode.OWN:
        return []
    owner, cure = _WITHOUT_BYTECODE[bytecode]
    detail = (
        f"it has {owner}: each Python process of Spark takes 0.7 s of CPU more to start; {cure}"
    )
    return [Finding("installed", str(archive), Result.COSTLY, detail)]


# What the archive has instead, and the cure.
_WITHOUT_BYTECODE: Final = {
    Bytecode.NONE: ("no bytecode", "run pykafka precompile"),
    Bytecode.FOREIGN: (
        "the bytecode of another Python",
        "install PySpark again, and run pykafka precompile with the Python that Spark uses",
    ),
}


def _with_more(place: Place, more: list[Finding]) -> Place:
    return place._replace(findings=(*more, *place.findings))


def _costs(spark: SparkSession) -> dict[str, tuple[bool, str]]:
    """Settings of the session, whether their values cost something, and the cure."""
    sides = [f"spark.{side}.extraJavaOptions" for side in ("executor", "driver")]
    has_flags = any(_ARROW_FLAGS[0] in (spark.conf.get(side, "") or "") for side in sides)
    has_sockets = spark.conf.get(UNIX_SOCKETS, "false") == "true"
    is_small = spark.conf.get(_BUFFER_SIZE, _DEFAULT_BUFFER_SIZE) == _DEFAULT_BUFFER_SIZE
    return {
        UNIX_SOCKETS: (
            has_unix_sockets(spark.version) and not has_sockets,
            "it is off: set it to true, and rows of 10 kB take 10 % less CPU",
        ),
        _BUFFER_SIZE: (is_small, "with 1048576 rows of 1 kB are read 10 % faster"),
        sides[0]: (
            not has_flags,
            f"with {' '.join(_ARROW_FLAGS)} rows of 1 kB are read 5 % faster; with a local master "
            f"it is {sides[1]}",
        ),
    }


def _costs_of_writes(spark: SparkSession) -> dict[str, tuple[bool, str]]:
    """The same of settings that change only writes."""
    is_large = spark.conf.get(_ARROW_BATCH, _DEFAULT_ARROW_BATCH) == _DEFAULT_ARROW_BATCH
    detail = "with 4m rows of 10 kB are written up to 1.3 times as fast, and take less memory"
    return {_ARROW_BATCH: (is_large, detail)}


def _settings(costs: Mapping[str, tuple[bool, str]]) -> list[Finding]:
    return [
        Finding("setting", name, Result.COSTLY, detail)
        for name, (is_costly, detail) in costs.items()
        if is_costly
    ]


def _differences(driver: Place, executor: Place) -> list[Finding]:
    """The packages with another release than on the driver."""
    pairs = [
        (name, driver.environment[name], executor.environment[name])
        for name in _ALIKE
        if name in executor.environment
    ]
    return [
        Finding("installed", name, _severity(name), f"{there} here, {at_driver} on the driver")
        for name, at_driver, there in pairs
        if _comparable(name, at_driver) != _comparable(name, there)
    ]


def _comparable(name: str, release: str) -> str:
    """The part of a release that must be equal on all machines: for Python without the patch."""
    return release.rpartition(".")[0] if name == "python" else release


def _severity(name: str) -> Result:
    """Spark refuses another Python; another release of a package may do."""
    return Result.BAD if name == "python" else Result.COSTLY


# --- Executors -----------------------------------------------------------------------------------


def _executors(spark: SparkSession, client: Mapping[str, str], job: Job) -> list[Place]:
    """The findings of every executor with a free slot; of the job itself if that fails."""
    tasks = _slots(spark) * 2
    run = uuid.uuid4().hex

    def examine(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        with _first_of(run) as is_first:
            if is_first:
                yield pa.RecordBatch.from_pylist([{"place": json.dumps(_here(client, job))}])

    try:
        rows = spark.range(0, tasks, 1, tasks).mapInArrow(examine, "place string").collect()
    except PySparkException as error:
        lines = str(error).strip().splitlines()
        finding = Finding("task", "executors", Result.BAD, _meaning(lines))
        return [Place("executors", {}, (finding,))]
    places = {place.name: place for place in (_place_in(row[0]) for row in rows)}
    return [places[name] for name in sorted(places)]


def _meaning(lines: list[str]) -> str:
    """The line of a failed job that says why, and the cure for a missing package."""
    errors = [line.strip() for line in lines if "Error" in line]
    text = errors[-1] if errors else lines[-1]
    if "ModuleNotFoundError" in text:
        return f"{text}: install pyspark-pykafka, with its packages, in the Python of executors"
    return text


def _slots(spark: SparkSession) -> int:
    """How many tasks can run at a time. Spark Connect does not report it: then `_TASKS`."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except PySparkException:
        return _TASKS


@contextlib.contextmanager
def _first_of(run: str) -> Iterator[bool]:
    """Whether this task is the first on its executor, whose workers have one parent."""
    file = Path(tempfile.gettempdir(), f"pykafka-doctor-{run}-{platform.node()}-{os.getppid()}")
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        file.unlink(missing_ok=True)


def _here(client: Mapping[str, str], job: Job) -> Place:
    return _examine(f"executor on {platform.node()} (process {os.getppid()})", client, job)


def _place_in(text: str) -> Place:
    name, installed, findings = json.loads(text)
    return Place(
        name,
        installed,
        tuple(
            Finding(step, subject, Result(result), detail)
            for step, subject, result, detail in findings
        ),
    )
