"""ApiVersions (key 18): which versions of which APIs this connection's broker serves.

KIP-35; KIP-511 (client software, ranges in the response to an unsupported version); KIP-584
(features); KIP-1242 (cluster and node that the client means). The first request on a connection,
before authentication. Its response header is always v0, so that a client can read the response to a
version that the broker does not know.
"""

from kafka_protocol.wire.schema import (
    MAX_ELEMENTS,
    Request,
    Response,
    Struct,
    boolean,
    field,
    int16,
    int32,
    int64,
    string,
)


class ApiVersionsResponse(Response, api_key=18, versions="0-5", flexible="3+"):
    """The ranges. v2+: throttled after the response (KIP-219). v4: features from version 0 on."""

    # UNSUPPORTED_VERSION: the broker does not know the request's version. It answers in the v0
    #   layout; since 2.4 `api_keys` then holds the one range of ApiVersions itself.
    # REBOOTSTRAP_REQUIRED: v5+; the broker is not the one that the request names (KIP-1242).
    # INVALID_REQUEST: a client software name or version that KIP-511's pattern refuses.
    error_code: int16 = field()

    class ApiVersion(Struct):
        """One API, both versions included."""

        api_key: int16 = field()
        min_version: int16 = field()
        max_version: int16 = field()

    api_keys: list[ApiVersion] = field(at_most=MAX_ELEMENTS)
    throttle_time_ms: int32 = field(versions="1+", ignorable=True)

    class SupportedFeatureKey(Struct):
        """A feature that the broker could use (KIP-584)."""

        name: string = field(versions="3+")
        min_version: int16 = field(versions="3+")
        max_version: int16 = field(versions="3+")

    supported_features: list[SupportedFeatureKey] = field(
        versions="3+", tag=0, ignorable=True, at_most=MAX_ELEMENTS
    )
    finalized_features_epoch: int64 = field(versions="3+", default=-1, tag=1, ignorable=True)

    class FinalizedFeatureKey(Struct):
        """A feature that the whole cluster has switched on; `transaction.version`, for one."""

        name: string = field(versions="3+")
        max_version_level: int16 = field(versions="3+")
        min_version_level: int16 = field(versions="3+")

    finalized_features: list[FinalizedFeatureKey] = field(
        versions="3+", tag=2, ignorable=True, at_most=MAX_ELEMENTS
    )
    zk_migration_ready: boolean = field(versions="3+", tag=3, ignorable=True)  # KIP-866


class ApiVersionsRequest(
    Request, api_key=18, versions="0-5", flexible="3+", response=ApiVersionsResponse
):
    """Empty below v3."""

    # KIP-511: letters, digits, '-' and '.'; they must begin and end with a letter or digit.
    client_software_name: string = field(versions="3+", ignorable=True)
    client_software_version: string = field(versions="3+", ignorable=True)
    # Checked by the broker only if a cluster id is given. A SASL listener checks them only after
    # authentication.
    cluster_id: string | None = field(versions="5+", nullable="5+", default=None, ignorable=True)
    node_id: int32 = field(versions="5+", default=-1, ignorable=True)
