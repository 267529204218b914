"""Runs the batch queries of a scenario, one after the other, and keeps what came of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from kafka_protocol.topic_partition import TopicPartition
from tests.simulation.batch_jobs import BatchJob, is_expected
from tests.simulation.disk import Disk, Row
from tests.simulation.outcome import JobResult
from tests.simulation.processes import Process, Strand
from tests.simulation.scenario import Job
from tests.simulation.scheduler import START_MS
from tests.simulation.spark import DRIVER_HOST
from tests.simulation.tasks import Executors
from tests.simulation.trace import Trace
from tests.truth.bounds import LogState

States: TypeAlias = Callable[[], dict[tuple[str, int], LogState]]


def resolved(job: Job, timestamps: Sequence[int]) -> Job:
    """A job with the timestamps of records in place of their numbers."""

    def of(text: object) -> object:
        if not isinstance(text, str) or not text.startswith("~"):
            return text
        number, _, less = text[1:].partition("-")
        known = timestamps or [int(START_MS)]
        return known[int(number) % len(known)] - int(less or 0)

    options = {name: str(of(value)) for name, value in job.options.items()}
    filters = tuple(each._replace(value=of(each.value)) for each in job.filters)
    return job._replace(options=options, filters=filters)


class JobRunner:
    """The batch queries of a run.

    Args:
        options: Job -> the options of its source or sink.
        states: The logs as they are now.
        timestamps: Those of the records of the input, in ms.
        is_at_end: Whether positions are the ends of the logs, after all faults.

    Attributes:
        results: What has ended.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        options: Callable[[Job], dict[str, str]],
        disk: Disk,
        executors: Executors,
        states: States,
        timestamps: Callable[[], Sequence[int]],
        is_at_end: Callable[[Mapping[TopicPartition, int]], bool],
        trace: Trace,
    ) -> None:
        self._jobs = jobs
        self._options = options
        self._disk = disk
        self._executors = executors
        self._states = states
        self._timestamps = timestamps
        self._is_at_end = is_at_end
        self._trace = trace
        self.results: list[JobResult] = []

    @property
    def is_done(self) -> bool:
        """Whether all of them have ended."""
        return len(self.results) == len(self._jobs)

    def start(self) -> None:
        """Start the first one at its time; each other one when the one before has ended."""
        if self.is_done:
            return
        job = self._jobs[len(self.results)]
        scheduler = self._executors.scheduler
        scheduler.call_after(job.at_ms - scheduler.elapsed_ms, lambda: self._begin(job))

    def _begin(self, job: Job) -> None:
        number = len(self.results) + 1
        job = resolved(job, self._timestamps())
        before, before_ms = self._states(), self._executors.scheduler.now_ms
        batch_job = BatchJob(
            number, job, self._options(job), self._disk, self._executors, self._is_at_end
        )
        strand = Strand(f"batch {number}", Process(f"batch {number}", DRIVER_HOST))
        strand.dies_at_call = job.dies_at_call
        self._trace.note(strand.name, "starts", job.kind)

        def ended(result: list[list[Row]] | BaseException) -> None:
            batch_job.cancel()
            self._trace.note(strand.name, "ends", type(result).__name__)
            failed = isinstance(result, BaseException)
            self.results.append(
                JobResult(
                    job,
                    before,
                    self._states(),
                    [] if isinstance(result, BaseException) else result,
                    f"{type(result).__name__}: {result}" if failed else None,
                    isinstance(result, BaseException) and not is_expected(result),
                    batch_job.steps,
                    before_ms,
                    self._executors.scheduler.now_ms,
                )
            )
            self.start()

        self._executors.processes.start(strand, batch_job.run, ended)
