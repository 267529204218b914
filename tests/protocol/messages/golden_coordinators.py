"""Messages for group and transaction coordinators, and their bytes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from kafka_protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafka_protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
)
from kafka_protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_protocol.messages.find_coordinator import (
    TRANSACTION,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafka_protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from kafka_protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_protocol.schema import Message, StructMeta

TOPIC_ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")


def one_topic_of(
    topic: StructMeta, partition: StructMeta, name: str = "name", partitions: str = "partitions"
) -> Callable[..., list[Any]]:
    """Makes a list of one topic, t, of one partition; a caller sets the partition's fields."""
    return lambda **fields: [topic(**{name: "t", partitions: [partition(**fields)]})]


CommitTopic = OffsetCommitRequest.OffsetCommitRequestTopic
CommitPartition = CommitTopic.OffsetCommitRequestPartition
commit_topics = one_topic_of(CommitTopic, CommitPartition)
CommittedTopic = OffsetCommitResponse.OffsetCommitResponseTopic
committed_topics = one_topic_of(CommittedTopic, CommittedTopic.OffsetCommitResponsePartition)
FetchTopic = OffsetFetchRequest.OffsetFetchRequestTopic
FetchGroup = OffsetFetchRequest.OffsetFetchRequestGroup
FetchedTopic = OffsetFetchResponse.OffsetFetchResponseTopic
fetched_topics = one_topic_of(FetchedTopic, FetchedTopic.OffsetFetchResponsePartition)
FetchedGroup = OffsetFetchResponse.OffsetFetchResponseGroup
FetchedGroupTopic = FetchedGroup.OffsetFetchResponseTopics
fetched_group_topics = one_topic_of(
    FetchedGroupTopic, FetchedGroupTopic.OffsetFetchResponsePartitions
)
TxnTopic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
txn_topics = one_topic_of(TxnTopic, TxnTopic.TxnOffsetCommitRequestPartition)

COORDINATORS: dict[str, tuple[Message, bytes]] = {
    "FindCoordinatorRequest v0 can only mean a group": (
        FindCoordinatorRequest(key="g"),
        b"\x00\x01g",
    ),
    "FindCoordinatorRequest v4 asks for many keys": (
        FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["a", "b"]),
        b"\x01"  # key_type
        b"\x03\x02a\x02b"  # coordinator_keys: 2, plus one
        b"\x00",  # no tagged fields
    ),
    "FindCoordinatorResponse v4": (
        FindCoordinatorResponse(
            coordinators=[
                FindCoordinatorResponse.Coordinator(
                    key="a", node_id=-1, port=-1, error_code=15, error_message=None
                )
            ]
        ),
        b"\x00\x00\x00\x00"  # throttle_time_ms
        b"\x02\x02a"  # coordinators: 1, plus one; key
        b"\xff\xff\xff\xff\x01\xff\xff\xff\xff"  # node_id; host: empty; port
        b"\x00\x0f\x00"  # error_code: COORDINATOR_NOT_AVAILABLE; error_message: null
        b"\x00\x00",  # no tagged fields, of the coordinator and of the response
    ),
    "OffsetCommitRequest v0": (
        OffsetCommitRequest(
            group_id="g",
            topics=commit_topics(partition_index=2, committed_offset=9, committed_metadata=""),
        ),
        b"\x00\x01g"  # group_id
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # committed_offset
        b"\x00\x00",  # committed_metadata: empty
    ),
    "OffsetCommitRequest v1 dates each offset": (
        OffsetCommitRequest(
            group_id="g",
            topics=commit_topics(partition_index=2, committed_offset=9, committed_metadata=None),
        ),
        b"\x00\x01g"  # group_id
        b"\xff\xff\xff\xff\x00\x00"  # generation: none; member_id: none
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # committed_offset
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # commit_timestamp: the broker's clock
        b"\xff\xff",  # committed_metadata: null
    ),
    "OffsetCommitRequest v2 by a member, kept for a day": (
        OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=5,
            member_id="m",
            retention_time_ms=86_400_000,
            topics=commit_topics(partition_index=2, committed_offset=9, committed_metadata="x"),
        ),
        b"\x00\x01g"  # group_id
        b"\x00\x00\x00\x05\x00\x01m"  # generation; member_id
        b"\x00\x00\x00\x00\x05\x26\x5c\x00"  # retention_time_ms
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # committed_offset
        b"\x00\x01x",  # committed_metadata
    ),
    "OffsetCommitRequest v10 names the topic by its id": (
        OffsetCommitRequest(
            group_id="g",
            topics=[
                CommitTopic(
                    topic_id=TOPIC_ID,
                    partitions=[
                        CommitPartition(
                            partition_index=2,
                            committed_offset=9,
                            committed_leader_epoch=4,
                            committed_metadata="",
                        )
                    ],
                )
            ],
        ),
        b"\x02g"  # group_id
        b"\xff\xff\xff\xff\x01\x00"  # generation: none; member_id: none; group_instance_id: null
        b"\x02" + TOPIC_ID.bytes + b"\x02"  # topics: 1, plus one; topic_id; partitions: 1, plus one
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # committed_offset
        b"\x00\x00\x00\x04"  # committed_leader_epoch
        b"\x01"  # committed_metadata: empty
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "OffsetCommitResponse v2 has no throttle time yet": (
        OffsetCommitResponse(topics=committed_topics(partition_index=2, error_code=22)),
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02\x00\x16",  # partition_index; error_code: ILLEGAL_GENERATION
    ),
    "OffsetFetchRequest v1": (
        OffsetFetchRequest(group_id="g", topics=[FetchTopic(name="t", partition_indexes=[2, 3])]),
        b"\x00\x01g"  # group_id
        b"\x00\x00\x00\x01\x00\x01t"  # topics: 1; name
        b"\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x03",  # partition_indexes: 2
    ),
    "OffsetFetchRequest v2 asks for all topics with null": (
        OffsetFetchRequest(group_id="g", topics=None),
        b"\x00\x01g\xff\xff\xff\xff",
    ),
    "OffsetFetchRequest v8 asks for many groups": (
        OffsetFetchRequest(groups=[FetchGroup(group_id="g", topics=None)], require_stable=True),
        b"\x02\x02g\x00\x00"  # groups: 1, plus one; group_id; topics: null; no tagged fields
        b"\x01"  # require_stable
        b"\x00",  # no tagged fields
    ),
    "OffsetFetchResponse v1 of a partition without an offset": (
        OffsetFetchResponse(
            topics=fetched_topics(partition_index=2, committed_offset=-1, metadata="")
        ),
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # committed_offset: none
        b"\x00\x00\x00\x00",  # metadata: empty; error_code: none
    ),
    "OffsetFetchResponse v8": (
        OffsetFetchResponse(
            groups=[
                FetchedGroup(
                    group_id="g",
                    topics=fetched_group_topics(
                        partition_index=2,
                        committed_offset=9,
                        committed_leader_epoch=4,
                        metadata=None,
                    ),
                )
            ]
        ),
        b"\x00\x00\x00\x00"  # throttle_time_ms
        b"\x02\x02g\x02\x02t\x02"  # groups: 1, plus one; group_id; topics; name; partitions
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # committed_offset
        b"\x00\x00\x00\x04"  # committed_leader_epoch
        b"\x00\x00\x00\x00\x00"  # metadata: null; error_code: none; no tagged fields, twice
        b"\x00\x00\x00"  # error_code of the group: none; no tagged fields
        b"\x00",  # no tagged fields
    ),
    "InitProducerIdRequest v4 of an id that is known": (
        InitProducerIdRequest(
            transactional_id="tx", transaction_timeout_ms=60_000, producer_id=7, producer_epoch=1
        ),
        b"\x03tx"  # transactional_id
        b"\x00\x00\xea\x60"  # transaction_timeout_ms
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer_id, producer_epoch
        b"\x00",  # no tagged fields
    ),
    "InitProducerIdResponse v0": (
        InitProducerIdResponse(producer_id=7, producer_epoch=2),
        b"\x00\x00\x00\x00\x00\x00"  # throttle_time_ms; error_code: none
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x02",  # producer_id, producer_epoch
    ),
    "AddPartitionsToTxnRequest v0": (
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx",
            v3_and_below_producer_id=7,
            v3_and_below_producer_epoch=1,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[2, 3])],
        ),
        b"\x00\x02tx"  # v3_and_below_transactional_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer id and epoch
        b"\x00\x00\x00\x01\x00\x01t"  # topics: 1; name
        b"\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x03",  # partitions: 2
    ),
    "AddPartitionsToTxnRequest v3 is the newest that clients send": (
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx",
            v3_and_below_producer_id=7,
            v3_and_below_producer_epoch=1,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[2])],
        ),
        b"\x03tx"  # v3_and_below_transactional_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer id and epoch
        b"\x02\x02t\x02\x00\x00\x00\x02"  # topics: 1, plus one; name; partitions: 1, plus one
        b"\x00\x00",  # no tagged fields, of the topic and of the request
    ),
    "AddPartitionsToTxnRequest v4 of a broker that verifies": (
        AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                    transactional_id="tx",
                    producer_id=7,
                    producer_epoch=1,
                    verify_only=True,
                    topics=[AddPartitionsToTxnTopic(name="t", partitions=[2])],
                )
            ]
        ),
        b"\x02\x03tx"  # transactions: 1, plus one; transactional_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer_id, producer_epoch
        b"\x01"  # verify_only
        b"\x02\x02t\x02\x00\x00\x00\x02"  # topics: 1, plus one; name; partitions: 1, plus one
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "AddPartitionsToTxnResponse v3 of a transaction that is still ending": (
        AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=[
                AddPartitionsToTxnTopicResult(
                    name="t",
                    results_by_partition=[
                        AddPartitionsToTxnPartitionResult(
                            partition_index=2, partition_error_code=51
                        )
                    ],
                )
            ]
        ),
        b"\x00\x00\x00\x00"  # throttle_time_ms
        b"\x02\x02t\x02"  # results: 1, plus one; name; results_by_partition: 1, plus one
        b"\x00\x00\x00\x02\x00\x33"  # partition_index; CONCURRENT_TRANSACTIONS
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "AddOffsetsToTxnRequest v0": (
        AddOffsetsToTxnRequest(
            transactional_id="tx", producer_id=7, producer_epoch=1, group_id="g"
        ),
        b"\x00\x02tx"  # transactional_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer_id, producer_epoch
        b"\x00\x01g",  # group_id
    ),
    "TxnOffsetCommitRequest v0": (
        TxnOffsetCommitRequest(
            transactional_id="tx",
            group_id="g",
            producer_id=7,
            producer_epoch=1,
            topics=txn_topics(partition_index=2, committed_offset=9, committed_metadata=""),
        ),
        b"\x00\x02tx\x00\x01g"  # transactional_id, group_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer_id, producer_epoch
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # committed_offset
        b"\x00\x00",  # committed_metadata: empty
    ),
    "TxnOffsetCommitRequest v3 is fenced by the group's generation": (
        TxnOffsetCommitRequest(
            transactional_id="tx",
            group_id="g",
            producer_id=7,
            producer_epoch=1,
            generation_id_or_member_epoch=5,
            member_id="m",
            topics=txn_topics(
                partition_index=2,
                committed_offset=9,
                committed_leader_epoch=4,
                committed_metadata=None,
            ),
        ),
        b"\x03tx\x02g"  # transactional_id, group_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer_id, producer_epoch
        b"\x00\x00\x00\x05\x02m\x00"  # generation, member_id; group_instance_id: null
        b"\x02\x02t\x02"  # topics: 1, plus one; name; partitions: 1, plus one
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # committed_offset
        b"\x00\x00\x00\x04"  # committed_leader_epoch
        b"\x00"  # committed_metadata: null
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "EndTxnRequest v0 aborts": (
        EndTxnRequest(transactional_id="tx", producer_id=7, producer_epoch=1, committed=False),
        b"\x00\x02tx"  # transactional_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer_id, producer_epoch
        b"\x00",  # committed
    ),
    "EndTxnRequest v3 commits": (
        EndTxnRequest(transactional_id="tx", producer_id=7, producer_epoch=1, committed=True),
        b"\x03tx"  # transactional_id
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01"  # producer_id, producer_epoch
        b"\x01\x00",  # committed; no tagged fields
    ),
    "EndTxnResponse v5 hands out the next epoch": (
        EndTxnResponse(producer_id=7, producer_epoch=2),
        b"\x00\x00\x00\x00\x00\x00"  # throttle_time_ms; error_code: none
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x02"  # producer_id, producer_epoch
        b"\x00",  # no tagged fields
    ),
}
