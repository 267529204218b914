"""Schemas of AWS Glue's registry by the UUID of a version, or by the name of the schema.

botocore (the extra `msk`) finds credentials, signs, sends and retries; it does its own I/O.

Source: AWS Glue's web API, GetSchemaVersion and ListSchemaVersions.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, get_args

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.cache import MAX_CONFIGURATIONS, cache_of
from kafka_formats.registry.glue_config import PREFIX, GlueConfig
from kafka_formats.registry.schemas import Kind, Metadata, RegisteredSchema, SubjectVersion
from kafka_protocol.auth.mechanism import shown
from kafka_protocol.errors import KafkaConfigError

_MISSING: Final = "AWS Glue needs botocore: pip install 'pyspark-pykafka[msk]'"
_TIMEOUT_S: Final = 10
_ATTEMPTS: Final = 4
_PAGE: Final = 100
# A schema has at most 10,000 versions.
_MAX_PAGES: Final = 100
_KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_ADVICE: Final[Mapping[str, str]] = {
    "AccessDeniedException": (
        "; allow glue:GetSchemaVersion and glue:ListSchemaVersions to this role"
    ),
}


@lru_cache(maxsize=MAX_CONFIGURATIONS)
def _connected(config: GlueConfig) -> Any:
    """Botocore's client; it is made once, as that takes a while."""
    try:
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, NoRegionError
        from botocore.session import Session
    except ImportError as error:
        raise KafkaConfigError(_MISSING) from error
    limits = Config(
        connect_timeout=_TIMEOUT_S,
        read_timeout=_TIMEOUT_S,
        retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
    )
    try:
        return Session().create_client(
            "glue", region_name=config.region, endpoint_url=config.endpoint, config=limits
        )
    except NoRegionError as error:
        raise KafkaConfigError(
            f"AWS Glue needs a region: set {PREFIX}region or AWS_DEFAULT_REGION"
        ) from error
    except (BotoCoreError, ValueError) as error:
        raise KafkaConfigError(f"AWS Glue cannot be used: {error}") from error


class GlueClient:
    """A client of one registry of AWS Glue; a `SchemaSource`. A subject is the name of a schema.

    Each method raises NotFoundError if its schema does not exist, another RegistryError
    if AWS Glue cannot be reached, refuses or returns nonsense, and KafkaConfigError without
    botocore or a region.
    """

    def __init__(self, config: GlueConfig) -> None:
        self._config = config
        self._cache = cache_of(config)

    def schema_of_id(self, schema_id: int) -> RegisteredSchema:
        """Always an error: versions have UUIDs there."""
        raise NotFoundError(
            f"schema id {schema_id}: AWS Glue has no numbers as ids: give the UUID of a version"
        )

    def schema_of_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        """The schema with the UUID of a version, which payloads have in front."""
        return self._cache.by_id(guid, lambda: self._version_of(guid))

    def version(self, subject: str, version: int | Literal["latest"]) -> SubjectVersion:
        """A version of a schema, which may be the newest one."""
        about = f"schema {subject!r}, version {version}"
        number = {"LatestVersion": True} if version == "latest" else {"VersionNumber": version}
        response = self._call(
            about,
            "get_schema_version",
            SchemaId=self._schema_id(subject),
            SchemaVersionNumber=number,
        )
        return SubjectVersion(subject, _number(about, response), _schema(about, response))

    def version_with_metadata(self, subject: str, metadata: Metadata) -> SubjectVersion:  # noqa: ARG002
        """Always an error: the options refuse it before."""
        raise RegistryError(f"schema {subject!r}: AWS Glue finds no version by metadata")

    def subjects(self) -> list[str]:
        """Always an error: the options refuse it before."""
        raise RegistryError("AWS Glue's schemas are not listed: name them in value.subjects")

    def versions(self, subject: str) -> list[int]:
        """The versions of a schema that are available."""
        about = f"versions of the schema {subject!r}"
        given: dict[str, Any] = {"SchemaId": self._schema_id(subject), "MaxResults": _PAGE}
        numbers: list[int] = []
        for _ in range(_MAX_PAGES):
            page = self._call(about, "list_schema_versions", **given)
            listed = [each for each in page.get("Schemas") or [] if each]
            numbers += [
                _number(about, each) for each in listed if each.get("Status") == "AVAILABLE"
            ]
            if not page.get("NextToken"):
                return numbers
            given["NextToken"] = page["NextToken"]
        raise RegistryError(f"{about}: AWS Glue lists more than {_MAX_PAGES * _PAGE}")

    def places(self, schema_id: int | uuid.UUID) -> None:  # noqa: ARG002
        """None: the name of the schema is not asked for."""
        return

    def _version_of(self, guid: uuid.UUID) -> RegisteredSchema:
        about = f"schema version {guid}"
        said = self._call(about, "get_schema_version", SchemaVersionId=str(guid))
        return _schema(about, said)

    def _schema_id(self, subject: str) -> dict[str, str]:
        return {"SchemaName": subject, "RegistryName": self._config.registry_name}

    def _call(self, about: str, operation: str, **given: Any) -> Mapping[str, Any]:
        call = getattr(_connected(self._config), operation)
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            response: Mapping[str, Any] = call(**given)
        except ClientError as error:
            raise _refusal(about, error.response.get("Error", {})) from error
        except (BotoCoreError, RuntimeError) as error:  # the last: credentials expired
            said = shown(str(error))
            raise RegistryError(f"{about}: AWS Glue cannot be reached: {said}") from error
        except (AttributeError, TypeError, ValueError) as error:
            # botocore's parser expects what AWS Glue returns, and a proxy may return other JSON.
            raise RegistryError(f"{about}: AWS Glue returns an invalid response") from error
        return response


def _refusal(about: str, error: Mapping[str, str]) -> RegistryError:
    code = str(error.get("Code"))
    said = shown(str(error.get("Message")))
    if code == "EntityNotFoundException":
        return NotFoundError(f"{about}: AWS Glue does not have it: {said}")
    advice = _ADVICE.get(code, "")
    return RegistryError(f"{about}: AWS Glue refuses it: {shown(code)}: {said}{advice}")


def _schema(about: str, response: Mapping[str, Any]) -> RegisteredSchema:
    kind = next((each for each in _KINDS if each == response.get("DataFormat")), None)
    text = response.get("SchemaDefinition")
    if kind is None or not isinstance(text, str):
        raise RegistryError(f"{about}: AWS Glue returns no schema of {', '.join(_KINDS)}")
    try:
        version_id = uuid.UUID(response.get("SchemaVersionId"))
    except (AttributeError, TypeError, ValueError):
        raise RegistryError(f"{about}: AWS Glue returns no UUID of the version") from None
    return RegisteredSchema(version_id, kind, text)


def _number(about: str, fields: Mapping[str, Any]) -> int:
    number = fields.get("VersionNumber")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise RegistryError(f"{about}: AWS Glue returns no number of the version")
    return number
