"""The requests to a schema registry that its start needs. No retries, no waiting."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from urllib.parse import urlsplit

CONFLUENT_PATH = "/apis/ccompat/v7"
"""The path of the REST API that is the same as in Confluent's Schema Registry."""

_READY_PATH = "/health/ready"
_TIMEOUT_SECONDS = 5.0
# Confluent's default; Apicurio's is NONE.
_COMPATIBILITY = "BACKWARD"


class RegistryApi:
    """A schema registry at an address such as `http://127.0.0.1:40123`.

    Args:
        address: Scheme, host and port.
        ca_file: The certificate authority to trust, PEM; None without TLS.
    """

    def __init__(self, address: str, ca_file: Path | None = None) -> None:
        self.address = address
        self._tls = ssl.create_default_context(cafile=str(ca_file)) if ca_file else None

    @property
    def url(self) -> str:
        """The base URL of Confluent's REST API, the value of `schema.registry.url`."""
        return self.address + CONFLUENT_PATH

    def is_ready(self) -> bool:
        """Whether it responds that it is ready."""
        return self._succeeds("GET", _READY_PATH)

    def set_default_compatibility(self) -> bool:
        """Sets the compatibility of all subjects to Confluent's default; whether that is done."""
        body = json.dumps({"compatibility": _COMPATIBILITY})
        return self._succeeds("PUT", f"{CONFLUENT_PATH}/config", body)

    def _succeeds(self, method: str, path: str, body: str | None = None) -> bool:
        try:
            return self._request(method, path, body) == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False

    def _request(self, method: str, path: str, body: str | None) -> int:
        """Sends a request and returns the status. Not urllib: it may use the user's proxy."""
        at = urlsplit(self.address)
        if self._tls:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                at.netloc, timeout=_TIMEOUT_SECONDS, context=self._tls
            )
        else:
            connection = http.client.HTTPConnection(at.netloc, timeout=_TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()
