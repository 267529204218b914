"""The run: a broker, writers, a driver that is sampled, and the check of what was delivered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kafka_spark_source.testing import KafkaCluster
from tests.endurance.soak import topics
from tests.endurance.soak.delivery import copy_of, faults_of, written
from tests.endurance.soak.objects import count_objects, environment, find_jcmd, live_objects
from tests.endurance.soak.sampling import PYTHON_ROLES, Sample, joined, roles_of, use_of
from tests.jobs.soak import JOBS, STOP
from tests.stream_driver import Driver
from tests.stream_records import Journal

SAMPLE_SECONDS: Final = 10
# 50 an hour.
JOB_SECONDS: Final = 72
# A full collection of the JVM.
_HEAP_SECONDS: Final = 120
_HEAP_SAMPLES: Final = 10
# Together some 100 records a second.
_WRITERS: Final = 2
_WRITE_SECONDS: Final = 0.02


@dataclass
class Findings:
    """What a run found.

    Attributes:
        seconds: The time in which samples were taken.
        series: The samples of each role and measure.
        faults: A sentence for each fault: the driver failed, or records are not delivered once.
        records: The number of records that the streams copied; 0 without Kafka.
        jobs: The number of batch jobs.
        notes: What could not be measured.
    """

    seconds: float = 0
    series: dict[tuple[str, str], list[tuple[float, float]]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    records: int = 0
    jobs: int = 0
    notes: list[str] = field(default_factory=list)


def soak(seconds: float, folder: Path, on_sample: Callable[[float, str], None]) -> Findings:
    """Run for so many seconds of samples; `on_sample` gets the time so far and a few words."""
    objects = folder / "objects"
    objects.mkdir(parents=True)
    findings = Findings()
    with KafkaCluster() as kafka:
        servers = kafka.bootstrap_servers
        topics.create_all(servers)
        journal = Journal(servers)
        options = {"servers": servers, "interval": str(JOB_SECONDS)}
        driver = Driver(folder, "pykafka", options, "soak", environment(objects))
        with killed_in_the_end(driver), keeping_samples(findings):
            with journal.writing(topics.SOURCE, _WRITERS, _WRITE_SECONDS):
                driver.wait_for_start()
                _sample(findings, driver, seconds, objects, on_sample)
            # The driver ends when it has copied all records that are there now.
            (folder / STOP).touch()
            driver.wait_for_end()
            _check(findings, servers, journal, driver.printed())
    return findings


def soak_spark_alone(
    seconds: float, folder: Path, on_sample: Callable[[float, str], None]
) -> Findings:
    """The same with nothing of this project: what Spark itself keeps. No broker, no check."""
    objects = folder / "objects"
    objects.mkdir(parents=True)
    findings = Findings()
    options = {"interval": str(JOB_SECONDS)}
    driver = Driver(folder, "", options, "soak_spark_alone", environment(objects))
    with killed_in_the_end(driver), keeping_samples(findings):
        driver.wait_for_start()
        _sample(findings, driver, seconds, objects, on_sample)
        findings.jobs = _jobs_in(driver.printed())
    return findings


# What `--of` can be.
RUNS: Final[Mapping[str, Callable[..., Findings]]] = {
    "pykafka": soak,
    "spark-alone": soak_spark_alone,
}


@contextmanager
def killed_in_the_end(driver: Driver) -> Iterator[None]:
    """Kill the driver in the end."""
    try:
        yield
    finally:
        driver.kill()


@contextmanager
def keeping_samples(findings: Findings) -> Iterator[None]:
    """Make an error, or Ctrl-C, a fault of the run: hours of samples are worth a report."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if not findings.series:
            raise
        findings.faults.append(f"the run ended early: {type(error).__name__}: {error}")


def _sample(
    findings: Findings,
    driver: Driver,
    seconds: float,
    objects: Path,
    on_sample: Callable[[float, str], None],
) -> None:
    """Sample the driver's processes until the time is over."""
    jcmd = find_jcmd()
    if jcmd is None:
        findings.notes.append("there is no jcmd: the live heap of the JVM is not measured")
    heap_seconds = min(_HEAP_SECONDS, seconds / _HEAP_SAMPLES)
    begin = time.monotonic()
    heap_due = next_due = 0.0
    while (now := time.monotonic() - begin) < seconds:
        driver.expect_running()
        roles = roles_of(driver.pid)
        python = [pid for pid, role in roles.items() if role in PYTHON_ROLES]
        sample = joined(roles, use_of(roles), count_objects(objects, python))
        jvms = [pid for pid, role in roles.items() if role == "jvm"]
        if jcmd and jvms and now >= heap_due:
            heap_due = now + heap_seconds
            try:
                live = live_objects(jcmd, *jvms)
                sample["jvm"] |= {"objects": live.objects, "live heap": live.mebibytes}
            except RuntimeError as error:
                findings.notes.append(f"no live heap after {now:.0f} s: {error}")
        for role, measures in sample.items():
            for measure, value in measures.items():
                findings.series.setdefault((role, measure), []).append((now, value))
        findings.seconds = now
        on_sample(now, _words(sample))
        next_due += SAMPLE_SECONDS
        time.sleep(max(0.0, begin + next_due - time.monotonic()))


def _words(sample: Sample) -> str:
    rss = (f"{role} {measures['rss']:.0f}" for role, measures in sample.items())
    return f"RSS in MiB: {', '.join(rss)}"


def _check(findings: Findings, servers: str, journal: Journal, printed: str) -> None:
    """Compare what was delivered with what was written."""
    expected = written(journal.records)
    findings.records = sum(map(len, expected.values()))
    for topic in (topics.STREAMED, topics.COPIED):
        findings.faults += faults_of(topic, copy_of(servers, topic), expected)
    findings.jobs = _jobs_in(printed)
    values = [value for copy in copy_of(servers, topics.WRITTEN).values() for value in copy]
    of_jobs = [value for job in range(findings.jobs) for value in topics.job_values(job)]
    # Rows without a key have no order among the partitions.
    findings.faults += faults_of(topics.WRITTEN, {0: sorted(values)}, {0: sorted(of_jobs)})


def _jobs_in(printed: str) -> int:
    """The last number of batch jobs that a driver printed; Spark may print more after it."""
    counts = [line for line in printed.splitlines() if line.startswith(f'{{"{JOBS}"')]
    return int(json.loads(counts[-1])[JOBS]) if counts else 0
