"""AWS Glue in this process: the responses of a registry of schemas.

They have the shapes of AWS Glue's web API; the real one is not reached by tests.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.fakes.registry import Received, Reply

TARGET: Final = "X-Amz-Target"


def version_id(schema: str, number: int) -> uuid.UUID:
    """The id of a version here."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{schema}/{number}")


def glue(
    schemas: Mapping[str, list[str]],
    registry: str = "default-registry",
    kind: str = "AVRO",
    page: int = 100,
) -> Callable[[Received], Reply]:
    """The responses of a registry with these schemas, by name: the texts of their versions.

    A version without a text failed. `page` is how many versions a page lists.
    """

    def versions_of(given: dict[str, Any]) -> tuple[str, list[str]]:
        name = given["SchemaName"]
        is_here = given["RegistryName"] == registry
        return name, schemas.get(name, []) if is_here else []

    def get_version(body: dict[str, Any]) -> Reply:
        listed = [
            (name, number, text)
            for name, texts in schemas.items()
            for number, text in enumerate(texts, 1)
        ]
        if "SchemaVersionId" in body:
            wanted = [e for e in listed if str(version_id(*e[:2])) == body["SchemaVersionId"]]
        else:
            name, texts = versions_of(body["SchemaId"])
            asked = body["SchemaVersionNumber"]
            number = len(texts) if asked.get("LatestVersion") else asked["VersionNumber"]
            wanted = [each for each in listed if texts and each[:2] == (name, number)]
        if not wanted:
            return error("EntityNotFoundException", "Schema version is not found.")
        name, number, text = wanted[0]
        return Reply(
            values={
                "SchemaVersionId": str(version_id(name, number)),
                "SchemaDefinition": text,
                "DataFormat": kind,
                "VersionNumber": number,
                "Status": "AVAILABLE",
            }
        )

    def list_versions(body: dict[str, Any]) -> Reply:
        _, texts = versions_of(body["SchemaId"])
        if not texts:
            return error("EntityNotFoundException", "Schema is not found.")
        start = int(body.get("NextToken", 0))
        listed = [
            {"VersionNumber": number, "Status": "AVAILABLE" if text else "FAILURE"}
            for number, text in enumerate(texts, 1)
        ]
        more = {"NextToken": str(start + page)} if start + page < len(texts) else {}
        return Reply(values={"Schemas": listed[start : start + page], **more})

    operations = {"GetSchemaVersion": get_version, "ListSchemaVersions": list_versions}

    def respond(request: Received) -> Reply:
        service, _, operation = request.headers[TARGET].partition(".")
        assert service == "AWSGlue"
        assert request.headers["Authorization"].startswith("AWS4-HMAC-SHA256 ")
        return operations[operation](request.body)

    return respond


def error(code: str, message: str, status: int = 400) -> Reply:
    """A refusal."""
    return Reply(status, {"__type": code, "Message": message})
