"""AlterClientQuotas (key 49): set and remove quotas (KIP-546). KRaft: any broker."""

from kafka_protocol.wire.schema import (
    Request,
    Response,
    Struct,
    boolean,
    field,
    float64,
    int16,
    int32,
    string,
)


class AlterClientQuotasResponse(Response, api_key=49, versions="0-1", flexible="1+"):
    """A result for each entity."""

    throttle_time_ms: int32 = field()

    class EntryData(Struct):
        """An entity, and the changes of its quotas."""

        # CLUSTER_AUTHORIZATION_FAILED: ALTER_CONFIGS on the cluster is lacking.
        # INVALID_REQUEST: no such quota, or no such kind of entity.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")

        class EntityData(Struct):
            """A part of the entity; a null name is the default."""

            entity_type: string = field()
            entity_name: string | None = field(nullable="0+")

        entity: list[EntityData] = field()

    entries: list[EntryData] = field()


class AlterClientQuotasRequest(
    Request, api_key=49, versions="0-1", flexible="1+", response=AlterClientQuotasResponse
):
    """`validate_only` changes nothing."""

    class EntryData(Struct):
        """An entity, and the changes of its quotas."""

        class EntityData(Struct):
            """A part of the entity; a null name is the default."""

            entity_type: string = field()
            entity_name: string | None = field(nullable="0+")

        entity: list[EntityData] = field()

        class OpData(Struct):
            """A quota to set or remove."""

            key: string = field()
            value: float64 = field()
            remove: boolean = field()

        ops: list[OpData] = field()

    entries: list[EntryData] = field()
    validate_only: boolean = field()
