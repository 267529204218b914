"""The lag of a checkpoint: the micro-batches in its log against the logs of its topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafka_spark_source.lag.measured import MeasuredLag, measure

if TYPE_CHECKING:
    from kafka_protocol.client.clock import Deadline
    from kafka_protocol.client.cluster.cluster import Cluster
    from kafka_spark_source.tools.positions.checkpoints import Checkpoint


class QueryLag(NamedTuple):
    """The lag of a query.

    Attributes:
        micro_batch: The number of the last micro-batch in the log.
        is_unfinished: Whether it has not ended: it runs, or the query failed in it.
        planned_at_ms: When it was planned, in ms since 1970; 0 if the log does not say.
        partitions: By source, topic and number.
    """

    checkpoint: str
    query_id: str
    micro_batch: int
    is_unfinished: bool
    planned_at_ms: int
    partitions: tuple[MeasuredLag, ...]

    @property
    def name(self) -> str:
        """The label `query` of its gauges."""
        return self.checkpoint


def checkpoint_lag(checkpoint: Checkpoint, cluster: Cluster, deadline: Deadline) -> QueryLag:
    """Compare a checkpoint with the logs of its topics.

    Raises:
        BrokerError: A topic may not be described or read.
        BrokerConnectionError, KafkaTimeoutError: A broker cannot be reached.
    """
    last, committed = checkpoint.micro_batches[-1], checkpoint.last_committed
    ended = {} if committed is None else committed.ends
    lags = [
        each
        for source, ends in sorted(last.ends.items())
        for each in measure(source, ends, ended.get(source, {}), cluster, deadline)
    ]
    return QueryLag(
        checkpoint.location,
        checkpoint.query_id,
        last.number,
        not last.is_committed,
        last.planned_at_ms,
        tuple(lags),
    )
