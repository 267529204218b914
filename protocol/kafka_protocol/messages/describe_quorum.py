"""DescribeQuorum (key 55): voters and observers of KRaft's own log (KIP-595, KIP-836).

Brokers forward it to the leader of the quorum.
"""

from kafka_protocol.wire.schema import (
    MAX_ELEMENTS,
    Request,
    Response,
    Struct,
    field,
    int16,
    int32,
    int64,
    string,
    uint16,
    uuid,
)


class ReplicaState(Struct):
    """How far a replica is; times in ms since 1970."""

    replica_id: int32 = field()
    replica_directory_id: uuid = field(versions="2+")
    log_end_offset: int64 = field()
    last_fetch_timestamp: int64 = field(versions="1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int64 = field(versions="1+", default=-1, ignorable=True)


class DescribeQuorumResponse(Response, api_key=55, versions="0-2", flexible="0+"):
    """v2+: the addresses of the voters (KIP-853)."""

    # CLUSTER_AUTHORIZATION_FAILED: DESCRIBE on the cluster is lacking.
    # NOT_LEADER_OR_FOLLOWER: send it to the leader.
    # INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION: no such log.
    error_code: int16 = field()
    error_message: string | None = field(versions="2+", nullable="2+", ignorable=True)

    class TopicData(Struct):
        """The partitions of one topic."""

        topic_name: string = field()

        class PartitionData(Struct):
            """A partition. The only one is partition 0 of __cluster_metadata."""

            partition_index: int32 = field()
            # CLUSTER_AUTHORIZATION_FAILED: DESCRIBE on the cluster is lacking.
            # NOT_LEADER_OR_FOLLOWER: send it to the leader.
            # INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION: no such log.
            error_code: int16 = field()
            error_message: string | None = field(versions="2+", nullable="2+", ignorable=True)
            leader_id: int32 = field()
            leader_epoch: int32 = field()
            high_watermark: int64 = field()
            current_voters: list[ReplicaState] = field()
            observers: list[ReplicaState] = field()

        partitions: list[PartitionData] = field()

    topics: list[TopicData] = field()

    class Node(Struct):
        """A voter."""

        node_id: int32 = field(versions="2+")

        class Listener(Struct):
            """Where a voter listens."""

            name: string = field(versions="2+")
            host: string = field(versions="2+")
            port: uint16 = field(versions="2+")

        listeners: list[Listener] = field(versions="2+")

    nodes: list[Node] = field(versions="2+", at_most=MAX_ELEMENTS)


class DescribeQuorumRequest(
    Request, api_key=55, versions="0-2", flexible="0+", response=DescribeQuorumResponse
):
    """Topic __cluster_metadata, partition 0."""

    class TopicData(Struct):
        """The partitions of one topic."""

        topic_name: string = field()

        class PartitionData(Struct):
            """A partition. The only one is partition 0 of __cluster_metadata."""

            partition_index: int32 = field()

        partitions: list[PartitionData] = field()

    topics: list[TopicData] = field()
