"""Exactly-once writes: tasks write in transactions, and the driver commits either all or nothing.

A task leaves its transaction open and reports it to the driver. When all tasks are done, the driver
writes one decision to the commit log and then commits every transaction. After a crash, the next
run commits what was decided before any task begins. A task whose micro-batch is committed writes
nothing. A transaction that was not decided is aborted by the next task with the same number.

The driver claims the prefix, which fences an older driver. Spark plans and commits in different
processes, so `ClaimedPrefix` travels with the tasks. The guarantees are in docs/exactly-once.md.
Never imports pyspark, and stores nothing itself: that is `commit_log`.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from kafka_protocol.arrow_io.row_writer import RowWriter
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.client.producer.end_transactions import check_open, end_all
from kafka_protocol.client.producer.producer import Producer
from kafka_protocol.client.producer.transaction_outcome import Views, was_committed
from kafka_protocol.client.producer.transactions import (
    OutcomeUnknownError,
    Transaction,
    TransactionFencedError,
    begin,
)
from kafka_protocol.errors import KafkaError
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing.claimed_prefix import EVERY_TASK, Action, ClaimedPrefix
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.decision_format import (
    CommitLogError,
    Decision,
    TaskWrite,
    transactions_of,
)
from kafka_spark_source.writing.delivery import UNKNOWN_MICRO_BATCH, TaskAttempt, Written
from kafka_spark_source.writing.log_state import LoggedDecision
from kafka_spark_source.writing.stale_transactions import check_undecided, end_stale

if TYPE_CHECKING:
    import pyarrow as pa

_log = logging.getLogger(__name__)

# How long a failed task tries to abort. If it cannot, the next task of its number does.
_ABORT_MS: Final = 5_000


def claim_prefix(config: ClientConfig, identity: Identity) -> ClaimedPrefix:
    """Take a prefix over, and carry out its last decision. No task may write meanwhile.

    Raises:
        KafkaError: The log cannot be read or written, or the decision cannot be carried out.
    """
    decisions = CommitLog(config, identity)
    transaction = decisions.take_over()
    last = decisions.last_decision()
    claimed = _carry_out(config, decisions, transaction, last)
    end_stale(config, identity, transaction, range(last.tasks if last else 0))
    return claimed


def _carry_out(
    config: ClientConfig,
    decisions: CommitLog,
    transaction: Transaction,
    last: LoggedDecision | None,
) -> ClaimedPrefix:
    """Carry out the last decision, if that is not done."""
    if last is None:
        return ClaimedPrefix(transaction)
    decided = last.micro_batch
    if last.is_done:
        return ClaimedPrefix(transaction, decided)
    decision = decisions.read(last)
    lost = _roll_forward(config, decision)
    if not lost or decided is None:  # nothing writes the rows of a batch query again
        decisions.note_done(decision)
        return ClaimedPrefix(transaction, decided)
    has_survivors = len(lost) < len(decision.transactions)
    return ClaimedPrefix(transaction, decided, lost if has_survivors else EVERY_TASK)


@dataclass(frozen=True, slots=True)
class ExactlyOnce:
    """Readers of committed records see each row once, and only when all rows are written.

    `prefix` is None on a driver that does not plan tasks: `commit` and `abort` do not need it.
    """

    rows: RowWriter
    identity: Identity
    prefix: ClaimedPrefix | None

    def write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> Written:
        """Write the rows of a task in a transaction, and leave it open.

        Raises:
            TransactionFencedError: Another attempt of the task has begun since, or the transaction
                was open for too long.
            KafkaError: A row cannot be written, or a broker refused it.
        """
        if self.prefix is None or task.micro_batch == UNKNOWN_MICRO_BATCH:
            raise KafkaError(
                "This Spark runs a streaming write in a way that pykafka does not know, so it "
                "cannot be exactly once: remove the option 'deliveryGuarantee'"
            )
        if self.prefix.action(task) is Action.SKIP:
            write = TaskWrite(task.partition, sum(batch.num_rows for batch in batches))
        else:
            write = self._write(batches, task)
        return Written(write, task, self.prefix.driver_transaction)

    def _write(self, batches: Iterable[pa.RecordBatch], task: TaskAttempt) -> TaskWrite:
        batches = (batch for batch in batches if batch.num_rows)
        first = next(batches, None)
        if first is None:
            return TaskWrite(task.partition, 0)
        config = self.rows.config
        cluster = shared_cluster(config)
        name = self.identity.task_id(task.partition, task.attempt)
        transaction = begin(cluster, name, Deadline.after(config.max_block_ms))
        producer = Producer(cluster, transaction)
        try:
            records = self.rows.add(self._while_open(chain([first], batches), producer), producer)
            producer.flush()
            self._check_undecided()
        except BaseException:
            self._abandon(producer, transaction)
            raise
        # Any record shows later whether the transaction was committed, if its offset is known.
        joined, offset = max(producer.joined.items(), key=lambda each: each[1] is not None)
        return TaskWrite(task.partition, records, transaction, joined, offset)

    def _abandon(self, producer: Producer, transaction: Transaction) -> None:
        """Abort a failed task's transaction, unless one of its batches may still arrive.

        Brokers below 3.6 append a batch that comes after the abort, and the next transaction of the
        id would commit it. The driver ends such a transaction with a newer epoch, as the next task
        does: then leaders refuse the batch.
        """
        try:
            is_settled = producer.settle(Deadline.after(_ABORT_MS))
        finally:
            producer.abandon()
        if producer.joined and is_settled:
            _abort(self.rows.config, [transaction])
        elif producer.joined:
            _log.warning("Not rolled back yet: a batch of %s may still arrive", transaction)

    def _while_open(
        self, batches: Iterable[pa.RecordBatch], producer: Producer
    ) -> Iterator[pa.RecordBatch]:
        """The same batches; checks once, when the transaction is open, that it is of use."""
        is_checked = False
        for batch in batches:
            yield batch
            if producer.joined and not is_checked:
                # The driver's coordinator may be a leader too, and responds in order.
                producer.settle(Deadline.after(self.rows.config.request_timeout_ms))
                self._check_undecided()
                is_checked = True

    def _check_undecided(self) -> None:
        if self.prefix is not None:
            check_undecided(self.rows.config, self.prefix.driver_transaction)

    def commit(self, written: Sequence[Written]) -> None:
        """Decide that the transactions of all tasks commit, and commit them.

        Raises:
            KafkaError: Not all of it is done. If it is decided, as the error says then, the next
                run commits the rest. Otherwise nothing is committed.
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
        # Only the transactions of this run: the coordinator may have forgotten earlier ones.
        _raise_first(_commit(config, transactions), decision)
        decisions.note_done(decision)
        end_stale(config, self.identity, decision.driver_transaction, range(len(writes)))

    def abort(self, written: Sequence[Written | None]) -> None:
        """Abort the transactions of tasks, unless they may be decided."""
        all_tasks_finished = None not in written
        if all_tasks_finished:
            # So Spark called `commit`, which failed. It has already aborted the transactions,
            # unless they may be decided: then the next run commits them.
            return
        config = self.rows.config
        _abort(config, transactions_of(each.write for each in written if each))
        drivers = {each.driver_transaction for each in written if each} - {None}
        if self.prefix is not None:
            drivers.add(self.prefix.driver_transaction)
        for transaction in filter(None, drivers):  # one at most
            # No tasks: brokers below 3.0 cannot say whether another driver has the prefix.
            end_stale(config, self.identity, transaction, ())


def _decision(written: Sequence[Written], decisions: CommitLog) -> Decision:
    """The decision for all tasks, also for tasks that an earlier run has committed."""
    (driver_transaction,) = {each.driver_transaction for each in written if each.driver_transaction}
    writes = tuple(each.write for each in written)
    if any(write.records and not write.transaction for write in writes):
        writes = _completed(writes, decisions)
    return Decision(driver_transaction, written[0].task.micro_batch, writes)


def _completed(writes: Sequence[TaskWrite], decisions: CommitLog) -> tuple[TaskWrite, ...]:
    """The writes of the tasks that wrote again, and the decided ones of the tasks that did not.

    Raises:
        CommitLogError: The tasks or their rows differ from the decision before.
    """
    last = decisions.last_decision()
    before = {write.partition: write for write in decisions.read(last).writes} if last else {}
    counts = {write.partition: write.records for write in writes}
    if counts != {partition: write.records for partition, write in before.items()}:
        raise CommitLogError(
            "The previous run committed a part of the micro-batch, and brokers rolled back another "
            "part after kafka.transaction.timeout.ms. The tasks of this run do not have the same "
            "rows, so the missing rows are not known. Run the query with the options, the "
            "configuration and the code of the previous run. This is impossible if the query is "
            "not deterministic (rand(), repartition without columns)"
        )
    return tuple(write if write.transaction else before[write.partition] for write in writes)


def _check_open(config: ClientConfig, writes: Iterable[TaskWrite]) -> None:
    """Raise an error if one transaction cannot be committed any more: then none may be."""
    joined = {each.transaction: each.joined for each in writes if each.transaction and each.joined}
    deadline = Deadline.after(config.delivery_timeout_ms)
    for error in filter(None, check_open(shared_cluster(config), joined, deadline).values()):
        raise error


def _commit(
    config: ClientConfig, transactions: Mapping[Transaction, TaskWrite]
) -> dict[TaskWrite, KafkaError]:
    """Commit decided transactions; returns the writes that could not be committed, and why."""
    deadline = Deadline.after(config.delivery_timeout_ms)
    outcomes = end_all(shared_cluster(config), transactions, committed=True, deadline=deadline)
    return {transactions[each]: error for each, error in outcomes.items() if error is not None}


def _raise_first(failures: Mapping[TaskWrite, KafkaError], decision: Decision) -> None:
    for write, error in failures.items():
        raise CommitLogError(
            f"{_named(decision)} is decided, and {len(failures)} of its "
            f"{len(decision.transactions)} transactions could not be committed yet, the first of "
            f"task {write.partition}: {error}. The next write with this transactionalIdPrefix "
            "commits them; if it begins before kafka.transaction.timeout.ms has passed, nothing "
            "has to be written again"
        ) from error


def _roll_forward(config: ClientConfig, decision: Decision) -> frozenset[int]:
    """Commit what an earlier run decided; returns the tasks whose records were rolled back.

    Raises:
        CommitLogError: It cannot be carried out now.
    """
    failures = _commit(config, decision.transactions)
    fenced = {w: e for w, e in failures.items() if isinstance(e, TransactionFencedError)}
    _raise_first({w: e for w, e in failures.items() if w not in fenced}, decision)
    lost = {w: e for w, e in fenced.items() if not _was_committed(config, w, decision)}
    for write, error in lost.items():
        _log.warning(
            "%s was decided, and %d records of task %d were rolled back before they could be "
            "committed; %s: %s",
            _named(decision),
            write.records,
            write.partition,
            "they are written again" if decision.micro_batch else "the write is incomplete",
            error,
        )
    return frozenset(write.partition for write in lost)


def _was_committed(config: ClientConfig, write: TaskWrite, decision: Decision) -> bool:
    """Whether the records of a fenced transaction were committed before it was fenced.

    Raises:
        CommitLogError: It is not known, and a guess would lose the records or write them twice.
    """
    if write.transaction is None or write.joined is None:
        return True
    what = f"{write.records} records of task {write.partition} are committed"
    try:
        deadline = Deadline.after(config.delivery_timeout_ms)
        return was_committed(
            _views(config), write.transaction, write.joined, write.offset, deadline
        )
    except OutcomeUnknownError as error:
        if decision.micro_batch is None:  # nothing writes the rows of a batch query again
            _log.warning("%s was decided; unknown whether %s: %s", _named(decision), what, error)
            return True
        raise CommitLogError(
            f"{_named(decision)} is decided, and it is unknown whether {what}: {error}. Check the "
            "topic for them. With another transactionalIdPrefix the query continues and writes the "
            "micro-batch again, so committed records are then in the topic twice"
        ) from error
    except KafkaError as error:
        raise CommitLogError(
            f"{_named(decision)} is decided, but brokers do not say now whether {what}: {error}. "
            "Start the query again"
        ) from error


def _views(config: ClientConfig) -> Views:
    return Views(
        committed=shared_cluster(replace(config, isolation_level="read_committed")),
        uncommitted=shared_cluster(replace(config, isolation_level="read_uncommitted")),
    )


def _abort(config: ClientConfig, transactions: Collection[Transaction]) -> None:
    """Abort, so that readers need not wait until the transactions time out."""
    if not transactions:
        return
    deadline = Deadline.after(_ABORT_MS)
    outcomes = end_all(shared_cluster(config), transactions, committed=False, deadline=deadline)
    for error in filter(None, outcomes.values()):
        if not isinstance(error, TransactionFencedError):  # a fenced one is rolled back already
            _log.warning("Not rolled back yet: %s", error)


def _named(decision: Decision) -> str:
    batch = decision.micro_batch
    return f"Micro-batch {batch.number} of query {batch.query}" if batch else "The write"
