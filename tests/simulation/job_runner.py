"""Runs the batch queries of a scenario, one after the other, and keeps what came of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from tests.simulation.batch_jobs import BatchJob, is_expected
from tests.simulation.disk import Disk, Row
from tests.simulation.outcome import JobResult, LogState
from tests.simulation.processes import Process, Strand
from tests.simulation.scenario import Job
from tests.simulation.spark import DRIVER_HOST
from tests.simulation.tasks import Executors
from tests.simulation.trace import Trace

States: TypeAlias = Callable[[], dict[tuple[str, int], LogState]]


class JobRunner:
    """The batch queries of a run.

    Args:
        options: Job -> the options of its source or sink.
        states: The logs as they are now.

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
        trace: Trace,
    ) -> None:
        self._jobs = jobs
        self._options = options
        self._disk = disk
        self._executors = executors
        self._states = states
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
        before = self._states()
        batch_job = BatchJob(number, job, self._options(job), self._disk, self._executors)
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
                )
            )
            self.start()

        self._executors.processes.start(strand, batch_job.run, ended)
