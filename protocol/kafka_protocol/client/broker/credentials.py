"""From options to a conversation of a mechanism: which credentials go where.

Only who uses SASL imports this room: what stands behind the mechanisms (HTTP, Unicode's tables)
takes longer to import than all the rest of the client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal

from kafka_protocol.auth.aws_msk_iam import AwsMskIam
from kafka_protocol.auth.gssapi import Gssapi
from kafka_protocol.auth.mechanism import Conversation
from kafka_protocol.auth.oauthbearer import OAuthBearer
from kafka_protocol.auth.plain import Plain
from kafka_protocol.auth.scram import Scram
from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.broker.oauth import forget_token, token_for
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.security_options import SecurityOptions


def conversation_for(security: SecurityOptions, host: str, deadline: Deadline) -> Conversation:
    """A conversation that shows a broker who the client is.

    Args:
        security: The mechanism and its credentials, checked.
        host: The broker's host name.
        deadline: When a token must be here, for OAUTHBEARER.

    Raises:
        AuthenticationError: No token could be had.
        BrokerConnectionError, KafkaTimeoutError, TlsError, ProtocolError: From a token's endpoint.
        KafkaConfigError: A token's callback cannot be imported.
    """
    return _CONVERSATIONS[security.mechanism or ""](security, host, deadline)


def forget(security: SecurityOptions) -> None:
    """Drop what was kept of credentials that were refused."""
    forget_token(security)


def _plain(security: SecurityOptions, _host: str, _deadline: Deadline) -> Conversation:
    return Plain(security.username or "", security.password or Secret(""))


def _scram(
    hash_name: Literal["sha256", "sha512"],
    security: SecurityOptions,
    _host: str,
    _deadline: Deadline,
) -> Conversation:
    return Scram(
        hash_name,
        security.username or "",
        security.password or Secret(""),
        token_auth=security.scram_tokenauth,
    )


def _oauthbearer(security: SecurityOptions, _host: str, deadline: Deadline) -> Conversation:
    return OAuthBearer(token_for(security, deadline), dict(security.oauth_extensions))


def _aws_msk_iam(security: SecurityOptions, host: str, _deadline: Deadline) -> Conversation:
    return AwsMskIam(
        host,
        region=security.aws_region,
        profile=security.aws_profile,
        role_arn=security.aws_role_arn,
        role_session_name=security.aws_role_session_name,
    )


def _gssapi(security: SecurityOptions, host: str, _deadline: Deadline) -> Conversation:
    return Gssapi(
        security.kerberos_service_name,
        host,
        principal=security.kerberos_principal,
        keytab=security.kerberos_keytab,
    )


_CONVERSATIONS: Final[Mapping[str, Callable[[SecurityOptions, str, Deadline], Conversation]]] = {
    "PLAIN": _plain,
    "SCRAM-SHA-256": partial(_scram, "sha256"),
    "SCRAM-SHA-512": partial(_scram, "sha512"),
    "OAUTHBEARER": _oauthbearer,
    "AWS_MSK_IAM": _aws_msk_iam,
    "GSSAPI": _gssapi,
}
