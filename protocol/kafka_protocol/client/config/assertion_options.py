"""The "kafka.sasl.oauthbearer.assertion.*" options (KIP-1139), with the names of Java's client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.option import boolean, integer, one_of, option

ALGORITHMS: Final = ("RS256", "ES256")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertionOptions:
    """The claim that a client makes of itself, as a JSON web token: from a file, or signed here.

    A file that is signed elsewhere replaces all other options.
    """

    assertion_file: str | None = option(
        "sasl.oauthbearer.assertion.file",
        str,
        None,
        "A file with a signed assertion, which replaces a client's secret at the token endpoint "
        "(KIP-1139). It is read again for each token.",
    )
    assertion_key_file: str | None = option(
        "sasl.oauthbearer.assertion.private.key.file",
        str,
        None,
        "A private key in a PEM file, to sign an assertion with (KIP-1139; the extra `jwt`).",
    )
    assertion_key_passphrase: Secret | None = option(
        "sasl.oauthbearer.assertion.private.key.passphrase",
        Secret,
        None,
        "The passphrase of the assertion's private key.",
    )
    assertion_algorithm: str = option(
        "sasl.oauthbearer.assertion.algorithm",
        one_of(*ALGORITHMS),
        "RS256",
        "How an assertion is signed: `RS256` or `ES256`.",
    )
    assertion_template_file: str | None = option(
        "sasl.oauthbearer.assertion.template.file",
        str,
        None,
        'A JSON file, `{"header": {...}, "payload": {...}}`, with more claims of an assertion.',
        ("sasl.oauthbearer.assertion.jwt.template.file",),
    )
    assertion_audience: str | None = option(
        "sasl.oauthbearer.assertion.claim.aud", str, None, "The audience of an assertion."
    )
    assertion_issuer: str | None = option(
        "sasl.oauthbearer.assertion.claim.iss", str, None, "The issuer of an assertion."
    )
    assertion_subject: str | None = option(
        "sasl.oauthbearer.assertion.claim.sub", str, None, "The subject of an assertion."
    )
    assertion_lasts_s: int = option(
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        integer(1, 86_400),
        300,
        "How many seconds an assertion is valid from its signature on.",
    )
    assertion_before_s: int = option(
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        integer(0, 3_600),
        60,
        "How many seconds before its signature an assertion is valid: clocks differ.",
    )
    assertion_has_id: bool = option(
        "sasl.oauthbearer.assertion.claim.jti.include",
        boolean,
        False,
        "Whether each assertion has a random id.",
    )

    @property
    def uses_assertion(self) -> bool:
        """Whether a token is requested with an assertion."""
        return (self.assertion_file or self.assertion_key_file) is not None
