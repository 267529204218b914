"""What is left of a run for the judge: plain data, without brokers and processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_protocol.errors import ErrorCode
from tests.simulation.disk import Headers, Row
from tests.simulation.scenario import Job, Scenario
from tests.simulation.spark import Plan
from tests.truth.bounds import LogState
from tests.truth.groups import Commit, Step


class Violation(NamedTuple):
    """A promise that a run has broken, and the judge that found it."""

    judge: str
    text: str


class LogRecord(NamedTuple):
    """A record in the log of a partition, as the brokers know it at the end of a run.

    Attributes:
        outcome: "committed", also without a transaction, "aborted" or "open".
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    outcome: str
    headers: Headers = ()


class Sent(NamedTuple):
    """A record that a producer was told is written, and the outcome of its transaction.

    Attributes:
        send: The number of the send that it belongs to.
    """

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    outcome: str
    send: int = 0


class JobResult(NamedTuple):
    """A batch query, as far as it came.

    Attributes:
        before, after: The logs before it began and when it had ended, as far as they had leaders.
        tasks: The rows of each task of a read.
        error: What ended it; None for success.
        is_unexpected: Whether no query may end with that error.
        steps: What a read of a group did, as far as it came.
        before_ms, after_ms: When `before` and `after` were taken, in ms since 1970.
    """

    job: Job
    before: dict[tuple[str, int], LogState]
    after: dict[tuple[str, int], LogState]
    tasks: Sequence[Sequence[Row]]
    error: str | None
    is_unexpected: bool
    steps: Sequence[Step] = ()
    before_ms: float = 0.0
    after_ms: float = 0.0


class Begun(NamedTuple):
    """The logs before a stream was started, and when its first micro-batch had been logged."""

    before: dict[tuple[str, int], LogState]
    before_ms: float
    after: dict[tuple[str, int], LogState]
    after_ms: float


class Cut(NamedTuple):
    """A log that has lost its end in an unclean election.

    Attributes:
        lost: The keys and values of the records that were there.
        later: Those of the records that were written in their place.
        without_epoch: The lost ones that do not have the epoch of their leader: brokers cannot
            tell a reader of them that they are gone.
    """

    partition: tuple[str, int]
    lost: frozenset[tuple[bytes | None, bytes | None]]
    later: frozenset[tuple[bytes | None, bytes | None]]
    without_epoch: frozenset[tuple[bytes | None, bytes | None]] = frozenset()


class Refused(NamedTuple):
    """An error of a broker that ended a send or a query."""

    who: str
    code: ErrorCode
    text: str


class Waited(NamedTuple):
    """How long a call took, in virtual time, and how long it may."""

    what: str
    ms: float
    most_ms: float


@dataclass
class Outcome:
    """One run.

    Attributes:
        is_level: Whether everything was processed within the bound.
        level_ms: When it was, or when the run ended.
        logs: Input and output, by topic and partition, with what was deleted.
        starts: Where each log begins now.
        compacted: Offsets of records that are in a log no more.
        incarnations: The values in each topic that had the name of the input, one after the other.
        cuts: Logs that lost their ends.
        attempt_errors: What ended attempts of tasks.
        is_stuck: Whether records were lost, and the query fails with that at each start.
        letters: Where the logs of dead letters ended when a micro-batch was committed, as far as
            they had leaders.
        commits: What was committed to groups.
        preset: What another program committed to the group at which the stream begins, if that was
            done before it began, else empty; None if nobody did.
        begun: The logs when the stream began; None before its first micro-batch is logged.
        first, first_again: Where the query began, at the first and at the last plan of its first
            micro-batch; 0 where it is not known.
        sent: What the scenario's producers were told.
        batches: The rows of each micro-batch in the file sink.
        attempts: All files of tasks, also those of lost attempts, by their names.
        ends: The end of each micro-batch that was logged, by topic and partition.
        processed: The end of the last finished micro-batch, by topic and partition.
        warnings: What the product logged.
        errors: What ended drivers, as text; with `unexpected`, those that no query may have.
        alarms: Those of them that tell of lost records.
        refused: Errors of brokers that ended sends and queries.
        bad_frames: Fetched responses that the two decoders read differently.
        out_of_step: Responses that were not those that the client waited for.
    """

    scenario: Scenario
    is_level: bool = False
    is_stuck: bool = False
    level_ms: float = 0.0
    logs: dict[tuple[str, int], Sequence[LogRecord]] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    compacted: dict[tuple[str, int], frozenset[int]] = field(default_factory=dict)
    incarnations: Sequence[frozenset[bytes]] = ()
    cuts: Sequence[Cut] = ()
    attempt_errors: Sequence[str] = ()
    letters: dict[int, dict[tuple[str, int], int]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    preset: dict[tuple[str, int], int] | None = None
    begun: Begun | None = None
    first: dict[tuple[str, int], int] = field(default_factory=dict)
    first_again: dict[tuple[str, int], int] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    batches: dict[int, Sequence[Row]] = field(default_factory=dict)
    attempts: dict[str, Sequence[Row]] = field(default_factory=dict)
    plans: Sequence[Plan] = ()
    jobs: list[JobResult] = field(default_factory=list)
    processed: dict[tuple[str, int], int] = field(default_factory=dict)
    ends: list[dict[tuple[str, int], int]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    waits: list[Waited] = field(default_factory=list)
    bad_frames: list[str] = field(default_factory=list)
    out_of_step: list[str] = field(default_factory=list)
    events: int = 0
    lives: int = 0
    digest: str = ""
