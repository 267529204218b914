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
from tests.addressed import lengths
from tests.endurance.soak import topics
from tests.endurance.soak.objects import count_objects, environment, find_jcmd, live_objects
from tests.endurance.soak.sampling import PYTHON_ROLES, Sample, joined, roles_of, use_of
from tests.jobs.soak import JOBS, STOP
from tests.stream_driver import Driver
from tests.stream_records import Journal
from tests.truth.addressed import longer
from tests.truth.delivery import compare_all, complaints
from tests.truth.exactly_once import Write, wrong_writes
from tests.witness import values_of

SAMPLES: Final = "samples.jsonl"
"""In the folder of a run: a line for each sample."""

_OBJECTS: Final = "objects"
_SAMPLE_SECONDS: Final = 10
# 50 an hour.
_JOB_SECONDS: Final = 72
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
    objects = folder / _OBJECTS
    objects.mkdir(parents=True)
    findings = Findings()
    with KafkaCluster() as kafka:
        servers = kafka.bootstrap_servers
        topics.create_all(servers)
        journal = Journal(servers)
        options = {"servers": servers, "interval": str(_JOB_SECONDS)}
        driver = Driver(folder, "pykafka", options, "soak", environment(objects))
        with driver, keeping_samples(findings):
            with journal.writing(topics.SOURCE, _WRITERS, _WRITE_SECONDS):
                driver.wait_for_start()
                _sample(findings, driver, seconds, folder, on_sample)
            # The driver ends when it has copied all records that are there now.
            (folder / STOP).touch()
            driver.wait_for_end()
            _check(findings, servers, journal, driver.printed())
    return findings


def soak_spark_alone(
    seconds: float, folder: Path, on_sample: Callable[[float, str], None]
) -> Findings:
    """The same with nothing of this project: what Spark itself keeps. No broker, no check."""
    objects = folder / _OBJECTS
    objects.mkdir(parents=True)
    findings = Findings()
    options = {"interval": str(_JOB_SECONDS)}
    driver = Driver(folder, "", options, "soak_spark_alone", environment(objects))
    with driver, keeping_samples(findings):
        driver.wait_for_start()
        _sample(findings, driver, seconds, folder, on_sample)
        findings.jobs = _jobs_in(driver.printed())
    return findings


# What `--of` can be.
RUNS: Final[Mapping[str, Callable[..., Findings]]] = {
    "pykafka": soak,
    "spark-alone": soak_spark_alone,
}


@contextmanager
def keeping_samples(findings: Findings) -> Iterator[None]:
    """Make an error, Ctrl-C or SIGTERM a fault of the run: hours of samples are worth a report."""
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if not findings.series:
            raise
        findings.faults.append(f"the run ended early: {type(error).__name__}: {error}")


def _sample(
    findings: Findings,
    driver: Driver,
    seconds: float,
    folder: Path,
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
        sample = joined(roles, use_of(roles), count_objects(folder / _OBJECTS, python))
        jvms = [pid for pid, role in roles.items() if role == "jvm"]
        if jcmd and jvms and now >= heap_due:
            heap_due = now + heap_seconds
            try:
                live = live_objects(jcmd, *jvms)
                sample["jvm"] |= {"objects": live.objects, "live heap": live.mebibytes}
            except RuntimeError as error:
                findings.notes.append(f"no live heap after {now:.0f} s: {error}")
        keep(findings, folder, now, sample)
        on_sample(now, _words(sample))
        next_due += _SAMPLE_SECONDS
        time.sleep(max(0.0, begin + next_due - time.monotonic()))


def keep(findings: Findings, folder: Path, now: float, sample: Sample) -> None:
    """Adds a sample, and writes it down at once: the end of this process does not lose it."""
    for role, measures in sample.items():
        for measure, value in measures.items():
            findings.series.setdefault((role, measure), []).append((now, value))
    findings.seconds = now
    with (folder / SAMPLES).open("a") as file:
        file.write(json.dumps({"seconds": now, **sample}) + "\n")


def _words(sample: Sample) -> str:
    rss = (f"{role} {measures['rss']:.0f}" for role, measures in sample.items())
    return f"RSS in MiB: {', '.join(rss)}"


def _check(findings: Findings, servers: str, journal: Journal, printed: str) -> None:
    """Compare what was delivered, as librdkafka reads it, with what was written."""
    written = journal.values(topics.SOURCE, topics.PARTITIONS)
    findings.records = sum(map(len, written.values()))
    for topic in (topics.STREAMED, topics.COPIED):
        copy = {each: values_of(servers, topic, each) for each in written}
        findings.faults += complaints(topic, compare_all(written, copy))
    strays = longer(lengths(servers), {topics.SOURCE: findings.records})
    findings.faults += [f"rows that nobody addressed to {strays}"] * bool(strays)
    findings.jobs = _jobs_in(printed)
    values = [value for each in written for value in values_of(servers, topics.WRITTEN, each)]
    # Nothing fails here, so a write at least once is one exactly once.
    jobs = [Write(f"batch job {n}", topics.job_values(n), True, True) for n in range(findings.jobs)]
    findings.faults += wrong_writes(jobs, values)


def _jobs_in(printed: str) -> int:
    """The last number of batch jobs that a driver printed; Spark may print more after it."""
    counts = [line for line in printed.splitlines() if line.startswith(f'{{"{JOBS}"')]
    return int(json.loads(counts[-1])[JOBS]) if counts else 0
