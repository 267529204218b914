"""UpdateMetadata (key 6): the controller sends the content of Metadata responses to a broker.

Between brokers only, with ZooKeeper; Kafka 4.0 dropped it.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    int8,
    int16,
    int32,
    int64,
    string,
    uuid,
)


class UpdateMetadataResponse(Response, api_key=6, versions="0-8", flexible="6+"):
    """The outcome."""

    # STALE_CONTROLLER_EPOCH, STALE_BROKER_EPOCH: one side was replaced meanwhile.
    error_code: int16 = field()


class UpdateMetadataPartitionState(Struct):
    """The leader and the replicas of a partition."""

    topic_name: string = field(versions="0-4", ignorable=True)
    partition_index: int32 = field()
    controller_epoch: int32 = field()
    leader: int32 = field()
    leader_epoch: int32 = field()
    isr: list[int32] = field()
    zk_version: int32 = field()
    replicas: list[int32] = field()
    offline_replicas: list[int32] = field(versions="4+", ignorable=True)


class UpdateMetadataRequest(
    Request, api_key=6, versions="0-8", flexible="6+", response=UpdateMetadataResponse
):
    """v1+: an endpoint for each security protocol. v2+: racks (KIP-36).

    v3+: named listeners (KIP-103). v5+: broker epochs (KIP-380). v7+: topic ids (KIP-516). v8+:
    controllers of KRaft (KIP-866).
    """

    controller_id: int32 = field()
    is_kraft_controller: boolean = field(versions="8+")
    type: int8 = field(versions="8+", tag=0)
    controller_epoch: int32 = field()
    broker_epoch: int64 = field(versions="5+", default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field(versions="0-4")

    class UpdateMetadataTopicState(Struct):
        """The partitions of one topic."""

        topic_name: string = field(versions="5+")
        topic_id: uuid = field(versions="7+", ignorable=True)
        partition_states: list[UpdateMetadataPartitionState] = field(versions="5+")

    topic_states: list[UpdateMetadataTopicState] = field(versions="5+")

    class UpdateMetadataBroker(Struct):
        """A live broker."""

        id: int32 = field()
        v0_host: string = field(versions="0", ignorable=True)
        v0_port: int32 = field(versions="0", ignorable=True)

        class UpdateMetadataEndpoint(Struct):
            """Where a broker listens."""

            port: int32 = field(versions="1+")
            host: string = field(versions="1+")
            listener: string = field(versions="3+", ignorable=True)
            security_protocol: int16 = field(versions="1+")

        endpoints: list[UpdateMetadataEndpoint] = field(versions="1+", ignorable=True)
        rack: string | None = field(versions="2+", nullable="0+", ignorable=True)

    live_brokers: list[UpdateMetadataBroker] = field()
