"""Assertions: what a client claims of itself, signed with its private key (RFC 7523; KIP-1139).

PyJWT (the extra `jwt`) signs. No files are read here.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeGuard

from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import KafkaConfigError

_MISSING: Final = "an assertion is signed by PyJWT: pip install 'pyspark-pykafka[jwt]'"


class Claims(NamedTuple):
    """The claims of an assertion.

    Attributes:
        header, payload: The values of a template, which the other attributes replace.
        named: The values of options: `aud`, `iss` and `sub`, where they are given.
        lasts_s: How long it is valid, from now on.
        before_s: For how long it has been valid.
        has_id: Whether it has a random id.
    """

    header: Mapping[str, Any]
    payload: Mapping[str, Any]
    named: Mapping[str, str]
    lasts_s: int
    before_s: int
    has_id: bool

    def payload_at(self, now_s: int) -> dict[str, Any]:
        """The payload of an assertion that is signed now, in seconds since 1970."""
        times = {"iat": now_s, "exp": now_s + self.lasts_s, "nbf": now_s - self.before_s}
        id_ = {"jti": str(uuid.uuid4())} if self.has_id else {}
        return {**self.payload, **self.named, **times, **id_}


def template_of(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Header and payload of a template.

    Raises:
        ValueError: It is not a JSON object of at most these two objects.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not _is_template(value):
        raise ValueError('it must be {"header": {...}, "payload": {...}}')
    return value.get("header", {}), value.get("payload", {})


def _is_template(value: object) -> TypeGuard[dict[str, dict[str, Any]]]:
    if not isinstance(value, dict) or not value.keys() <= {"header", "payload"}:
        return False
    return all(isinstance(part, dict) for part in value.values())


def signed(
    claims: Claims, now_s: int, key: bytes, passphrase: Secret | None, algorithm: str
) -> Secret:
    """Sign an assertion.

    Args:
        claims: What it says.
        now_s: The time, in seconds since 1970.
        key: A private key as PEM.
        passphrase: The passphrase of the key.
        algorithm: RS256 or ES256.

    Raises:
        KafkaConfigError: PyJWT is missing, or the key cannot be used.
    """
    try:
        import jwt
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        raise KafkaConfigError(_MISSING) from error
    password = None if passphrase is None else passphrase.reveal().encode()
    header = {"typ": "JWT", **claims.header, "alg": algorithm}
    try:
        private = load_pem_private_key(key, password)
        payload = claims.payload_at(now_s)
        return Secret(jwt.encode(payload, private, algorithm, header))  # type: ignore[arg-type]
    except Exception as error:  # noqa: BLE001 - each library has its own, with parts of the key
        raise KafkaConfigError(
            f"no assertion can be signed by {algorithm} with the private key: "
            f"{type(error).__name__}. Is it PEM, of the right kind, and its passphrase right?"
        ) from None
