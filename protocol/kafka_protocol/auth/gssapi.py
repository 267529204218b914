"""GSSAPI: Kerberos 5 (RFC 4752), without a SASL security layer, which Kafka does not support.

The library `gssapi` (the extra of that name) makes the tokens. It connects to the KDC itself, with
the timeouts of krb5.conf.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kafka_protocol.auth.mechanism import check_no_more, utf8
from kafka_protocol.errors import AuthenticationError, KafkaConfigError

if TYPE_CHECKING:
    from gssapi import Credentials, SecurityContext

_MISSING: Final = (
    "GSSAPI needs the system's Kerberos library and its wrapper: "
    "pip install 'pyspark-pykafka[gssapi]'"
)
_NO_LAYER: Final = 1
# The layer, and the largest message size, which must be 0 for no layer.
_CHOICE: Final = bytes((_NO_LAYER, 0, 0, 0))


class Gssapi:
    """One GSSAPI conversation.

    Args:
        service: The first part of the brokers' principal, usually `kafka`.
        host: The broker's host name, the second part of it.
        principal: The client's principal; by default that of the ticket cache.
        keytab: A file with its key; by default the ticket cache is used.
    """

    def __init__(
        self, service: str, host: str, principal: str | None = None, keytab: str | None = None
    ) -> None:
        self._service = service
        self._host = host
        self._principal = principal
        self._keytab = keytab
        self._context: SecurityContext
        self._expect: Callable[[bytes], bytes | None] = self._step
        self.is_done = False

    def first(self) -> bytes:
        """The first token: the Kerberos ticket for the broker.

        Raises:
            AuthenticationError: The KDC or the cache gave no ticket.
            KafkaConfigError: The library is missing.
        """
        try:
            import gssapi
        except (ImportError, OSError) as error:
            raise KafkaConfigError(_MISSING) from error
        try:
            self._context = gssapi.SecurityContext(
                name=gssapi.Name(
                    utf8(f"{self._service}@{self._host}", "the name of the Kafka service"),
                    gssapi.NameType.hostbased_service,
                ),
                creds=self._credentials(),
                mech=gssapi.MechType.kerberos,
                usage="initiate",
                # The broker must authenticate too; the last two tokens need integrity.
                flags=gssapi.RequirementFlag.mutual_authentication
                | gssapi.RequirementFlag.integrity,
            )
            return self._step(None)
        except gssapi.exceptions.GSSError as error:
            raise AuthenticationError(str(error)) from error

    def respond(self, challenge: bytes) -> bytes | None:
        """The next token; the last one selects no security layer.

        Raises:
            AuthenticationError: The broker is not authentic, or requires a security layer.
        """
        from gssapi.exceptions import GSSError

        try:
            return self._expect(challenge)
        except GSSError as error:
            raise AuthenticationError(str(error)) from error

    def _credentials(self) -> Credentials | None:
        """The principal's credentials; None means the credentials in the ticket cache."""
        from gssapi import Credentials, Name, NameType

        if self._principal is None and self._keytab is None:
            return None
        name = self._principal and Name(
            utf8(self._principal, "the principal"), NameType.kerberos_principal
        )
        return Credentials(name=name, usage="initiate", store=self._store())

    def _store(self) -> dict[str, str] | None:
        """The keytab, and its own ticket cache in memory.

        With the user's cache, an old ticket would hide a missing keytab, and all tasks of a
        machine would write to the same file.
        """
        if self._keytab is None:
            return None
        digest = hashlib.sha256(f"{self._principal}\0{self._keytab}".encode()).hexdigest()
        return {"client_keytab": self._keytab, "ccache": f"MEMORY:pykafka-{digest[:16]}"}

    def _step(self, challenge: bytes | None) -> bytes:
        token: bytes | None = self._context.step(challenge)
        if self._context.complete:
            self._expect = self._choose_layer
        # Kerberos ends with the broker's token; an empty token requests the layers (RFC 4752).
        return token or b""

    def _choose_layer(self, challenge: bytes) -> bytes:
        offer: bytes = self._context.unwrap(challenge).message
        if len(offer) != len(_CHOICE) or not offer[0] & _NO_LAYER:
            raise AuthenticationError(
                "the broker requires a SASL security layer, which Kafka does not support"
            )
        self._expect = check_no_more
        self.is_done = True
        choice: bytes = self._context.wrap(_CHOICE, encrypt=False).message
        return choice
