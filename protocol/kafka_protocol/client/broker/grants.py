"""What a client shows to a token endpoint: its credentials, or an assertion. Reads files."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote_plus

from kafka_protocol.auth.assertion import Claims, signed, template_of
from kafka_protocol.auth.mechanism import utf8
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.clock import now_ms
from kafka_protocol.client.config.assertion_options import AssertionOptions
from kafka_protocol.client.config.option import options_of
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import KafkaConfigError

_BY_ASSERTION: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_MAX_FILE_BYTES: Final = 1024 * 1024


class Shown(NamedTuple):
    """The parts of a request that a grant decides.

    Attributes:
        form: Its fields.
        headers: Its headers.
        hidden: Texts that no error may have.
    """

    form: Mapping[str, str]
    headers: Mapping[str, str]
    hidden: tuple[str, ...]


class Grant(Protocol):
    """How a client gets a token. Equal ones get the same."""

    @property
    def endpoint_url(self) -> str:
        """An http or https URL without a user."""

    @property
    def tls(self) -> SecurityOptions:
        """The options of TLS for the endpoint."""

    def show(self) -> Shown:
        """What the next request shows.

        Raises:
            KafkaConfigError: A file or a library that is needed cannot be used.
        """


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """An id and a secret (RFC 6749, section 4.4).

    Attributes:
        endpoint_url: An http or https URL without a user.
        client_id: The client's id.
        client_secret: The client's secret.
        scope: The scope to request; None to request a token without one.
        tls: The options of TLS for the endpoint.
        urlencode: Whether id and secret are URL-encoded in the request's header.
    """

    endpoint_url: str
    client_id: str
    client_secret: Secret
    scope: str | None
    tls: SecurityOptions
    urlencode: bool = False

    def show(self) -> Shown:
        """The credentials in a header."""
        secret = self.client_secret.reveal()
        user = [self.client_id, secret]
        if self.urlencode:
            user = [quote_plus(part) for part in user]
        basic = base64.b64encode(utf8(":".join(user), "the client's credentials")).decode()
        form = {"grant_type": "client_credentials"} | _scope(self.scope)
        hidden = secret, quote_plus(secret), basic
        return Shown(form, {"Authorization": f"Basic {basic}"}, hidden)


@dataclass(frozen=True, slots=True)
class ByAssertion:
    """A signed claim (RFC 7523; KIP-1139), made or read for each request.

    Attributes:
        endpoint_url: An http or https URL without a user.
        scope: The scope to request; None to request a token without one.
        tls: The options of TLS for the endpoint.
        options: The assertion.
    """

    endpoint_url: str
    scope: str | None
    tls: SecurityOptions
    options: AssertionOptions = field(default_factory=AssertionOptions)

    def show(self) -> Shown:
        """The assertion in the form, as Java's client sends it."""
        assertion = _assertion(self.options).reveal()
        form = {"grant_type": _BY_ASSERTION, "assertion": assertion} | _scope(self.scope)
        return Shown(form, {}, (assertion, quote_plus(assertion)))


def _scope(scope: str | None) -> dict[str, str]:
    return {} if scope is None else {"scope": scope}


def _assertion(options: AssertionOptions) -> Secret:
    if options.assertion_file is not None:
        text = _read(options, "assertion_file").decode("ascii", "replace").strip()
        if not text or not text.isascii() or not text.isprintable():
            raise _unusable("assertion_file", "its text must be an assertion, in printable ASCII")
        return Secret(text)
    header: dict[str, Any] = {}
    payload: dict[str, Any] = {}
    if options.assertion_template_file is not None:
        try:
            text = _read(options, "assertion_template_file").decode()
            header, payload = template_of(text)
        except ValueError as error:
            reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise _unusable("assertion_template_file", reason) from None
    named = {
        "aud": options.assertion_audience,
        "iss": options.assertion_issuer,
        "sub": options.assertion_subject,
    }
    claims = Claims(
        header,
        payload,
        {name: value for name, value in named.items() if value is not None},
        options.assertion_lasts_s,
        options.assertion_before_s,
        options.assertion_has_id,
    )
    return signed(
        claims,
        int(now_ms() / 1000),
        _read(options, "assertion_key_file"),
        options.assertion_key_passphrase,
        options.assertion_algorithm,
    )


def _read(options: AssertionOptions, name: str) -> bytes:
    try:
        with Path(getattr(options, name)).open("rb") as file:
            content = file.read(_MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise _unusable(name, reason or type(error).__name__) from None
    if len(content) > _MAX_FILE_BYTES:
        raise _unusable(name, "it is longer than 1 MiB")
    return content


def _unusable(name: str, reason: str) -> KafkaConfigError:
    option = options_of(AssertionOptions)[name].name
    return KafkaConfigError(f"The file of option 'kafka.{option}' cannot be used: {reason}")
