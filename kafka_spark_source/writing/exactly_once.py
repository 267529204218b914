"""Exactly once: tasks write in transactions, and the driver decides about all of them together.

A task leaves its transaction open and tells the driver of it. When all tasks are done, the driver
writes one decision to the commit log, then commits every transaction. A run after a crash carries
out what was decided, before any task begins; a task that finds its micro-batch decided writes
nothing; and what was not decided is aborted by the next task of the same number.

The claim of the driver's id fences an older driver, and the claim travels with the tasks: Spark
plans and commits in different processes. docs/exactly-once.md tells what this guarantees.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.client.producer.end_transactions import are_open, end_all
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transaction_outcome import was_committed
from kafka_protocol.client.producer.transactions import (
    OutcomeUnknownError,
    Transaction,
    TransactionFencedError,
    begin,
)
from kafka_protocol.errors import KafkaError
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing.commit_log import (
    CommitLog,
    CommitLogError,
    Decision,
    MicroBatch,
    TaskWrite,
    transactions_of,
)
from kafka_spark_source.writing.delivery import UNKNOWN, TaskAttempt, Written
from kafka_spark_source.writing.row_writer import RowWriter

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger(__name__)

# How long a task that failed tries to abort; if it cannot, the next one does.
_ABORT_MS: Final = 5_000


@dataclass(frozen=True, slots=True)
class Claim:
    """What a driver knows before its tasks begin.

    Attributes:
        transaction: Its own, in which it will decide.
        decided: What was decided last.
        lost: The tasks of it that are to write again, since their transactions were rolled back
            before they could be committed.
    """

    transaction: Transaction
    decided: MicroBatch | None
    lost: frozenset[int]

    def is_done(self, task: TaskAttempt) -> bool:
        """Whether what a task is to write is there already."""
        asked, decided = task.micro_batch, self.decided
        if asked is None or decided is None or asked.query != decided.query:
            return False
        if asked.number != decided.number:
            return asked.number < decided.number
        return task.partition not in self.lost


def claim(config: ClientConfig, identity: Identity) -> Claim:
    """Take a prefix over, and carry out what was decided before. Nobody may write meanwhile.

    Raises:
        KafkaError: The log cannot be read or written, or a decision cannot be carried out.
    """
    decisions = CommitLog(config, identity)
    transaction = decisions.claim()
    decision, is_done = decisions.last()
    if decision is None:
        return Claim(transaction, None, frozenset())
    lost = frozenset[int]() if is_done else _roll_forward(config, decision)
    decided = decision.micro_batch
    if not is_done and not (lost and decided):
        decisions.note_done(decision)
    if decided is not None and len(lost) == len(decision.transactions) > 0:
        # Nothing of it is there, so it may be written in any way.
        return Claim(transaction, decided._replace(number=decided.number - 1), frozenset())
    return Claim(transaction, decided, lost)


@dataclass(frozen=True, slots=True)
class ExactlyOnce:
    """Rows that readers of committed records see once, and only when all of them are written.

    Attributes:
        rows: How to write rows.
        identity: Who writes.
        claim: None on the driver where only what tasks told is needed.
    """

    rows: RowWriter
    identity: Identity
    claim: Claim | None

    def write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> Written:
        """Write the rows of a task in a transaction, and leave it open.

        Raises:
            KafkaError: A row cannot be written, or a broker refused it; TransactionFencedError:
                another attempt of the task has begun since, or it was open for too long.
        """
        if self.claim is None or task.micro_batch == UNKNOWN:
            raise KafkaError(
                "This Spark runs a streaming write in a way that pykafka does not know, so it "
                "cannot be exactly once: remove the option 'deliveryGuarantee'"
            )
        if self.claim.is_done(task):
            write = TaskWrite(task.partition, sum(batch.num_rows for batch in batches))
        else:
            write = self._write(batches, task)
        return Written(write, task, self.claim.transaction)

    def _write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> TaskWrite:
        batches = (batch for batch in batches if batch.num_rows)
        first = next(batches, None)
        if first is None:
            return TaskWrite(task.partition, 0)
        config = self.rows.config
        cluster = shared_cluster(config)
        transaction = begin(cluster, self._id_of(task), Deadline.after(config.max_block_ms))
        producer = Producer(cluster, transaction)
        try:
            records = self.rows.add(chain([first], batches), producer)
            producer.flush()
        except BaseException:
            producer.abandon()
            if producer.joined:
                _abort(config, [transaction])
            raise
        # Any partition tells what became of the transaction, if only it is known where.
        joined, offset = max(producer.joined.items(), key=lambda each: each[1] is not None)
        return TaskWrite(task.partition, records, transaction, joined, offset)

    def commit(self, written: Sequence[Written]) -> None:
        """Decide that the transactions of all tasks commit, and commit them.

        Raises:
            KafkaError: Not everything is done. Says whether it is decided, so that the next run
                goes on from there.
        """
        writes = [each.write for each in written]
        transactions = transactions_of(writes)
        if not transactions:
            return
        config = self.rows.config
        decisions = CommitLog(config, self.identity)
        try:
            decision = _decision(written, decisions)
            _check_open(config, writes)
            decisions.decide(decision)
        except KafkaError as error:
            if not isinstance(error, OutcomeUnknownError):
                _abort(config, transactions)
            raise
        # What an earlier run committed of it is not asked for again: it may be forgotten.
        _raise_first(_commit(config, transactions), decision)
        decisions.note_done(decision)
        for each in written:
            for attempt in range(each.task.attempt):
                self._roll_back(each.task._replace(attempt=attempt))

    def abort(self, written: Sequence[Written | None]) -> None:
        """Roll back what tasks wrote, unless it may be decided that it commits."""
        writes = [each.write for each in written if each is not None]
        if len(writes) == len(written):
            return  # `commit` was called, and has rolled back what it could
        _abort(self.rows.config, [each.transaction for each in writes if each.transaction])

    def _roll_back(self, dead: TaskAttempt) -> None:
        """What an attempt left open that was killed; readers would wait for its time-out."""
        deadline = Deadline.after(_ABORT_MS)
        try:
            begin(shared_cluster(self.rows.config), self._id_of(dead), deadline)
        except KafkaError as error:
            log.warning("Not rolled back yet: %s", error)

    def _id_of(self, task: TaskAttempt) -> str:
        return f"{self.identity.prefix}-{task.partition}-{task.attempt}"


def _decision(written: Sequence[Written], decisions: CommitLog) -> Decision:
    """What is to be decided: all that was written, with what was committed of it before."""
    (claim,) = {each.claim for each in written if each.claim is not None}
    writes = tuple(each.write for each in written)
    if any(write.records and not write.transaction for write in writes):
        writes = _completed(writes, decisions)
    return Decision(claim, written[0].task.micro_batch, writes)


def _completed(writes: Sequence[TaskWrite], decisions: CommitLog) -> tuple[TaskWrite, ...]:
    """The writes of the tasks that had lost theirs, and those of the others as decided before.

    Raises:
        CommitLogError: The tasks are not what they were, so they cannot be told apart.
    """
    decided, _ = decisions.last()
    before = {write.partition: write for write in decided.writes} if decided else {}
    counts = {write.partition: write.records for write in writes}
    if counts != {partition: write.records for partition, write in before.items()}:
        raise CommitLogError(
            "A part of the micro-batch was committed by the run before, another part was rolled "
            "back after kafka.transaction.timeout.ms, and the tasks of this run do not have the "
            "rows that they had then, so the rest cannot be told apart. Run it with the options, "
            "the configuration and the code of the run before; what is not deterministic in the "
            "query (rand(), repartition without columns) makes this impossible"
        )
    return tuple(write if write.transaction else before[write.partition] for write in writes)


def _check_open(config: ClientConfig, writes: Iterable[TaskWrite]) -> None:
    """Raise what is wrong where a transaction cannot be committed any more; nothing is then."""
    joined = {each.transaction: each.joined for each in writes if each.transaction and each.joined}
    answers = are_open(shared_cluster(config), joined, _soon(config))
    for error in filter(None, answers.values()):
        raise error


def _commit(
    config: ClientConfig, transactions: Mapping[Transaction, TaskWrite]
) -> dict[TaskWrite, KafkaError]:
    """Commit what is decided; returns what could not be done."""
    outcomes = end_all(shared_cluster(config), transactions, True, _soon(config))
    return {transactions[each]: error for each, error in outcomes.items() if error is not None}


def _raise_first(failures: Mapping[TaskWrite, KafkaError], decision: Decision) -> None:
    for write, error in failures.items():
        raise CommitLogError(
            f"{_named(decision)} is decided, and {len(failures)} of its "
            f"{len(decision.transactions)} transactions could not be committed yet, the first of "
            f"task {write.partition}: {error}. The next write with this transactionalIdPrefix does "
            "it; if it begins before kafka.transaction.timeout.ms has passed, nothing has to be "
            "written again"
        ) from error


def _roll_forward(config: ClientConfig, decision: Decision) -> frozenset[int]:
    """Carry out what an earlier run decided; returns the tasks whose records were rolled back.

    Raises:
        CommitLogError: It cannot be carried out now.
    """
    failures = _commit(config, decision.transactions)
    fenced = {w: e for w, e in failures.items() if isinstance(e, TransactionFencedError)}
    _raise_first({w: e for w, e in failures.items() if w not in fenced}, decision)
    lost = {w: e for w, e in fenced.items() if not _is_there(config, w, decision)}
    for write, error in lost.items():
        log.warning(
            "%s was decided, and %d records of task %d were rolled back before they could be "
            "committed; %s: %s",
            _named(decision),
            write.records,
            write.partition,
            "they are written again" if decision.micro_batch else "the write is incomplete",
            error,
        )
    return frozenset(write.partition for write in lost)


def _is_there(config: ClientConfig, write: TaskWrite, decision: Decision) -> bool:
    """Whether records were committed in a transaction of which its coordinator tells no more.

    Raises:
        CommitLogError: That is not known, and to guess would lose them or write them twice.
    """
    if write.transaction is None or write.joined is None:
        return True
    what = f"{write.records} records of task {write.partition} are committed"
    try:
        return was_committed(config, write.transaction, write.joined, write.offset, _soon(config))
    except OutcomeUnknownError as error:
        if decision.micro_batch is None:  # nobody will write it again
            log.warning("%s was decided, but whether %s: %s", _named(decision), what, error)
            return True
        raise CommitLogError(
            f"{_named(decision)} is decided, but whether {what} cannot be found out: {error}. See "
            "whether they are in the topic; with another transactionalIdPrefix the query goes on, "
            "and writes the micro-batch anew, so that what is committed of it is there twice"
        ) from error
    except KafkaError as error:
        raise CommitLogError(
            f"{_named(decision)} is decided, but whether {what} cannot be read now: {error}. Start "
            "the query again"
        ) from error


def _abort(config: ClientConfig, transactions: Collection[Transaction]) -> None:
    """Roll back, so that readers need not wait until brokers do it by themselves."""
    if not transactions:
        return
    outcomes = end_all(shared_cluster(config), transactions, False, Deadline.after(_ABORT_MS))
    for error in filter(None, outcomes.values()):
        if not isinstance(error, TransactionFencedError):  # which is rolled back already
            log.warning("Not rolled back yet: %s", error)


def _named(decision: Decision) -> str:
    batch = decision.micro_batch
    return f"Micro-batch {batch.number} of query {batch.query}" if batch else "The write"


def _soon(config: ClientConfig) -> Deadline:
    return Deadline.after(config.delivery_timeout_ms)
