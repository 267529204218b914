"""A Produce response -> the outcome of each partition's batch. No I/O, no retries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_protocol.client.broker.broker import Broker
from kafka_protocol.client.cluster.metadata import Topic
from kafka_protocol.errors import BrokerError, ErrorCode, KafkaError, OutOfStepError
from kafka_protocol.messages.produce import ProduceResponse
from kafka_protocol.topic_partition import TopicPartition

_PartitionResponse = ProduceResponse.TopicProduceResponse.PartitionProduceResponse

_SUCCESSES: Final = (
    ErrorCode.NONE,
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,  # an earlier try was appended
)


class Outcome(NamedTuple):
    """Whether the batch of a partition was appended."""

    topic_partition: TopicPartition
    error: KafkaError | None  # why the batch is not acknowledged; None if it is
    base_offset: int  # of its first record; -1 where the broker does not return it


def outcomes(
    response: ProduceResponse, broker: Broker, topics: Mapping[TopicPartition, Topic]
) -> Iterator[Outcome]:
    """The outcome of the batch of each requested partition."""
    names = {topic.topic_id: topic.name for topic in topics.values()}
    results: dict[TopicPartition, _PartitionResponse] = {}
    for topic in response.responses:
        for result in topic.partition_responses:
            tp = TopicPartition(topic.name or names.get(topic.topic_id, ""), result.index)
            if tp not in results or result.error_code:  # an error outweighs a success
                results[tp] = result
    for tp in topics:
        context = f"Produce to {tp} on {broker}"
        if tp in results:
            yield Outcome(tp, _error(results[tp], context), results[tp].base_offset)
        else:
            yield Outcome(tp, OutOfStepError(f"{context}: the response lacks the partition"), -1)


def _error(result: _PartitionResponse, context: str) -> KafkaError | None:
    if result.error_code in _SUCCESSES:
        return None
    details = [result.error_message] if result.error_message else []
    details += _record_errors(result.record_errors)
    return BrokerError(result.error_code, context, "; ".join(details) or None)


def _record_errors(errors: Iterable[_PartitionResponse.BatchIndexAndErrorMessage]) -> list[str]:
    return [
        f"record {error.batch_index} of the batch: {error.batch_index_error_message}"
        for error in list(errors)[:3]
    ]
