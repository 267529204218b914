"""Whom a client signs in as, and when the proof of it ends. Shows no secret."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from typing import Final

from kafka_protocol.auth.mechanism import shown
from kafka_protocol.client.broker.oauth import claims_in, token_for
from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.errors import KafkaError
from kafka_spark_source.diagnosis.findings import Finding, Result

_STEP: Final = "identity"
# Claims with a client's name: of RFC 7519, Microsoft Entra ID and Google.
_NAMES: Final = ("sub", "client_id", "azp", "appid", "email")
_MINUTE_MS: Final = 60_000
# A token that ends so soon leaves little time for another one.
_SOON_MINUTES: Final = 2


def identity(config: ClientConfig) -> Iterator[Finding]:
    """A finding if the client signs in by SASL: its name, and the end of its token."""
    security = config.security
    if not security.uses_sasl or security.mechanism is None:
        return
    if security.mechanism == "OAUTHBEARER":
        yield _of_token(config)
        return
    yield Finding(_STEP, security.mechanism, Result.GOOD, _NAMED[security.mechanism](security))


def _of_token(config: ClientConfig) -> Finding:
    host = config.bootstrap_servers[0].host
    deadline = Deadline.after(config.connection_setup_timeout_ms)
    try:
        claims = claims_in(token_for(config.security, host, deadline).reveal())
    except KafkaError as error:
        return Finding(_STEP, "OAUTHBEARER", Result.BAD, str(error))
    name = next((str(claims[each]) for each in _NAMES if claims.get(each)), None)
    who = "a token without a name" if name is None else f"a token of {shown(name)!r}"
    end_s = claims.get("exp")
    if not isinstance(end_s, int | float) or isinstance(end_s, bool) or not 0 < end_s < _LAST_S:
        return Finding(_STEP, "OAUTHBEARER", Result.GOOD, f"{who}, without a known end")
    minutes = int((end_s * 1000 - now_ms()) // _MINUTE_MS)
    end = datetime.fromtimestamp(end_s, timezone.utc)
    detail = f"{who}, until {end:%Y-%m-%d %H:%M} UTC ({minutes} minutes)"
    result = Result.GOOD if minutes >= _SOON_MINUTES else Result.COSTLY
    return Finding(_STEP, "OAUTHBEARER", result, detail)


# The last second that a date can show.
_LAST_S: Final = 253_402_300_799


def _user(security: SecurityOptions) -> str:
    return f"the user {shown(security.username or '')!r}"


def _of_aws(security: SecurityOptions) -> str:
    if security.aws_role_arn is not None:
        return f"the role {shown(security.aws_role_arn)!r}"
    return f"the profile {shown(security.aws_profile or 'of the default chain')!r}"


def _principal(security: SecurityOptions) -> str:
    return f"the principal {shown(security.kerberos_principal or 'of the ticket cache')!r}"


_NAMED: Final[Mapping[str, Callable[[SecurityOptions], str]]] = {
    "PLAIN": _user,
    "SCRAM-SHA-256": _user,
    "SCRAM-SHA-512": _user,
    "AWS_MSK_IAM": _of_aws,
    "GSSAPI": _principal,
}
