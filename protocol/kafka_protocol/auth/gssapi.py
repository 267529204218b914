"""GSSAPI: Kerberos 5 (RFC 4752), without a security layer: TLS does that, Kafka knows no other.

The library `gssapi` (the extra of that name) makes the tokens. It asks the KDC by itself, with
the limits of krb5.conf.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kafka_protocol.auth.mechanism import refuse_more, utf8
from kafka_protocol.errors import AuthenticationError, KafkaConfigError

if TYPE_CHECKING:
    from gssapi import Credentials, SecurityContext

_MISSING: Final = (
    "GSSAPI needs the system's Kerberos library and its wrapper: "
    "pip install 'pyspark-pykafka[gssapi]'"
)
_NO_LAYER: Final = 1
# The layer, and 0 for the largest message, which must stand beside "none".
_CHOICE: Final = bytes((_NO_LAYER, 0, 0, 0))


class Gssapi:
    """One GSSAPI conversation.

    Args:
        service: The first part of the brokers' principal, `kafka` mostly.
        host: The broker's host name, the second part of it.
        principal: Who logs in; whom the ticket cache is for, where not given.
        keytab: A file with their key; the ticket cache is used where not given.
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
        """The ticket for the broker.

        Raises:
            AuthenticationError: No ticket could be had.
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
                # The broker proves itself, too; integrity is for the two wrapped tokens at the end.
                flags=gssapi.RequirementFlag.mutual_authentication
                | gssapi.RequirementFlag.integrity,
            )
            return self._step(None)
        except gssapi.exceptions.GSSError as error:
            raise AuthenticationError(str(error)) from error

    def answer(self, challenge: bytes) -> bytes | None:
        """The next token; the last one says that TLS, if anything, protects what follows.

        Raises:
            AuthenticationError: The broker could not prove itself, or wants a security layer.
        """
        from gssapi.exceptions import GSSError

        try:
            return self._expect(challenge)
        except GSSError as error:
            raise AuthenticationError(str(error)) from error

    def _credentials(self) -> Credentials | None:
        """None stands for the ticket cache's, whoever they are for."""
        from gssapi import Credentials, Name, NameType

        if self._principal is None and self._keytab is None:
            return None
        name = self._principal and Name(
            utf8(self._principal, "the principal"), NameType.kerberos_principal
        )
        return Credentials(name=name, usage="initiate", store=self._store())

    def _store(self) -> dict[str, str] | None:
        """The keytab, and a ticket cache of its own in memory.

        The user's own cache would let a stale ticket in where the keytab is missing, and tasks on
        one machine would write to the same file.
        """
        if self._keytab is None:
            return None
        whose = hashlib.sha256(f"{self._principal}\0{self._keytab}".encode()).hexdigest()
        return {"client_keytab": self._keytab, "ccache": f"MEMORY:pykafka-{whose[:16]}"}

    def _step(self, challenge: bytes | None) -> bytes:
        token: bytes | None = self._context.step(challenge)
        if self._context.complete:
            self._expect = self._choose_layer
        # Kerberos ends with the broker's token; the empty answer asks for the layers (RFC 4752).
        return token or b""

    def _choose_layer(self, challenge: bytes) -> bytes:
        offer: bytes = self._context.unwrap(challenge).message
        if len(offer) != len(_CHOICE) or not offer[0] & _NO_LAYER:
            raise AuthenticationError(
                "the broker offers no connection without a security layer of SASL"
            )
        self._expect = self._nothing
        self.is_done = True
        choice: bytes = self._context.wrap(_CHOICE, encrypt=False).message
        return choice

    def _nothing(self, challenge: bytes) -> None:
        refuse_more(challenge)
