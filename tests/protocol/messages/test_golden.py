"""Messages and their bytes, as one table for the writers and the readers."""

from __future__ import annotations

import pytest

from kafka_protocol.codec import read_message
from kafka_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafka_protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafka_protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_protocol.messages.produce import ProduceRequest, ProduceResponse
from kafka_protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafka_protocol.schema import Message
from tests.protocol.messages.golden_coordinators import COORDINATORS, TOPIC_ID, one_topic_of
from tests.protocol.strategies import encode

ApiVersion = ApiVersionsResponse.ApiVersion
Broker = MetadataResponse.MetadataResponseBroker
Topic = MetadataResponse.MetadataResponseTopic
Partition = Topic.MetadataResponsePartition
topics = one_topic_of(Topic, Partition)
OffsetsTopic = ListOffsetsRequest.ListOffsetsTopic
offsets_topics = one_topic_of(OffsetsTopic, OffsetsTopic.ListOffsetsPartition)
ListedTopic = ListOffsetsResponse.ListOffsetsTopicResponse
listed_topics = one_topic_of(ListedTopic, ListedTopic.ListOffsetsPartitionResponse)
FetchTopic = FetchRequest.FetchTopic
fetch_topics = one_topic_of(FetchTopic, FetchTopic.FetchPartition, "topic")
FetchedTopic = FetchResponse.FetchableTopicResponse
FetchedPartition = FetchedTopic.PartitionData
fetched_topics = one_topic_of(FetchedTopic, FetchedPartition, "topic")
TopicData = ProduceRequest.TopicProduceData
topic_data = one_topic_of(TopicData, TopicData.PartitionProduceData, partitions="partition_data")
ProducedTopic = ProduceResponse.TopicProduceResponse
ProducedPartition = ProducedTopic.PartitionProduceResponse
produced_topics = one_topic_of(ProducedTopic, ProducedPartition, partitions="partition_responses")

GOLDEN: dict[str, tuple[Message, bytes]] = {
    "ApiVersionsRequest v0 is empty": (ApiVersionsRequest(), b""),
    "ApiVersionsRequest v3 names the client": (
        ApiVersionsRequest(client_software_name="pykafka", client_software_version="1.0"),
        b"\x08pykafka"  # client_software_name: length 7, plus one
        b"\x041.0"  # client_software_version
        b"\x00",  # no tagged fields
    ),
    "ApiVersionsResponse v0": (
        ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=1, min_version=0, max_version=11),
                ApiVersion(api_key=18, min_version=0, max_version=2),
            ]
        ),
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x02"  # api_keys: 2
        b"\x00\x01\x00\x00\x00\x0b"  # Fetch 0-11
        b"\x00\x12\x00\x00\x00\x02",  # ApiVersions 0-2
    ),
    "ApiVersionsResponse v3 with features": (
        ApiVersionsResponse(
            api_keys=[ApiVersion(api_key=1, min_version=4, max_version=18)],
            throttle_time_ms=5,
            finalized_features_epoch=9,
            finalized_features=[
                ApiVersionsResponse.FinalizedFeatureKey(
                    name="kraft.version", max_version_level=1, min_version_level=0
                )
            ],
        ),
        b"\x00\x00"  # error_code: none
        b"\x02"  # api_keys: 1, plus one
        b"\x00\x01\x00\x04\x00\x12\x00"  # Fetch 4-18, no tagged fields
        b"\x00\x00\x00\x05"  # throttle_time_ms
        b"\x02"  # 2 tagged fields
        b"\x01\x08\x00\x00\x00\x00\x00\x00\x00\x09"  # tag 1, 8 bytes: finalized_features_epoch
        b"\x02\x14\x02"  # tag 2, 20 bytes: finalized_features, 1 plus one
        b"\x0ekraft.version"  # name
        b"\x00\x01\x00\x00\x00",  # max_version_level, min_version_level, no tagged fields
    ),
    "MetadataRequest v0 asks for all topics with an empty list": (
        MetadataRequest(topics=[]),
        b"\x00\x00\x00\x00",
    ),
    "MetadataRequest v1 asks for all topics with null": (
        MetadataRequest(topics=None),
        b"\xff\xff\xff\xff",
    ),
    "MetadataRequest v12 by id and by name": (
        MetadataRequest(
            topics=[
                MetadataRequest.MetadataRequestTopic(topic_id=TOPIC_ID, name=None),
                MetadataRequest.MetadataRequestTopic(name="t"),
            ],
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=True,
        ),
        b"\x03"  # topics: 2, plus one
        + TOPIC_ID.bytes  # topic_id
        + b"\x00\x00"  # name: null; no tagged fields
        + bytes(16)  # topic_id: none
        + b"\x02t\x00"  # name; no tagged fields
        b"\x00"  # allow_auto_topic_creation
        b"\x01"  # include_topic_authorized_operations; v11 dropped the cluster's
        b"\x00",  # no tagged fields
    ),
    "MetadataResponse v0": (
        MetadataResponse(
            brokers=[Broker(node_id=1, host="b1", port=9092)],
            topics=topics(
                error_code=5, partition_index=0, leader_id=-1, replica_nodes=[1, 2], isr_nodes=[1]
            ),
        ),
        b"\x00\x00\x00\x01"  # brokers: 1
        b"\x00\x00\x00\x01"  # node_id
        b"\x00\x02b1"  # host
        b"\x00\x00\x23\x84"  # port
        b"\x00\x00\x00\x01"  # topics: 1
        b"\x00\x00"  # error_code: none
        b"\x00\x01t"  # name
        b"\x00\x00\x00\x01"  # partitions: 1
        b"\x00\x05"  # error_code: LEADER_NOT_AVAILABLE
        b"\x00\x00\x00\x00"  # partition_index
        b"\xff\xff\xff\xff"  # leader_id
        b"\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x02"  # replica_nodes
        b"\x00\x00\x00\x01\x00\x00\x00\x01",  # isr_nodes
    ),
    "MetadataResponse v1 adds racks, the controller and internal topics": (
        MetadataResponse(
            brokers=[
                Broker(node_id=1, host="b1", port=9092, rack="r"),
                Broker(node_id=2, host="b2", port=9092, rack=None),
            ],
            controller_id=2,
            topics=[Topic(error_code=3, name="t", is_internal=True)],
        ),
        b"\x00\x00\x00\x02"  # brokers: 2
        b"\x00\x00\x00\x01\x00\x02b1\x00\x00\x23\x84\x00\x01r"
        b"\x00\x00\x00\x02\x00\x02b2\x00\x00\x23\x84\xff\xff"  # rack: null
        b"\x00\x00\x00\x02"  # controller_id
        b"\x00\x00\x00\x01"  # topics: 1
        b"\x00\x03"  # error_code: UNKNOWN_TOPIC_OR_PARTITION
        b"\x00\x01t"  # name
        b"\x01"  # is_internal
        b"\x00\x00\x00\x00",  # partitions: 0
    ),
    "MetadataResponse v12": (
        MetadataResponse(
            throttle_time_ms=1,
            brokers=[Broker(node_id=1, host="b1", port=9092, rack=None)],
            cluster_id="c",
            controller_id=1,
            topics=[
                Topic(
                    name="t",
                    topic_id=TOPIC_ID,
                    partitions=[
                        Partition(
                            partition_index=3,
                            leader_id=1,
                            leader_epoch=7,
                            replica_nodes=[1],
                            isr_nodes=[1],
                            offline_replicas=[],
                        )
                    ],
                )
            ],
        ),
        b"\x00\x00\x00\x01"  # throttle_time_ms
        b"\x02"  # brokers: 1, plus one
        b"\x00\x00\x00\x01\x03b1\x00\x00\x23\x84\x00\x00"  # ..., rack: null, no tagged fields
        b"\x02c"  # cluster_id
        b"\x00\x00\x00\x01"  # controller_id
        b"\x02"  # topics: 1, plus one
        b"\x00\x00"  # error_code: none
        b"\x02t" + TOPIC_ID.bytes + b"\x00"  # name  # is_internal
        b"\x02"  # partitions: 1, plus one
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x03"  # partition_index
        b"\x00\x00\x00\x01"  # leader_id
        b"\x00\x00\x00\x07"  # leader_epoch
        b"\x02\x00\x00\x00\x01"  # replica_nodes
        b"\x02\x00\x00\x00\x01"  # isr_nodes
        b"\x01"  # offline_replicas: 0, plus one
        b"\x00"  # no tagged fields
        b"\x80\x00\x00\x00\x00"  # topic_authorized_operations: not asked for; no tagged fields
        b"\x00",  # no tagged fields
    ),
    "ListOffsetsRequest v0 asks for a number of segments": (
        ListOffsetsRequest(
            replica_id=-1, topics=offsets_topics(partition_index=2, timestamp=-2, max_num_offsets=3)
        ),
        b"\xff\xff\xff\xff"  # replica_id
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\xff\xff\xff\xff\xff\xff\xff\xfe"  # timestamp: earliest
        b"\x00\x00\x00\x03",  # max_num_offsets
    ),
    "ListOffsetsRequest v6": (
        ListOffsetsRequest(
            replica_id=-1,
            isolation_level=1,
            topics=offsets_topics(partition_index=2, current_leader_epoch=4, timestamp=-1),
        ),
        b"\xff\xff\xff\xff"  # replica_id
        b"\x01"  # isolation_level: read_committed
        b"\x02\x02t\x02"  # topics: 1, plus one; name; partitions: 1, plus one
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00\x00\x04"  # current_leader_epoch
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # timestamp: latest
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "ListOffsetsResponse v0 lists offsets": (
        ListOffsetsResponse(topics=listed_topics(partition_index=2, old_style_offsets=[9, 5])),
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x02"  # old_style_offsets: 2
        b"\x00\x00\x00\x00\x00\x00\x00\x09"
        b"\x00\x00\x00\x00\x00\x00\x00\x05",
    ),
    "ListOffsetsResponse v1 has one offset and its time": (
        ListOffsetsResponse(topics=listed_topics(partition_index=2, timestamp=1000, offset=9)),
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; name; partitions: 1
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x00\x00\x00\x03\xe8"  # timestamp
        b"\x00\x00\x00\x00\x00\x00\x00\x09",  # offset
    ),
    "ListOffsetsResponse v6": (
        ListOffsetsResponse(
            throttle_time_ms=1,
            topics=listed_topics(
                partition_index=2, error_code=76, timestamp=-1, offset=-1, leader_epoch=4
            ),
        ),
        b"\x00\x00\x00\x01"  # throttle_time_ms
        b"\x02\x02t\x02"  # topics: 1, plus one; name; partitions: 1, plus one
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x4c"  # error_code
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # timestamp
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # offset
        b"\x00\x00\x00\x04"  # leader_epoch
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "FetchRequest v4": (
        FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            max_bytes=0x100000,
            isolation_level=1,
            topics=fetch_topics(partition=2, fetch_offset=9, partition_max_bytes=4096),
        ),
        b"\xff\xff\xff\xff"  # replica_id
        b"\x00\x00\x01\xf4"  # max_wait_ms
        b"\x00\x00\x00\x01"  # min_bytes
        b"\x00\x10\x00\x00"  # max_bytes
        b"\x01"  # isolation_level: read_committed
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topics: 1; topic; partitions: 1
        b"\x00\x00\x00\x02"  # partition
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # fetch_offset
        b"\x00\x00\x10\x00",  # partition_max_bytes
    ),
    "FetchRequest v12 outside a session": (
        FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            topics=fetch_topics(
                partition=2, current_leader_epoch=4, fetch_offset=9, partition_max_bytes=4096
            ),
        ),
        b"\xff\xff\xff\xff"  # replica_id
        b"\x00\x00\x01\xf4"  # max_wait_ms
        b"\x00\x00\x00\x01"  # min_bytes
        b"\x7f\xff\xff\xff"  # max_bytes
        b"\x00"  # isolation_level
        b"\x00\x00\x00\x00"  # session_id
        b"\xff\xff\xff\xff"  # session_epoch: final
        b"\x02\x02t\x02"  # topics: 1, plus one; topic; partitions: 1, plus one
        b"\x00\x00\x00\x02"  # partition
        b"\x00\x00\x00\x04"  # current_leader_epoch
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # fetch_offset
        b"\xff\xff\xff\xff"  # last_fetched_epoch
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # log_start_offset
        b"\x00\x00\x10\x00"  # partition_max_bytes
        b"\x00\x00"  # no tagged fields, of the partition and of the topic
        b"\x01"  # forgotten_topics_data: 0, plus one
        b"\x01"  # rack_id: empty
        b"\x00",  # no tagged fields: cluster_id is null
    ),
    "FetchResponse v4 with records, and without": (
        FetchResponse(
            responses=[
                FetchedTopic(
                    topic="t",
                    partitions=[
                        FetchedPartition(
                            partition_index=2,
                            high_watermark=10,
                            last_stable_offset=9,
                            aborted_transactions=[
                                FetchedPartition.AbortedTransaction(producer_id=7, first_offset=3)
                            ],
                            records=b"batch",
                        ),
                        FetchedPartition(
                            partition_index=3,
                            error_code=1,
                            high_watermark=-1,
                            aborted_transactions=None,
                            records=b"",
                        ),
                    ],
                )
            ]
        ),
        b"\x00\x00\x00\x00"  # throttle_time_ms
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x02"  # responses: 1; topic; partitions: 2
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x00\x00\x00\x00\x0a"  # high_watermark
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # last_stable_offset
        b"\x00\x00\x00\x01"  # aborted_transactions: 1
        b"\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x03"
        b"\x00\x00\x00\x05batch"  # records
        b"\x00\x00\x00\x03"  # partition_index
        b"\x00\x01"  # error_code: OFFSET_OUT_OF_RANGE
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # high_watermark
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # last_stable_offset
        b"\xff\xff\xff\xff"  # aborted_transactions: null
        b"\x00\x00\x00\x00",  # records: empty
    ),
    "FetchResponse v12 with a hint about the leader": (
        FetchResponse(
            session_id=6,
            responses=fetched_topics(
                partition_index=2,
                error_code=6,
                high_watermark=-1,
                current_leader=FetchedPartition.LeaderIdAndEpoch(leader_id=3, leader_epoch=8),
                aborted_transactions=None,
                records=None,
            ),
        ),
        b"\x00\x00\x00\x00"  # throttle_time_ms
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x06"  # session_id
        b"\x02\x02t\x02"  # responses: 1, plus one; topic; partitions: 1, plus one
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x06"  # error_code: NOT_LEADER_OR_FOLLOWER
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # high_watermark
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # last_stable_offset
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # log_start_offset
        b"\x00"  # aborted_transactions: null
        b"\xff\xff\xff\xff"  # preferred_read_replica
        b"\x00"  # records: null
        b"\x01"  # 1 tagged field
        b"\x01\x09"  # tag 1, 9 bytes: current_leader
        b"\x00\x00\x00\x03\x00\x00\x00\x08\x00"  # leader_id, leader_epoch, no tagged fields
        b"\x00\x00",  # no tagged fields, of the topic and of the response
    ),
    "FetchResponse v13 names the topic by its id": (
        FetchResponse(
            responses=[
                FetchedTopic(
                    topic_id=TOPIC_ID,
                    partitions=[
                        FetchedPartition(
                            partition_index=2,
                            high_watermark=10,
                            last_stable_offset=10,
                            log_start_offset=0,
                            aborted_transactions=[],
                            records=b"batch",
                        )
                    ],
                )
            ]
        ),
        b"\x00\x00\x00\x00"  # throttle_time_ms
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x00"  # session_id
        b"\x02" + TOPIC_ID.bytes + b"\x02"  # responses: 1, plus one  # partitions: 1, plus one
        b"\x00\x00\x00\x02"  # partition_index
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x00\x00\x00\x00\x0a"  # high_watermark
        b"\x00\x00\x00\x00\x00\x00\x00\x0a"  # last_stable_offset
        b"\x00\x00\x00\x00\x00\x00\x00\x00"  # log_start_offset
        b"\x01"  # aborted_transactions: 0, plus one
        b"\xff\xff\xff\xff"  # preferred_read_replica
        b"\x06batch"  # records: 5, plus one
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "ProduceRequest v3": (
        ProduceRequest(
            transactional_id=None,
            acks=-1,
            timeout_ms=30_000,
            topic_data=topic_data(index=2, records=b"batch"),
        ),
        b"\xff\xff"  # transactional_id: null
        b"\xff\xff"  # acks: all
        b"\x00\x00\x75\x30"  # timeout_ms
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # topic_data: 1; name; partition_data: 1
        b"\x00\x00\x00\x02"  # index
        b"\x00\x00\x00\x05batch",  # records
    ),
    "ProduceRequest v9 in a transaction": (
        ProduceRequest(
            transactional_id="tx",
            acks=-1,
            timeout_ms=30_000,
            topic_data=topic_data(index=2, records=b"batch"),
        ),
        b"\x03tx"  # transactional_id
        b"\xff\xff"  # acks: all
        b"\x00\x00\x75\x30"  # timeout_ms
        b"\x02\x02t\x02"  # topic_data: 1, plus one; name; partition_data: 1, plus one
        b"\x00\x00\x00\x02"  # index
        b"\x06batch"  # records
        b"\x00\x00\x00",  # no tagged fields, three times
    ),
    "ProduceResponse v3 ends with the throttle time": (
        ProduceResponse(responses=produced_topics(index=2, base_offset=9), throttle_time_ms=1),
        b"\x00\x00\x00\x01\x00\x01t\x00\x00\x00\x01"  # responses: 1; name; partition_responses: 1
        b"\x00\x00\x00\x02"  # index
        b"\x00\x00"  # error_code: none
        b"\x00\x00\x00\x00\x00\x00\x00\x09"  # base_offset
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # log_append_time_ms: the records keep theirs
        b"\x00\x00\x00\x01",  # throttle_time_ms
    ),
    "ProduceResponse v9 with a refused record": (
        ProduceResponse(
            responses=produced_topics(
                index=2,
                error_code=87,
                base_offset=-1,
                record_errors=[
                    ProducedPartition.BatchIndexAndErrorMessage(
                        batch_index=4, batch_index_error_message=None
                    )
                ],
                error_message="no",
            )
        ),
        b"\x02\x02t\x02"  # responses: 1, plus one; name; partition_responses: 1, plus one
        b"\x00\x00\x00\x02"  # index
        b"\x00\x57"  # error_code: INVALID_RECORD
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # base_offset
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # log_append_time_ms
        b"\xff\xff\xff\xff\xff\xff\xff\xff"  # log_start_offset
        b"\x02\x00\x00\x00\x04\x00\x00"  # record_errors: index 4, null, no tagged fields
        b"\x03no"  # error_message
        b"\x00\x00"  # no tagged fields, of the partition and of the topic
        b"\x00\x00\x00\x00"  # throttle_time_ms
        b"\x00",  # no tagged fields
    ),
    "SaslHandshakeRequest v1": (
        SaslHandshakeRequest(mechanism="SCRAM-SHA-512"),
        b"\x00\x0dSCRAM-SHA-512",
    ),
    "SaslHandshakeResponse v1": (
        SaslHandshakeResponse(error_code=33, mechanisms=["PLAIN", "GSSAPI"]),
        b"\x00\x21"  # error_code: UNSUPPORTED_SASL_MECHANISM
        b"\x00\x00\x00\x02"  # mechanisms: 2
        b"\x00\x05PLAIN\x00\x06GSSAPI",
    ),
}

CASES = {
    title: (message, int(title.split()[1].removeprefix("v")), body)
    for title, (message, body) in (GOLDEN | COORDINATORS).items()
}


@pytest.mark.parametrize(("message", "version", "body"), CASES.values(), ids=CASES)
def test_written_and_read(message: Message, version: int, body: bytes) -> None:
    assert encode(message, version).hex(" ") == body.hex(" ")
    assert read_message(type(message), version, memoryview(body)) == message
