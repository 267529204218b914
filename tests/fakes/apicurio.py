"""Apicurio Registry in this process: its own API beside the one that is as Confluent's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tests.fakes.registry import Received, Reply, subjects

_OF_ID = re.compile(r"/apis/registry/v[23]/ids/(globalIds|contentIds)/(\d+)(/references)?")
_CONFLUENT = "/apis/ccompat/v7"
NOT_FOUND = Reply(404, {"error_code": 404, "message": "No artifact", "name": "NotFound"})
SYSTEM = Reply(values={"name": "apicurio-registry", "version": "2.6.13.Final"})


def apicurio(
    artifact: str, texts: Sequence[str], kind: str = "AVRO"
) -> Callable[[Received], Reply]:
    """The responses of a registry with the versions of one artifact, with the ids from 1 on.

    The other API has other ids for them.
    """
    versions = [
        {"id": 1_000 + number, "schema": text, "schemaType": kind}
        for number, text in enumerate(texts)
    ]
    by_subject = subjects(**{artifact: versions})

    def respond(request: Received) -> Reply:
        if request.path.startswith(_CONFLUENT):
            return by_subject(request._replace(path=request.path.removeprefix(_CONFLUENT)))
        if request.path.endswith("/system/info"):
            return SYSTEM
        match = _OF_ID.fullmatch(request.path)
        if match is None or not 0 < int(match[2]) <= len(texts):
            return NOT_FOUND
        return Reply(values=[]) if match[3] else Reply(body=texts[int(match[2]) - 1].encode())

    return respond
