"""UpdateFeatures (key 57): finalize feature levels, metadata.version for one (KIP-584).

KRaft: any broker, which forwards.
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
    string,
)


class UpdateFeaturesResponse(Response, api_key=57, versions="0-2", flexible="0+"):
    """v2+: without results, since either all features change, or no feature."""

    throttle_time_ms: int32 = field()
    # NOT_CONTROLLER: send it to the controller.
    # CLUSTER_AUTHORIZATION_FAILED: ALTER on the cluster is lacking.
    # INVALID_UPDATE_VERSION: a node of the cluster lacks the level, or a downgrade is not allowed.
    # FEATURE_UPDATE_FAILED: ZooKeeper; the change could not be kept.
    error_code: int16 = field()
    error_message: string | None = field(nullable="0+")

    class UpdatableFeatureResult(Struct):
        """The outcome for one feature."""

        feature: string = field()
        # INVALID_UPDATE_VERSION, FEATURE_UPDATE_FAILED: as above, of this feature.
        error_code: int16 = field()
        error_message: string | None = field(nullable="0+")

    results: list[UpdatableFeatureResult] = field(versions="0-1", ignorable=True)


class UpdateFeaturesRequest(
    Request, api_key=57, versions="0-2", flexible="0+", response=UpdateFeaturesResponse
):
    """v1+: `upgrade_type` is 1 to go up, 2 to go down safely, 3 to go down anyhow (KIP-778)."""

    timeout_ms: int32 = field(default=60000)

    class FeatureUpdateKey(Struct):
        """A feature and its new level; 0 removes it."""

        feature: string = field()
        max_version_level: int16 = field()
        allow_downgrade: boolean = field(versions="0")
        upgrade_type: int8 = field(versions="1+", default=1)

    feature_updates: list[FeatureUpdateKey] = field()
    validate_only: boolean = field(versions="1+")
