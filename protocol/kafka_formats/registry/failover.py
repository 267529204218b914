"""Sends requests to a registry: fail-over between its URLs, retries, redirects.

All requests may be sent again: to register a schema that is registered already returns its id.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from kafka_formats.errors import RegistryError
from kafka_formats.registry.cache import MAX_CONFIGURATIONS
from kafka_formats.registry.config import PREFIX, RegistryConfig
from kafka_formats.registry.credentials import Credentials
from kafka_formats.registry.refusals import Reply, refusal, unusable
from kafka_formats.registry.responses import Parse, parse_json
from kafka_formats.registry.url_parts import redirect_target, without_query
from kafka_protocol.auth.mechanism import shown
from kafka_protocol.client.clock import Deadline, backoff_after, sleep_ms
from kafka_protocol.client.network.http_connections import HttpConnections
from kafka_protocol.client.network.http_request import (
    HttpRequest,
    HttpResponse,
    ResponseTooLongError,
)
from kafka_protocol.errors import AuthenticationError, KafkaConfigError, KafkaError, TlsError

T = TypeVar("T")

_MAX_BODY_BYTES: Final = 16 * 1024 * 1024
_MAX_REDIRECTS: Final = 3
# Confluent's reasons for an incompatibility have a few hundred.
_MAX_SHOWN: Final = 1_000
_REDIRECTS: Final = frozenset({301, 302, 307, 308})
# No retry changes them. A lost connection, silence and anything that is not HTTP may pass.
_FINAL: Final = (AuthenticationError, TlsError, ResponseTooLongError)
_ACCEPT: Final = (
    "application/vnd.schemaregistry.v1+json, application/vnd.schemaregistry+json, application/json"
)
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"


@lru_cache(maxsize=MAX_CONFIGURATIONS)
def connections_of(_config: RegistryConfig) -> HttpConnections:
    """The connections of this process to the registry with a configuration."""
    return HttpConnections()


class Call(NamedTuple):
    """A request that goes to the URLs of a registry, one after the other, until one responds.

    Attributes:
        about: The subject or id, for errors.
        path: The path to append to the registry's URL, with its query.
        body: The JSON to POST; None for a GET.
        accept: The types that the response may have.
    """

    about: str
    path: str
    body: Any = None
    accept: str = _ACCEPT


class Exchange:
    """The conversation with one registry. Belongs to one thread."""

    def __init__(self, config: RegistryConfig) -> None:
        self._config = config
        self._credentials = Credentials(config)
        self._urls = config.urls  # the last one that responded is the first

    def response_to(self, call: Call, read: Parse[T]) -> T:
        """Send a request until a URL responds, and read the JSON of the response.

        Args:
            call: The request.
            read: Makes the result from the JSON; raises ValueError if it cannot.

        Raises:
            NotFoundError: The subject, version or schema does not exist.
            RegistryError: No URL responded, or the response is a refusal or nonsense.
            KafkaConfigError: A file that TLS needs cannot be used.
        """
        return self.content_of(call, lambda response: read(parse_json(response.body)))

    def content_of(self, call: Call, read: Callable[[HttpResponse], T]) -> T:
        """As `response_to`, of a response that need not be JSON."""
        reply = self._reply_to(call)
        if reply.response.status != 200:
            raise refusal(call.about, reply, self._credentials.hide)
        try:
            return read(reply.response)
        except ValueError as error:
            raise unusable(call.about, reply, str(error), self._credentials.hide) from None

    def cleaned(self, text: str) -> str:
        """A text of the registry to show: printable, short and without secrets."""
        return shown(self._credentials.hide(text), _MAX_SHOWN)

    def _reply_to(self, call: Call) -> Reply:
        config, failures = self._config, 0
        deadline = Deadline.after(_patience_ms(config))
        while True:
            reply, reasons = self._try_each_url(call)
            if reply is not None:
                return reply
            pause_ms = backoff_after(failures, config.retries_wait_ms, config.retries_max_wait_ms)
            failures += 1
            if failures > config.max_retries or deadline.remaining_ms < pause_ms:
                raise RegistryError(
                    f"{call.about}: no usable response of the registry (tries: {failures}): "
                    f"{'; '.join(reasons)}. Check {PREFIX}url and that the registry is up"
                )
            sleep_ms(pause_ms)

    def _try_each_url(self, call: Call) -> tuple[Reply | None, list[str]]:
        """The first response that is not a retriable error, or the reason for each URL."""
        reasons = []
        for base in self._urls:
            deadline = Deadline.after(self._config.request_timeout_ms)
            try:
                reply = self._follow(call, base + call.path, deadline)
            except (RegistryError, KafkaConfigError):
                raise
            except KafkaError as error:
                reason = f"{base}: {self._credentials.hide(str(error))}"
                if isinstance(error, _FINAL):
                    raise RegistryError(f"{call.about}: {reason}") from error
                reasons.append(reason)
                continue
            if not reply.is_retriable:
                self._urls = (base, *(url for url in self._urls if url != base))
                return reply, []
            reasons.append(reply.described(self._credentials.hide))
        return None, reasons

    def _follow(self, call: Call, url: str, deadline: Deadline) -> Reply:
        """The response, after redirects to the same server."""
        for _ in range(_MAX_REDIRECTS + 1):
            response = self._authenticated(call, url, deadline)
            if response.status not in _REDIRECTS:
                return Reply(url, response)
            url = self._redirected(call, Reply(url, response))
        raise RegistryError(
            f"{call.about}: more than {_MAX_REDIRECTS} redirects, the last one to "
            f"{without_query(url, '')}; check {PREFIX}url"
        )

    def _authenticated(self, call: Call, url: str, deadline: Deadline) -> HttpResponse:
        response = self._send(call, url, deadline)
        if response.status == 401 and self._credentials.renew():
            return self._send(call, url, deadline)
        return response

    def _send(self, call: Call, url: str, deadline: Deadline) -> HttpResponse:
        headers = {"Accept": call.accept, **self._credentials.headers(deadline)}
        if call.body is None:
            request = HttpRequest("GET", url, headers)
        else:
            body = json.dumps(call.body).encode()
            request = HttpRequest("POST", url, headers | {"Content-Type": _CONTENT_TYPE}, body)
        connections = connections_of(self._config)
        return connections.send(request, self._config.tls, deadline, _MAX_BODY_BYTES)

    def _redirected(self, call: Call, reply: Reply) -> str:
        location = reply.response.location
        try:
            target = redirect_target(reply.url, location) if location else None
            place = without_query(reply.url, location) if location else "nowhere"
        except ValueError:
            target, place = None, location.partition("?")[0]
        if target is None:
            raise RegistryError(
                f"{call.about}: {reply.place} redirects to "
                f"{shown(self._credentials.hide(place))}, and credentials are not sent to another "
                f"server; if that is the registry, set {PREFIX}url to it"
            )
        return target


def _patience_ms(config: RegistryConfig) -> float:
    """How long to try with retries: as long as one URL may take. Several do not prolong it."""
    pauses = (config.retries_wait_ms * 2.0 ** min(i, 30) for i in range(config.max_retries))
    waits_ms = sum(min(config.retries_max_wait_ms, pause) for pause in pauses)
    return (config.max_retries + 1) * config.request_timeout_ms + 1.2 * waits_ms
