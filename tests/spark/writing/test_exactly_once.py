"""Exactly-once writes: drivers that die anywhere, late tasks, and transactions that time out.

The tests do by hand what Spark does: plan, run the tasks, commit or abort, and all of it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.pool import close_shared_clusters, shared_cluster
from kafka_protocol.client.producer.transactions import TransactionFencedError, begin
from kafka_protocol.errors import ErrorCode, KafkaError
from kafka_protocol.messages.end_txn import EndTxnRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.writing import exactly_once
from kafka_spark_source.writing.claimed_prefix import Action
from kafka_spark_source.writing.commit_log import CommitLog
from kafka_spark_source.writing.decision_format import CommitLogError, MicroBatch
from kafka_spark_source.writing.delivery import UNKNOWN_MICRO_BATCH, TaskAttempt
from kafka_spark_source.writing.exactly_once import ExactlyOnce
from tests.spark.writing.driver import (
    IDENTITY,
    TASKS,
    Rows,
    Spark,
    flat,
    rows,
    rows_of,
    spark_on_fake,
)


class Crash(BaseException):
    """The process dies: no code of the project handles this exception."""


@pytest.fixture
def spark() -> Iterator[Spark]:
    with spark_on_fake() as spark:
        yield spark


def test_micro_batches_are_visible_once_and_as_a_whole(spark: Spark) -> None:
    for number in range(3):
        written = spark.tasks(spark.plan(), number, rows_of(number))
        assert sum(each.write.records for each in written) == 6
        assert len(spark.open()) == TASKS
        spark.commit(written)
    assert spark.seen() == flat(*map(rows_of, range(3)))


def test_a_task_without_rows_begins_no_transaction(spark: Spark) -> None:
    spark.run(0, [[], [b"a"], []])
    assert spark.cluster.transactions.keys() == {"p-driver", "p-1-0"}
    spark.run(1, [[], []])
    assert spark.seen() == [b"a"]


def test_a_committed_micro_batch_is_not_written_again(spark: Spark) -> None:
    """Spark's own commit was lost, so it runs the micro-batch again."""
    spark.run(7, rows_of(7))
    before = len(spark.cluster.asked(ProduceRequest))
    for tasks in (TASKS, 5):
        spark.run(7, rows_of(7, tasks))
    assert spark.seen() == flat(rows_of(7))
    assert len(spark.cluster.asked(ProduceRequest)) == before


def test_another_query_may_use_the_same_prefix(spark: Spark) -> None:
    spark.run(7, rows_of(7))
    spark.query = "another checkpoint"
    spark.run(0, rows_of(0))
    assert spark.seen() == flat(rows_of(7), rows_of(0))


# --- A driver that dies --------------------------------------------------------------------------

DEATHS: dict[str, Callable[[Any], tuple[object, str]]] = {
    "before it decides": lambda _: (CommitLog, "decide"),
    "before it commits": lambda _: (exactly_once, "_commit"),
    "before it notes that": lambda _: (CommitLog, "note_done"),
}


@contextmanager
def death(at: str, *, after: bool = False) -> Iterator[None]:
    """The process dies before this step, or right after it."""
    owner, name = DEATHS[at](None)
    patch = pytest.MonkeyPatch()
    original = getattr(owner, name)

    def die(*args: Any) -> None:
        if after:
            original(*args)
        raise Crash

    # A process can die at each line, which no argument can say.
    patch.setattr(owner, name, die)
    try:
        with pytest.raises(Crash):
            yield
    finally:
        patch.undo()
        close_shared_clusters()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", DEATHS)
def test_fault_57_a_driver_dies_while_it_commits(spark: Spark, at: str, after: bool) -> None:
    spark.run(0, rows_of(0))
    with death(at, after=after):
        spark.run(1, rows_of(1))
    spark.run(1, rows_of(1))
    spark.run(2, rows_of(2))
    assert spark.seen() == flat(*map(rows_of, range(3)))


def test_fault_48_and_57_every_decided_transaction_times_out(
    spark: Spark, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver was down for longer than kafka.transaction.timeout.ms."""
    with death("before it commits"):
        spark.run(0, rows_of(0))
    for name in spark.open():
        spark.cluster.time_out(name)
    with caplog.at_level(logging.WARNING):
        spark.run(0, rows_of(0, tasks=2))  # none of it is committed, so other tasks may write it
    assert "2 records of task 0 were rolled back" in caplog.text
    assert spark.seen() == flat(rows_of(0, tasks=2))


def test_fault_48_and_57_one_decided_transaction_times_out(spark: Spark) -> None:
    with death("before it commits"):
        spark.run(0, rows_of(0))
    spark.cluster.time_out("p-1-0")
    assert [each.write.records for each in spark.tasks(spark.plan(), 0, rows_of(0))] == [2] * 3
    # The driver dies again before it has written the missing task.
    close_shared_clusters()
    spark.run(0, rows_of(0))
    spark.run(1, rows_of(1))
    whole = rows_of(0)
    assert spark.seen() == flat([whole[0], whole[2], whole[1]], rows_of(1))


@pytest.mark.parametrize(
    "other",
    [rows_of(0, tasks=2), rows_of(0, tasks=4), [*rows_of(0)[:2], [b"one row"]]],
    ids=["fewer tasks", "more tasks", "fewer rows"],
)
def test_a_part_is_not_written_again_by_tasks_with_other_rows(spark: Spark, other: Rows) -> None:
    with death("before it commits"):
        spark.run(0, rows_of(0))
    spark.cluster.time_out("p-1-0")
    with pytest.raises(CommitLogError, match="do not have the same rows"):
        spark.run(0, other)
    whole = rows_of(0)
    assert spark.seen() == flat([whole[0], whole[2]])


def test_a_batch_query_that_was_rolled_back_is_a_warning(
    spark: Spark, caplog: pytest.LogCaptureFixture
) -> None:
    delivery = ExactlyOnce(spark.rows, IDENTITY, spark.plan())
    written = [delivery.write(iter([rows(b"a")]), TaskAttempt(0, 0, None))]
    with death("before it commits"):
        delivery.commit(written)
    spark.cluster.time_out("p-0-0")
    with caplog.at_level(logging.WARNING):
        spark.plan()
        assert "the write is incomplete" in caplog.text
        caplog.clear()
        spark.plan()
    assert not caplog.text
    assert spark.seen() == []


# --- A driver that dies after the commits, and coordinators that forget transactions -------------

FORGETS: dict[str, Callable[[Spark, str], object]] = {
    "fenced by a late task": lambda spark, name: begin(
        shared_cluster(spark.config), name, Deadline.after(10_000)
    ),
    "transactional.id.expiration.ms": lambda spark, name: spark.cluster.forget_transaction(name),
}


@pytest.mark.parametrize("forget", FORGETS.values(), ids=[*FORGETS])
def test_fault_56_and_57_a_fenced_transaction_was_committed(
    spark: Spark, forget: Callable[[Spark, str], object], caplog: pytest.LogCaptureFixture
) -> None:
    with death("before it notes that"):
        spark.run(0, rows_of(0))
    for name in ("p-0-0", "p-2-0"):
        forget(spark, name)
    spark.run(0, rows_of(0))
    spark.run(1, rows_of(1))
    assert "rolled back" not in caplog.text
    assert spark.seen() == flat(rows_of(0), rows_of(1))


def test_fault_48_and_57_a_coordinator_forgets_a_committed_part(spark: Spark) -> None:
    with death("before it commits"):
        spark.run(0, rows_of(0))
    spark.cluster.time_out("p-1-0")
    spark.plan()  # commits the others, and dies
    close_shared_clusters()
    FORGETS["transactional.id.expiration.ms"](spark, "p-0-0")
    spark.run(0, rows_of(0))
    assert sorted(spark.seen()) == flat(rows_of(0))


@pytest.mark.parametrize("number", [0, None], ids=["a micro-batch", "a batch query"])
def test_fault_27_and_57_the_records_of_a_forgotten_id_are_gone(
    spark: Spark, number: int | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The records were deleted, so it is unknown whether they were committed."""
    micro_batch = None if number is None else MicroBatch("q", number)
    delivery = ExactlyOnce(spark.rows, IDENTITY, spark.plan())
    written = [delivery.write(iter([rows(b"a")]), TaskAttempt(0, 0, micro_batch))]
    with death("before it notes that"):
        delivery.commit(written)
    spark.cluster.forget_transaction("p-0-0")
    spark.cluster.log(TopicPartition("t", 0)).delete_before(2)
    if number is None:
        spark.plan()
        assert "whether 1 records of task 0 are committed" in caplog.text
    else:
        with pytest.raises(CommitLogError, match="offset 0 of t-0 no longer exists"):
            spark.plan()


def test_fault_57_the_offset_of_the_records_is_unknown(spark: Spark) -> None:
    """As if brokers acknowledged all batches as duplicates."""
    written = spark.tasks(spark.plan(), 0, rows_of(0))
    written = [each._replace(write=each.write._replace(offset=None)) for each in written]
    with death("before it notes that"):
        spark.commit(written)
    spark.cluster.forget_transaction("p-0-0")
    with pytest.raises(CommitLogError, match="With another transactionalIdPrefix"):
        spark.plan()


# --- Late drivers and tasks ----------------------------------------------------------------------


def test_fault_47_and_56_a_replaced_driver_decides_nothing(spark: Spark) -> None:
    zombies = spark.tasks(spark.plan(), 0, rows_of(0))
    winners = spark.tasks(spark.plan(), 0, rows_of(0))
    with pytest.raises(TransactionFencedError):
        spark.commit(zombies)
    spark.commit(winners)
    assert spark.seen() == flat(rows_of(0))


def test_fault_47_and_56_a_replaced_driver_with_open_transactions(spark: Spark) -> None:
    zombies = spark.tasks(spark.plan(), 0, rows_of(0))
    claimed = spark.plan()
    assert spark.open() == []  # rolled back at once
    with pytest.raises(TransactionFencedError, match="p-0-0"):
        spark.commit(zombies)
    spark.commit(spark.tasks(claimed, 0, rows_of(0)))
    assert spark.seen() == flat(rows_of(0))


def test_fault_56_a_late_task_fences_the_commit(spark: Spark) -> None:
    written = spark.tasks(spark.plan(), 0, rows_of(0))
    late = spark.plan()
    spark.task(late, 0, 1, [b"zombie"])
    with pytest.raises(TransactionFencedError):
        spark.commit(written)
    spark.run(0, rows_of(0))
    assert spark.seen() == flat(rows_of(0))


def test_fault_48_a_timed_out_transaction_is_not_decided(spark: Spark) -> None:
    written = spark.tasks(spark.plan(), 0, rows_of(0))
    spark.cluster.time_out("p-2-0")
    with pytest.raises(TransactionFencedError, match="AddPartitionsToTxn, again, to"):
        spark.commit(written)
    assert spark.open() == []
    assert spark.decisions().last_decision() is None
    spark.run(0, rows_of(0))
    assert spark.seen() == flat(rows_of(0))


# --- Tasks that fail -----------------------------------------------------------------------------


def test_fault_55_a_failed_task_aborts_at_once(spark: Spark) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield rows(*[b"x" * 1_000] * 20_000)
        raise Crash

    claimed = spark.plan()
    delivery = ExactlyOnce(spark.rows, IDENTITY, claimed)
    with pytest.raises(Crash):
        delivery.write(failing(), TaskAttempt(0, 0, MicroBatch("q", 0)))
    assert spark.open() == []
    spark.commit(spark.tasks(claimed, 0, rows_of(0)))
    assert spark.seen() == flat(rows_of(0))


def test_a_decided_write_is_not_aborted(spark: Spark) -> None:
    """Spark also calls `abort` after a failed `commit`."""
    written = spark.tasks(spark.plan(), 0, rows_of(0))
    with death("before it commits"):
        spark.commit(written)
    spark.abort(written)
    spark.run(0, rows_of(0))
    assert spark.seen() == flat(rows_of(0))


def test_fault_50_the_response_to_a_commit_is_lost(spark: Spark) -> None:
    spark.run(0, rows_of(0))
    written = spark.tasks(spark.plan(), 1, rows_of(1))
    # The first response is for the decision. The second one leaves the outcome open.
    for error in (ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR):
        spark.cluster.add_fault(EndTxnRequest, error=error, count=1)
    with pytest.raises(CommitLogError, match="batch 1 of query q is decided, and 1 of its 3"):
        spark.commit(written)
    spark.run(1, rows_of(1))
    assert spark.seen() == flat(rows_of(0), rows_of(1))


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS], ids=str
)
def test_fault_49_coordinators_that_move(spark: Spark, error: ErrorCode) -> None:
    for number in range(2):
        spark.cluster.add_fault(InitProducerIdRequest, error=error, count=1)
        spark.cluster.add_fault(EndTxnRequest, error=error, count=1)
        spark.run(number, rows_of(number))
    assert spark.seen() == flat(rows_of(0), rows_of(1))


def test_a_stream_whose_micro_batch_is_unknown_writes_nothing(spark: Spark) -> None:
    for claimed, batch in ((spark.plan(), UNKNOWN_MICRO_BATCH), (None, MicroBatch("q", 0))):
        delivery = ExactlyOnce(spark.rows, IDENTITY, claimed)
        with pytest.raises(KafkaError, match="cannot be exactly once"):
            delivery.write(iter([rows(b"a")]), TaskAttempt(0, 0, batch))
    assert spark.seen() == []


# --- Random deaths -------------------------------------------------------------------------------


def time_out(spark: Spark, name: str) -> None:
    if name in spark.open():
        spark.cluster.time_out(name)


def forget(spark: Spark, name: str) -> None:
    if name in spark.cluster.transactions and name not in spark.open():
        spark.cluster.forget_transaction(name)


LATER: dict[str, Callable[[Spark, str], object]] = {
    "nothing": lambda spark, name: None,
    "timed out": time_out,
    "forgotten": forget,
    "fenced": FORGETS["fenced by a late task"],
}
MOMENTS = ("planned", "some tasks", "all tasks", *(f"{at}, {how}" for at in DEATHS for how in "01"))


@pytest.mark.no_cover
@settings(max_examples=max(60, settings().max_examples * 3 // 5))
@given(
    st.lists(
        st.tuples(st.sampled_from(MOMENTS), st.lists(st.sampled_from([*LATER]), max_size=TASKS)),
        max_size=8,
    ),
    st.integers(1, 3),
)
def test_fault_55_56_and_57_each_row_is_visible_once(
    deaths: list[tuple[str, list[str]]], batches: int
) -> None:
    """After each death the transactions of some tasks may time out, expire or be fenced."""
    with spark_on_fake() as spark:
        for number in range(batches):
            for moment, later in deaths[number::batches]:
                die_at(spark, moment, number)
                for task, what in enumerate(later):
                    LATER[what](spark, f"p-{task}-0")
                close_shared_clusters()
            spark.run(number, rows_of(number))
        assert sorted(spark.seen()) == sorted(flat(*map(rows_of, range(batches))))


def die_at(spark: Spark, moment: str, number: int) -> None:
    claimed = spark.plan()
    tasks = {"planned": 0, "some tasks": 1}.get(moment, TASKS)
    written = [spark.task(claimed, number, n, rows_of(number)[n]) for n in range(tasks)]
    action = claimed.action(TaskAttempt(0, 0, MicroBatch("q", number)))
    if moment in ("planned", "some tasks", "all tasks") or action is Action.SKIP:
        close_shared_clusters()
        return
    at, after = moment.rsplit(", ", 1)
    with death(at, after=after == "1"):
        spark.commit(written)
