"""Requests to a registry: credentials, fail-over, retries, and what its responses mean.

Source: Confluent's "Schema Registry API"; error codes are compared, not messages, because other
registries have other ones.
"""

from __future__ import annotations

import base64
import json
import random
from typing import Any, Final, NamedTuple
from urllib.parse import urljoin, urlsplit

from kafka_formats.errors import NotFoundError, RegistryError
from kafka_formats.registry.config import PREFIX, RegistryConfig
from kafka_protocol.auth.mechanism import shown
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker.oauth import forget_token, token_for
from kafka_protocol.client.clock import Deadline, sleep_ms
from kafka_protocol.client.network.http_request import HttpRequest, HttpResponse, send
from kafka_protocol.errors import KafkaError

_MAX_BODY_BYTES: Final = 16 * 1024 * 1024
_MAX_REDIRECTS: Final = 3
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_JITTER: Final = 0.2

_REDIRECTS: Final = frozenset({301, 302, 307, 308})
_RETRIABLE: Final = frozenset({408, 429, 500, 502, 503, 504})
# Subject, version and schema.
_NOT_FOUND: Final = frozenset({40401, 40402, 40403})
_ADVICE: Final = {
    401: "check schema.registry.basic.auth.user.info or schema.registry.bearer.auth.*",
    403: "the user may not do this: ask the registry's administrator",
    404: "check the path in schema.registry.url",
    409: "the schema is not compatible with the versions of the subject",
    422: "the registry takes the schema for invalid",
}


class Call(NamedTuple):
    """A request to a registry.

    Attributes:
        method: Such as GET.
        path: After the registry's address, with its query.
        what: What is requested, for errors, such as "schema id 7".
        body: An object for JSON; None for no body.
    """

    method: str
    path: str
    what: str
    body: dict[str, Any] | None = None


def call(config: RegistryConfig, wanted: Call) -> Any:
    """Send a request, to one address after the other, until there is a response; returns its JSON.

    Raises:
        NotFoundError: There is no such subject, version or schema.
        RegistryError: The registry refuses, or cannot be reached with all retries. Names what was
            requested, the address and the status.
    """
    for retries in range(config.max_retries + 1):
        for url in config.urls:
            try:
                return _called(config, url, wanted)
            except RegistryError as error:
                if not error.retriable:
                    raise
                failure = error
        if retries < config.max_retries:
            sleep_ms(_backoff_ms(config, retries))
    raise RegistryError(f"{failure} (after {config.max_retries} retries)", retriable=True)


def _backoff_ms(config: RegistryConfig, retries: int) -> float:
    backoff_ms = min(config.retry_backoff_max_ms, config.retry_backoff_ms * 2.0**retries)
    return backoff_ms * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - no secret in it


def _called(config: RegistryConfig, url: str, wanted: Call) -> Any:
    response = _exchange(config, url, wanted)
    if response.status == 401 and config.token_endpoint is not None:
        # The token may have been revoked.
        forget_token(config.token_endpoint)
        response = _exchange(config, url, wanted)
    values = _json_in(response.body)
    if response.status == 200 and values is not None:
        return values
    raise _error(config, url, wanted, response, values)


def _exchange(config: RegistryConfig, url: str, wanted: Call) -> HttpResponse:
    target = url + wanted.path
    deadline = Deadline.after(config.timeout_ms)
    try:
        for _ in range(_MAX_REDIRECTS + 1):
            request = _request(config, target, wanted, deadline)
            response = send(request, config.security, deadline, _MAX_BODY_BYTES)
            if response.status not in _REDIRECTS:
                return response
            target = _redirected(target, response.location, wanted)
    except RegistryError:
        raise
    except KafkaError as error:
        reason = str(error).replace("kafka.ssl.", f"{PREFIX}ssl.")
        text = f"The schema registry at {url} cannot be asked for {wanted.what}: {reason}"
        raise RegistryError(text, retriable=error.retriable) from error
    raise RegistryError(f"The schema registry at {url} redirects {wanted.what} again and again")


def _redirected(target: str, location: str, wanted: Call) -> str:
    """Where a redirect leads, on the same server: the request has credentials."""
    here = urlsplit(target)
    try:
        found = urljoin(target, location)
        there = urlsplit(found)
    except ValueError:
        found, there = "", urlsplit("")
    if (here.scheme, here.netloc) != (there.scheme, there.netloc):
        raise RegistryError(
            f"The schema registry at {here.scheme}://{here.netloc} redirects {wanted.what} to "
            f"another server, {shown(there.hostname or '')!r}, which is not followed: set "
            "schema.registry.url to the address of the registry itself"
        )
    return found


def _request(config: RegistryConfig, target: str, wanted: Call, deadline: Deadline) -> HttpRequest:
    headers = {"Accept": f"{_CONTENT_TYPE}, application/json"}
    if wanted.body is not None:
        headers["Content-Type"] = _CONTENT_TYPE
    if authorization := _authorization(config, deadline):
        headers["Authorization"] = authorization
    if config.logical_cluster is not None:
        headers["target-sr-cluster"] = config.logical_cluster
    if config.identity_pool_id is not None:
        headers["Confluent-Identity-Pool-Id"] = config.identity_pool_id
    body = b"" if wanted.body is None else json.dumps(wanted.body).encode()
    return HttpRequest(wanted.method, target, headers, body)


def _authorization(config: RegistryConfig, deadline: Deadline) -> str | None:
    if config.basic_auth is not None:
        return "Basic " + base64.b64encode(config.basic_auth.reveal().encode()).decode()
    token = config.token
    if token is None and config.token_endpoint is not None:
        token = token_for(config.token_endpoint, deadline)
    return None if token is None else f"Bearer {token.reveal()}"


def _json_in(body: bytes) -> Any:
    """The JSON of a body; None if it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error(
    config: RegistryConfig, url: str, wanted: Call, response: HttpResponse, values: Any
) -> RegistryError:
    known: dict[str, Any] = values if isinstance(values, dict) else {}
    code, message = known.get("error_code"), known.get("message")
    where = f"The schema registry at {url}"
    if code in _NOT_FOUND or (response.status == 404 and isinstance(code, int)):
        return NotFoundError(f"{where} does not have {wanted.what} (error {code})")
    if values is None:
        kind = shown(response.content_type) or "none"
        begin = shown(_hidden(config, response.body[:100].decode("utf-8", "replace")))
        detail = f"with a body that is no JSON (content type {kind}): {begin!r}"
    else:
        text = message if isinstance(message, str) else ""
        detail = ": ".join(
            filter(None, [f"error {code}" if code else "", shown(_hidden(config, text))])
        )
    advice = _ADVICE.get(response.status)
    return RegistryError(
        f"{where} responded to the request for {wanted.what} with status {response.status}"
        f"{f', {detail}' if detail else ''}{f': {advice}' if advice else ''}",
        retriable=response.status in _RETRIABLE,
    )


def _hidden(config: RegistryConfig, text: str) -> str:
    """A server's text without secrets that it repeats."""
    secrets = [config.token, config.client_secret, config.basic_auth, _password(config.basic_auth)]
    for secret in secrets:
        if secret is not None and secret.reveal():
            text = text.replace(secret.reveal(), "***")
    return text


def _password(user_info: Secret | None) -> Secret | None:
    return None if user_info is None else Secret(user_info.reveal().partition(":")[2])
