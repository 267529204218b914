"""DescribeCluster (key 60): brokers and controller of a cluster (KIP-700). Any broker responds."""

from kafka_protocol.wire.schema import (
    MAX_ELEMENTS,
    Request,
    Response,
    Struct,
    boolean,
    field,
    int8,
    int16,
    int32,
    string,
)


class DescribeClusterResponse(Response, api_key=60, versions="0-2", flexible="0+"):
    """v1+: of brokers or of controllers (KIP-919)."""

    throttle_time_ms: int32 = field()
    # UNSUPPORTED_ENDPOINT_TYPE, MISMATCHED_ENDPOINT_TYPE: v1+; a broker was asked for controllers.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+", default=None)
    endpoint_type: int8 = field(versions="1+", default=1)
    cluster_id: string = field()
    controller_id: int32 = field(default=-1)

    class DescribeClusterBroker(Struct):
        """A node, with the listener of this connection."""

        broker_id: int32 = field()
        host: string = field()
        port: int32 = field()
        rack: string | None = field(nullable="0+", default=None)
        is_fenced: boolean = field(versions="2+")

    brokers: list[DescribeClusterBroker] = field(at_most=MAX_ELEMENTS)
    cluster_authorized_operations: int32 = field(default=-2147483648)


class DescribeClusterRequest(
    Request, api_key=60, versions="0-2", flexible="0+", response=DescribeClusterResponse
):
    """v2+: fenced brokers as well (KIP-1073)."""

    include_cluster_authorized_operations: boolean = field()
    endpoint_type: int8 = field(versions="1+", default=1)
    include_fenced_brokers: boolean = field(versions="2+")
