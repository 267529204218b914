"""A decision is read as it was written, in one record or in several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_protocol.client.producer.transactions import Transaction
from kafka_protocol.topic_partition import TopicPartition
from kafka_spark_source.writing.decision_format import (
    MAX_PART_BYTES,
    CommitLogError,
    Decision,
    DecisionHead,
    MicroBatch,
    TaskWrite,
)

texts = st.text(max_size=20)
counts = st.integers(0, 2**40)
transactions = st.builds(Transaction, texts, counts, st.integers(0, 2**15 - 1), counts)
writes = st.builds(
    TaskWrite,
    counts,
    counts,
    st.none() | transactions,
    st.none() | st.builds(TopicPartition, texts, counts),
)
micro_batches = st.builds(MicroBatch, texts, counts)
decisions = st.builds(
    Decision, transactions, st.none() | micro_batches, st.lists(writes).map(tuple)
)

CLAIM = Transaction("p-driver", 1, 2, 3)


def parsed(values: list[bytes]) -> Decision:
    *parts, head = values
    return DecisionHead.from_json(head, "it").with_parts(parts, "it")


def large(tasks: int) -> Decision:
    """The decision of a micro-batch of many tasks, with names of usual length."""
    topic = TopicPartition("a-topic-of-usual-length", 99)
    writes = (
        TaskWrite(n, 1_000, Transaction(f"a-usual-prefix-{n}-0", n, 1, 2**40), topic, 2**40 + n)
        for n in range(tasks)
    )
    return Decision(CLAIM, MicroBatch("q", 7), tuple(writes))


@given(decisions)
def test_a_decision_is_read_as_it_was_written(decision: Decision) -> None:
    (value,) = decision.to_json()
    assert parsed([value]) == decision
    head = DecisionHead.from_json(value, "it")
    assert (head.micro_batch, head.tasks) == (decision.micro_batch, len(decision.writes))


@pytest.mark.slow
@pytest.mark.no_cover
def test_a_decision_of_100_000_tasks_fits_into_records() -> None:
    decision = large(100_000)
    values = decision.to_json()
    assert len(values) > 10
    assert max(map(len, values)) < MAX_PART_BYTES + 1_000
    assert parsed(values) == decision


def test_a_missing_part_is_an_error() -> None:
    _, *values = large(20_000).to_json()
    with pytest.raises(CommitLogError, match="it has 20000 tasks, but"):
        parsed(values)


@pytest.mark.parametrize("text", [b"", b"\xff", b"[]", b"{}", b"null", b'{"version": "x"}'])
def test_an_invalid_decision_is_an_error(text: bytes) -> None:
    with pytest.raises(CommitLogError, match="it is not a decision"):
        DecisionHead.from_json(text, "it")


@pytest.mark.parametrize("text", [b"", b"7", b"[7]", b"[[1, 2, 3]]"])
def test_an_invalid_part_is_an_error(text: bytes) -> None:
    with pytest.raises(CommitLogError, match="it is not a decision"):
        DecisionHead(CLAIM, None, 1, 1, ()).with_parts([text], "it")


def test_a_decision_of_a_newer_version_is_an_error() -> None:
    with pytest.raises(CommitLogError, match="version 3, and this release of pykafka knows 2"):
        DecisionHead.from_json(b'{"version":3}', "it")
