"""DescribeClientQuotas (key 48): quotas of users, client ids and addresses (KIP-546).

Any broker responds.
"""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    float64,
    int8,
    int16,
    int32,
    string,
)


class DescribeClientQuotasResponse(Response, api_key=48, versions="0-1", flexible="1+"):
    """The quotas that matched; null entries after an error."""

    throttle_time_ms: int32 = field()
    # CLUSTER_AUTHORIZATION_FAILED: DESCRIBE_CONFIGS on the cluster is lacking.
    # INVALID_REQUEST: no such kind of entity.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+")

    class EntryData(Struct):
        """An entity and its quotas."""

        class EntityData(Struct):
            """A part of the entity; a null name is the default."""

            entity_type: string = field()
            entity_name: string | None = field(nullable="0+")

        entity: list[EntityData] = field()

        class ValueData(Struct):
            """A quota, for example consumer_byte_rate."""

            key: string = field()
            value: float64 = field()

        values: list[ValueData] = field()

    entries: list[EntryData] | None = field(nullable="0+")


class DescribeClientQuotasRequest(
    Request, api_key=48, versions="0-1", flexible="1+", response=DescribeClientQuotasResponse
):
    """`strict` leaves out entities with other parts."""

    class ComponentData(Struct):
        """0 matches the name, 1 the default, 2 anything."""

        entity_type: string = field()
        match_type: int8 = field()
        match: string | None = field(nullable="0+")

    components: list[ComponentData] = field()
    strict: boolean = field()
