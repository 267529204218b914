"""The table: one function for each API."""

from __future__ import annotations

from typing import Final

from kafka_protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_protocol.messages.create_partitions import CreatePartitionsRequest
from kafka_protocol.messages.create_topics import CreateTopicsRequest
from kafka_protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_protocol.messages.delete_records import DeleteRecordsRequest
from kafka_protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_protocol.messages.describe_configs import DescribeConfigsRequest
from kafka_protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_protocol.messages.describe_producers import DescribeProducersRequest
from kafka_protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafka_protocol.messages.end_txn import EndTxnRequest
from kafka_protocol.messages.fetch import FetchRequest
from kafka_protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_protocol.messages.list_groups import ListGroupsRequest
from kafka_protocol.messages.list_offsets import ListOffsetsRequest
from kafka_protocol.messages.list_transactions import ListTransactionsRequest
from kafka_protocol.messages.metadata import MetadataRequest
from kafka_protocol.messages.offset_commit import OffsetCommitRequest
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest
from kafka_protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from kafka_protocol.messages.produce import ProduceRequest
from kafka_protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest
from kafka_protocol.wire.schema import Request
from tests.simulation.kafka.call import Call, Handler
from tests.simulation.kafka.handlers import (
    admin,
    groups,
    members,
    metadata,
    offsets,
    reading,
    sasl,
    transactions,
    writing,
)


def _api_versions(call: Call) -> None:
    metadata.api_versions(call, frozenset(kind.api_key for kind in HANDLERS))


HANDLERS: dict[type[Request], Handler] = {
    AddPartitionsToTxnRequest: transactions.add_partitions,
    ApiVersionsRequest: _api_versions,
    ConsumerGroupDescribeRequest: members.describe_consumer_groups,
    CreatePartitionsRequest: admin.create_partitions,
    CreateTopicsRequest: admin.create_topics,
    DeleteGroupsRequest: members.delete_groups,
    DeleteRecordsRequest: offsets.delete_records,
    DeleteTopicsRequest: admin.delete_topics,
    DescribeConfigsRequest: admin.describe_configs,
    DescribeGroupsRequest: members.describe_groups,
    DescribeProducersRequest: transactions.describe_producers,
    DescribeTransactionsRequest: transactions.describe_transactions,
    EndTxnRequest: transactions.end_txn,
    FetchRequest: reading.fetch,
    FindCoordinatorRequest: metadata.find_coordinator,
    IncrementalAlterConfigsRequest: admin.alter_configs,
    InitProducerIdRequest: transactions.init_producer_id,
    ListGroupsRequest: members.list_groups,
    ListOffsetsRequest: offsets.list_offsets,
    ListTransactionsRequest: transactions.list_transactions,
    MetadataRequest: metadata.metadata,
    OffsetCommitRequest: groups.offset_commit,
    OffsetFetchRequest: groups.offset_fetch,
    OffsetForLeaderEpochRequest: offsets.offset_for_leader_epoch,
    ProduceRequest: writing.produce,
    SaslAuthenticateRequest: sasl.authenticate,
    SaslHandshakeRequest: sasl.handshake,
}

BY_API_KEY: Final = {kind.api_key: (kind, handler) for kind, handler in HANDLERS.items()}
