"""The "kafka.ssl.*" and "kafka.sasl.*" options as one frozen, typed value.

Names and meanings are those of Kafka's Java clients, librdkafka's are aliases. Each value is read
by itself here; `security` checks them together. Nothing is read from files. Secrets are kept as
`Secret`, and appear in no error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.option import boolean, one_of, only, option

MECHANISMS: Final = (
    *("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    *("OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"),
)
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_OLD_TLS_VERSIONS: Final = ("TLSv1", "TLSv1.1")

CONVERT_TRUST_STORE: Final = (
    "key stores of Java are not read: convert it, with `keytool -exportcert -rfc -alias ALIAS "
    "-keystore FILE -file ca.pem` or `openssl pkcs12 -in FILE.p12 -nokeys -out ca.pem`, and set "
    "kafka.ssl.truststore.type to PEM"
)
CONVERT_KEY_STORE: Final = (
    "key stores of Java are not read: convert it, with `keytool -importkeystore -srckeystore FILE "
    "-destkeystore FILE.p12 -deststoretype PKCS12` and `openssl pkcs12 -in FILE.p12 -out key.pem`, "
    "and set kafka.ssl.keystore.type to PEM"
)
_JAVA_STORES: Final = (".jks", ".jceks", ".p12", ".pfx", ".pkcs12", ".bcfks")

# Java classes that people bring along, and whose work is done here by sasl.mechanism.
_KNOWN_HANDLERS: Final = frozenset(
    {
        "OAuthBearerLoginCallbackHandler",
        "OAuthBearerSaslClientCallbackHandler",
        "OAuthBearerUnsecuredLoginCallbackHandler",
        "IAMClientCallbackHandler",
    }
)


def _pem(advice: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.strip().upper() != "PEM":
            raise ValueError(advice)
        return "PEM"

    return parse


def _pem_file(advice: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower().endswith(_JAVA_STORES):
            raise ValueError(advice)
        return text

    return parse


def _tls_versions(text: str) -> tuple[str, ...]:
    listed = [version.strip() for version in text.split(",") if version.strip()]
    unknown = set(listed) - {*TLS_VERSIONS, *_OLD_TLS_VERSIONS}
    usable = tuple(version for version in TLS_VERSIONS if version in listed)
    if unknown or not usable:
        raise ValueError(f"{' and '.join(TLS_VERSIONS)} are supported")
    return usable


def _list(text: str) -> tuple[str, ...]:
    return tuple(item for item in (part.strip() for part in text.split(",")) if item)


def _extensions(text: str) -> tuple[tuple[str, str], ...]:
    pairs = [item.partition("=") for item in _list(text)]
    if not all(separator for _, separator, _ in pairs):
        raise ValueError("it must be name=value,name=value")
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def _hostname_check(text: str) -> str:
    # Java writes the empty text, librdkafka "none".
    return one_of("https", "")("" if text.strip().lower() == "none" else text)


def _handler_class(text: str) -> str:
    if text.strip().rpartition(".")[2] not in _KNOWN_HANDLERS:
        raise ValueError(
            "Java classes cannot be loaded; a function in Python that returns a token is named in "
            "kafka.sasl.oauthbearer.token.callback"
        )
    return text.strip()


def _token_callback(text: str) -> str:
    module, colon, function = text.strip().partition(":")
    names = [*module.split("."), function]
    if not colon or not all(name.isidentifier() for name in names):
        raise ValueError("it must be package.module:function")
    return text.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityOptions:
    """How to prove who is who. Each field is one option; its metadata holds name and meaning."""

    protocol: str = option(
        "security.protocol",
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        "PLAINTEXT",
        "How to talk to brokers: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.",
    )
    truststore_type: str = option(
        "ssl.truststore.type", _pem(CONVERT_TRUST_STORE), "PEM", "Only `PEM` is read."
    )
    truststore_location: str | None = option(
        "ssl.truststore.location",
        _pem_file(CONVERT_TRUST_STORE),
        None,
        "The authorities to trust: a PEM file, or a folder as `openssl rehash` makes it, at that "
        "place on every machine. Without it, those of the system.",
        ("ssl.ca.location",),
    )
    truststore_certificates: str | None = option(
        "ssl.truststore.certificates", str, None, "The same as PEM text.", ("ssl.ca.pem",)
    )
    keystore_type: str = option(
        "ssl.keystore.type", _pem(CONVERT_KEY_STORE), "PEM", "Only `PEM` is read."
    )
    keystore_location: str | None = option(
        "ssl.keystore.location",
        _pem_file(CONVERT_KEY_STORE),
        None,
        "The client's private key and its certificates, in one PEM file.",
    )
    keystore_key: Secret | None = option(
        "ssl.keystore.key", Secret, None, "The private key as PEM text.", ("ssl.key.pem",)
    )
    keystore_certificate_chain: str | None = option(
        "ssl.keystore.certificate.chain",
        str,
        None,
        "The client's certificate, and those between it and the authority, as PEM text.",
        ("ssl.certificate.pem",),
    )
    key_location: str | None = option(
        "ssl.key.location", _pem_file(CONVERT_KEY_STORE), None, "The private key, in a PEM file."
    )
    certificate_location: str | None = option(
        "ssl.certificate.location",
        _pem_file(CONVERT_KEY_STORE),
        None,
        "The client's certificates, in a PEM file.",
    )
    key_password: Secret | None = option(
        "ssl.key.password", Secret, None, "The password of the private key."
    )
    endpoint_identification: str = option(
        "ssl.endpoint.identification.algorithm",
        _hostname_check,
        "https",
        "`https` compares the broker's host name with its certificate; empty does not.",
    )
    enabled_protocols: tuple[str, ...] = option(
        "ssl.enabled.protocols",
        _tls_versions,
        TLS_VERSIONS,
        "The versions of TLS; below 1.2 there is none.",
    )
    tls_protocol: str = option(
        "ssl.protocol",
        one_of("TLS", *TLS_VERSIONS),
        "TLSv1.3",
        "`TLSv1.2` keeps to that version.",
    )
    cipher_suites: tuple[str, ...] = option(
        "ssl.cipher.suites",
        _list,
        (),
        "The cipher suites, by the names of Java or of OpenSSL; the safe ones where empty.",
    )
    mechanism: str | None = option(
        "sasl.mechanism",
        one_of(*MECHANISMS),
        None,
        f"{', '.join(f'`{name}`' for name in MECHANISMS[:-1])} or `{MECHANISMS[-1]}`.",
        ("sasl.mechanisms",),
    )
    jaas_config: Secret | None = option(
        "sasl.jaas.config",
        Secret,
        None,
        "Credentials in Java's form; the login modules that come with Kafka, and MSK's.",
    )
    username: str | None = option(
        "sasl.username", str, None, "The user, for `PLAIN` and `SCRAM-*`."
    )
    password: Secret | None = option(
        "sasl.password", Secret, None, "The password, for `PLAIN` and `SCRAM-*`."
    )
    scram_tokenauth: bool = option(
        "sasl.scram.tokenauth",
        boolean,
        False,
        "Whether user and password are a delegation token's id and HMAC (`SCRAM-*`; KIP-48).",
    )
    token_callback: str | None = option(
        "sasl.oauthbearer.token.callback",
        _token_callback,
        None,
        "A Python function `package.module:function` without arguments that returns a token's "
        "text; called for each authentication, on every machine.",
    )
    token_endpoint_url: str | None = option(
        "sasl.oauthbearer.token.endpoint.url",
        str,
        None,
        "Where to get a token with the client's credentials (OIDC).",
    )
    oauth_client_id: str | None = option(
        "sasl.oauthbearer.client.credentials.client.id",
        str,
        None,
        "The client's id.",
        ("sasl.oauthbearer.client.id",),
    )
    oauth_client_secret: Secret | None = option(
        "sasl.oauthbearer.client.credentials.client.secret",
        Secret,
        None,
        "The client's secret.",
        ("sasl.oauthbearer.client.secret",),
    )
    oauth_scope: str | None = option(
        "sasl.oauthbearer.scope", str, None, "The scope to ask for, where the endpoint wants one."
    )
    oauth_header_urlencode: bool = option(
        "sasl.oauthbearer.header.urlencode",
        boolean,
        False,
        "Whether id and secret are URL-encoded in the endpoint's header, as RFC 6749 has it.",
    )
    oauth_extensions: tuple[tuple[str, str], ...] = option(
        "sasl.oauthbearer.extensions",
        _extensions,
        (),
        "What to tell the broker beside the token: `name=value,name=value` (KIP-342).",
    )
    oauth_method: str | None = option(
        "sasl.oauthbearer.method", only("oidc"), None, "Only `oidc`, which needs no saying."
    )
    https_ca_location: str | None = option(
        "https.ca.location",
        _pem_file(CONVERT_TRUST_STORE),
        None,
        "The authorities to trust at the token endpoint; those of the system where not given.",
    )
    kerberos_service_name: str = option(
        "sasl.kerberos.service.name", str, "kafka", "The first part of the brokers' principal."
    )
    kerberos_principal: str | None = option(
        "sasl.kerberos.principal", str, None, "The client's principal; else the ticket cache's."
    )
    kerberos_keytab: str | None = option(
        "sasl.kerberos.keytab", str, None, "The keytab file; else the ticket cache is used."
    )
    aws_region: str | None = option(
        "sasl.aws.region", str, None, "The region; else the one in the broker's host name."
    )
    aws_profile: str | None = option(
        "sasl.aws.profile", str, None, "The profile of AWS credentials; else the default chain."
    )
    aws_role_arn: str | None = option("sasl.aws.role.arn", str, None, "A role to assume.")
    aws_role_session_name: str | None = option(
        "sasl.aws.role.session.name", str, None, "The session's name, for a role to assume."
    )
    login_handler: str | None = option(
        "sasl.login.callback.handler.class",
        _handler_class,
        None,
        "Accepted for the classes of Kafka and MSK; what they do is done anyway.",
    )
    client_handler: str | None = option(
        "sasl.client.callback.handler.class", _handler_class, None, "Likewise."
    )

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted, and brokers show certificates."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        """Whether the client authenticates itself by a SASL mechanism."""
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")


# Of the Java clients' machinery, or the broker's: nothing here to tune.
SECURITY_WITHOUT_EFFECT: Final = frozenset(
    {
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "ssl.keymanager.algorithm",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)

# Known, refused, and what to do instead. Their values are never looked at.
SECURITY_REFUSED: Final[Mapping[str, str]] = {
    "ssl.truststore.password": f"PEM has no such password; {CONVERT_TRUST_STORE}",
    "ssl.keystore.password": (
        f"a private key in PEM has its password in kafka.ssl.key.password; {CONVERT_KEY_STORE}"
    ),
    "ssl.engine.factory.class": "Java classes cannot be loaded; name PEM files instead",
    "sasl.login.class": "Java classes cannot be loaded",
    "sasl.oauthbearer.jwt.retriever.class": (
        "Java classes cannot be loaded; a function in Python that returns a token is named in "
        "kafka.sasl.oauthbearer.token.callback"
    ),
    "enable.ssl.certificate.verification": "certificates are always verified",
}
