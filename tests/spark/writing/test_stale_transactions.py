"""After a micro-batch, and at a start, no transaction is open but those of live tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pyarrow as pa
import pytest

from kafka_protocol.client.pool import shared_cluster
from kafka_protocol.client.producer.transactions import TransactionFencedError
from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.list_transactions import ListTransactionsRequest
from kafka_spark_source.options.write import Identity
from kafka_spark_source.writing.decision_format import MicroBatch
from kafka_spark_source.writing.delivery import TaskAttempt
from kafka_spark_source.writing.exactly_once import ExactlyOnce, claim_prefix
from tests.fakes.cluster import NEWEST
from tests.fakes.transactions import opened
from tests.spark.writing.driver import IDENTITY, LOG, Spark, flat, rows, rows_of, spark_on_fake


@pytest.fixture
def spark() -> Iterator[Spark]:
    with spark_on_fake() as spark:
        yield spark


@pytest.fixture
def old_spark() -> Iterator[Spark]:
    """Brokers that cannot list transactions."""
    with spark_on_fake(release="2.8") as spark:
        yield spark


@pytest.mark.parametrize("release", [NEWEST, "2.8"])
def test_fault_55_and_56_the_commit_ends_copies_that_lost(release: str) -> None:
    """Below 3.0 brokers cannot list transactions."""
    with spark_on_fake(release=release) as spark:
        claimed = spark.plan()
        winner, _ = (spark.task(claimed, 0, 0, [b"a"], attempt) for attempt in range(2))
        assert spark.open() == ["p-0-0", "p-0-1"]
        spark.commit([winner])
        assert spark.seen() == [b"a"]


def test_fault_57_a_start_ends_what_second_attempts_left_open(spark: Spark) -> None:
    claimed = spark.plan()
    for attempt in (1, 2):
        spark.task(claimed, 0, 1, [b"lost with the driver"], attempt)
    claimed = spark.plan()
    assert spark.open() == []
    spark.commit(spark.tasks(claimed, 0, rows_of(0)))
    assert spark.seen() == flat(rows_of(0))


def test_fault_56_a_copy_that_begins_after_the_commit_ends_itself(spark: Spark) -> None:
    claimed = spark.plan()
    spark.commit(spark.tasks(claimed, 0, rows_of(0)))
    with pytest.raises(TransactionFencedError, match="too late: its driver has decided"):
        spark.task(claimed, 0, 0, [b"late"], attempt=1)
    assert spark.seen() == flat(rows_of(0))


@pytest.mark.parametrize(
    ("count", "batches_read"), [(1, 3), (20_000, 2)], ids=["after its rows", "in between"]
)
def test_fault_56_a_copy_that_is_late_with_its_rows_ends_itself(
    spark: Spark, count: int, batches_read: int
) -> None:
    claimed = spark.plan()
    written = spark.tasks(claimed, 0, rows_of(0))
    read = 0

    def slow() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for size in (1, count, 1):
            if size == count:
                spark.commit(written)
                written.clear()
            read += 1
            yield rows(*[b"x" * 1_000] * size)

    copy = TaskAttempt(0, 1, MicroBatch("q", 0))
    with pytest.raises(TransactionFencedError, match="too late"):
        ExactlyOnce(spark.rows, IDENTITY, claimed).write(slow(), copy)
    assert read == batches_read
    assert spark.seen() == flat(rows_of(0))


def test_fault_47_and_56_a_task_of_a_replaced_driver_ends_itself(spark: Spark) -> None:
    old = spark.plan()
    claimed = spark.plan()
    with pytest.raises(TransactionFencedError, match="another driver has claimed the prefix"):
        spark.task(old, 0, 0, [b"zombie"], attempt=1)
    spark.commit(spark.tasks(claimed, 0, rows_of(0)))
    assert spark.seen() == flat(rows_of(0))


def test_a_failed_write_ends_what_its_other_tasks_left_open(spark: Spark) -> None:
    claimed = spark.plan()
    finished = spark.task(claimed, 0, 0, [b"a"])
    spark.task(claimed, 0, 1, [b"killed before its report arrived"])
    spark.abort([finished, None])
    assert spark.open() == []


def test_a_failed_batch_write_ends_them_without_any_report(spark: Spark) -> None:
    delivery = ExactlyOnce(spark.rows, IDENTITY, spark.plan())
    delivery.write(iter([rows(b"a")]), TaskAttempt(0, 0, None))
    delivery.abort([None])
    assert spark.open() == []


def test_fault_47_and_56_a_replaced_driver_ends_no_live_task(spark: Spark) -> None:
    zombies = spark.tasks(spark.plan(), 0, rows_of(0))
    written = spark.tasks(spark.plan(), 0, rows_of(0))
    spark.abort([*zombies, None])
    spark.commit(written)
    assert spark.seen() == flat(rows_of(0))


@pytest.mark.parametrize("release", ["4.3", "4.0"], ids=["brokers select", "brokers do not"])
@pytest.mark.parametrize("other", ["px-0-0", "p-1-0-0", "p-x-0", "P-0-0", "x", "p-0-0-"])
def test_transactions_of_others_stay_open(release: str, other: str) -> None:
    with spark_on_fake(release=release) as spark:
        opened(shared_cluster(spark.config), b"another's", name=other)
        spark.run(0, rows_of(0))
        assert spark.open() == [other]
        spark.cluster.time_out(other)


def test_a_prefix_is_no_pattern(spark: Spark) -> None:
    client = shared_cluster(spark.config)
    for name in ("a.b-0-0", "axb-0-0"):
        opened(client, b"a", name=name)
    claim_prefix(spark.config, Identity("a.b", LOG))
    assert spark.open() == ["axb-0-0"]


# --- Brokers that cannot list transactions -------------------------------------------------------


def test_fault_57_below_3_0_a_start_ends_attempts_of_known_tasks(old_spark: Spark) -> None:
    old_spark.run(0, rows_of(0))
    old_spark.task(old_spark.plan(), 1, 2, [b"lost with the driver"], attempt=1)
    old_spark.run(1, rows_of(1))
    assert old_spark.seen() == flat(rows_of(0), rows_of(1))


def test_fault_47_below_3_0_a_replaced_driver_ends_no_live_task(old_spark: Spark) -> None:
    zombies = old_spark.tasks(old_spark.plan(), 0, rows_of(0))
    written = [old_spark.task(old_spark.plan(), 0, 0, [b"a"], attempt=1)]
    old_spark.abort([*zombies, None])
    old_spark.commit(written)
    assert old_spark.seen() == [b"a"]


# --- Brokers that refuse -------------------------------------------------------------------------


def test_fault_26_what_cannot_be_ended_is_a_warning(
    spark: Spark, caplog: pytest.LogCaptureFixture
) -> None:
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    claimed = spark.plan()
    winner, _ = (spark.task(claimed, 0, 0, [b"a"], attempt) for attempt in range(2))
    for error in (ErrorCode.NONE, refused):
        spark.cluster.add_fault(InitProducerIdRequest, error=error, count=1)
    with caplog.at_level(logging.WARNING):
        spark.commit([winner])
    assert "Transaction 'p-0-1' is not rolled back yet" in caplog.text
    spark.cluster.add_fault(DescribeTransactionsRequest, error=refused, count=1)
    spark.plan()
    assert "Open transactions of prefix 'p' cannot be listed now" in caplog.text
    spark.plan()
    assert spark.seen() == [b"a"]


def test_a_list_that_may_lack_some_is_a_warning(
    spark: Spark, caplog: pytest.LogCaptureFixture
) -> None:
    spark.cluster.add_fault(
        ListTransactionsRequest, error=ErrorCode.INVALID_REGULAR_EXPRESSION, count=1
    )
    with caplog.at_level(logging.WARNING):
        spark.plan()
    assert "INVALID_REGULAR_EXPRESSION" in caplog.text
