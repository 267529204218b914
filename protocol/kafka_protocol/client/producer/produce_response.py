"""The answer to a Produce -> what became of each partition's batch."""

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
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,  # the first copy is there
)


class Verdict(NamedTuple):
    """What became of a batch.

    Attributes:
        topic_partition: Where it was to go.
        refusal: Why it is not there; None if it is.
        base_offset: That of its first record; -1 where the broker does not tell.
    """

    topic_partition: TopicPartition
    refusal: KafkaError | None
    base_offset: int


def verdicts(
    response: ProduceResponse, broker: Broker, topics: Mapping[TopicPartition, Topic]
) -> Iterator[Verdict]:
    """For each partition that was written to, what became of its batch."""
    names = {topic.topic_id: topic.name for topic in topics.values()}
    answers: dict[TopicPartition, _PartitionResponse] = {}
    for topic in response.responses:
        for answer in topic.partition_responses:
            tp = TopicPartition(topic.name or names.get(topic.topic_id, ""), answer.index)
            if tp not in answers or answer.error_code:  # of two verdicts the refusal counts
                answers[tp] = answer
    for tp in topics:
        context = f"Produce to {tp} on {broker}"
        if tp in answers:
            yield Verdict(tp, _refusal(answers[tp], context), answers[tp].base_offset)
        else:
            yield Verdict(tp, OutOfStepError(f"{context}: the answer lacks the partition"), -1)


def _refusal(answer: _PartitionResponse, context: str) -> KafkaError | None:
    if answer.error_code in _SUCCESSES:
        return None
    said = [answer.error_message] if answer.error_message else []
    said += _record_errors(answer.record_errors)
    return BrokerError(answer.error_code, context, "; ".join(said) or None)


def _record_errors(
    errors: Iterable[_PartitionResponse.BatchIndexAndErrorMessage],
) -> list[str]:
    return [
        f"record {error.batch_index} of the batch: {error.batch_index_error_message}"
        for error in list(errors)[:3]
    ]
