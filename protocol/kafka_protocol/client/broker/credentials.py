"""Makes the conversation of a SASL mechanism from its options.

Imported only where SASL is used: the mechanisms' imports (HTTP, Unicode tables) take longer than
the imports of the rest of the client.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    """Make a conversation that authenticates the client to a broker.

    By the deadline the token for OAUTHBEARER must have been received.

    Raises:
        AuthenticationError: No token was received.
        BrokerConnectionError, KafkaTimeoutError, TlsError, ProtocolError: From a token endpoint.
        KafkaConfigError: A token callback cannot be imported.
    """
    return _CONVERSATIONS[security.mechanism or ""](security, host, deadline)


def forget(security: SecurityOptions) -> None:
    """Drop the cached token for these credentials, because a broker refused it."""
    forget_token(security)


_CONVERSATIONS: Final[Mapping[str, Callable[[SecurityOptions, str, Deadline], Conversation]]] = {
    "PLAIN": lambda given, _host, _deadline: Plain(*_user_and_password(given)),
    "SCRAM-SHA-256": lambda given, _host, _deadline: _scram("sha256", given),
    "SCRAM-SHA-512": lambda given, _host, _deadline: _scram("sha512", given),
    "OAUTHBEARER": lambda given, host, deadline: OAuthBearer(
        token_for(given, host, deadline), dict(given.oauth_extensions)
    ),
    "AWS_MSK_IAM": lambda given, host, _deadline: AwsMskIam(
        host, given.aws_region, given.aws_profile, given.aws_role_arn, given.aws_role_session_name
    ),
    "GSSAPI": lambda given, host, _deadline: Gssapi(
        given.kerberos_service_name, host, given.kerberos_principal, given.kerberos_keytab
    ),
}


def _user_and_password(security: SecurityOptions) -> tuple[str, Secret]:
    return security.username or "", security.password or Secret("")


def _scram(hash_name: Literal["sha256", "sha512"], security: SecurityOptions) -> Conversation:
    credentials = _user_and_password(security)
    return Scram(hash_name, *credentials, token_auth=security.scram_tokenauth)
