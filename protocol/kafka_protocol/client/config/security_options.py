"""The "kafka.ssl.*" and "kafka.sasl.*" options as one frozen, typed value.

Names and meanings come from Kafka's Java clients; librdkafka's names are aliases. Each value is
read separately here; `security_checks` checks them together. No files are read. Secrets are
`Secret` values, and never appear in errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.config.assertion_options import AssertionOptions
from kafka_protocol.client.config.option import KAFKA, boolean, one_of, only, option

MECHANISMS: Final = (
    *("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    *("OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"),
)
# The identities of a machine.
IDENTITIES: Final = ("azure_imds", "azure", "gcp", "databricks")
TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
_OLD_TLS_VERSIONS: Final = ("TLSv1", "TLSv1.1")

CONVERT_TRUST_STORE: Final = (
    "key stores of Java are not read: convert it with `keytool -exportcert -rfc -alias ALIAS "
    "-keystore FILE -file ca.pem` or `openssl pkcs12 -in FILE.p12 -nokeys -out ca.pem`, and set "
    "the type of the trust store to PEM"
)
CONVERT_KEY_STORE: Final = (
    "key stores of Java are not read: convert it with `keytool -importkeystore -srckeystore FILE "
    "-destkeystore FILE.p12 -deststoretype PKCS12` and `openssl pkcs12 -in FILE.p12 -out key.pem`, "
    "and set the type of the key store to PEM"
)
_JAVA_STORES: Final = (".jks", ".jceks", ".p12", ".pfx", ".pkcs12", ".bcfks")

# Java classes in existing jobs; here sasl.mechanism replaces them.
_KNOWN_HANDLERS: Final = frozenset(
    {
        "OAuthBearerLoginCallbackHandler",
        "OAuthBearerSaslClientCallbackHandler",
        "OAuthBearerUnsecuredLoginCallbackHandler",
        "IAMClientCallbackHandler",
    }
)


class ServerTerms(NamedTuple):
    """How errors speak of a server: brokers and schema registries share the code of TLS.

    Attributes:
        prefix: The text before the names of its options.
        without_tls: How to connect to it without TLS.
        tls_doubt: Whether it speaks TLS; `{protocol}` is the value of `security.protocol`.
    """

    prefix: str
    without_tls: str
    tls_doubt: str


BROKER: Final = ServerTerms(
    KAFKA,
    "set kafka.security.protocol to PLAINTEXT or SASL_PLAINTEXT",
    "does this listener speak TLS? kafka.security.protocol is {protocol}",
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
    # Java uses the empty text, librdkafka "none".
    return one_of("https", "")("" if text.strip().lower() == "none" else text)


def _handler_class(text: str) -> str:
    if text.strip().rpartition(".")[2] not in _KNOWN_HANDLERS:
        raise ValueError(
            "Java classes cannot be loaded; name a Python function that returns a token in "
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
class SecurityOptions(AssertionOptions):
    """The options of TLS and SASL. Each field is one option; its metadata has name and meaning."""

    server: ServerTerms = BROKER
    protocol: str = option(
        "security.protocol",
        one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        "PLAINTEXT",
        "The protocol of the listener: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.",
    )
    truststore_type: str = option(
        "ssl.truststore.type", _pem(CONVERT_TRUST_STORE), "PEM", "Only `PEM` is supported."
    )
    truststore_location: str | None = option(
        "ssl.truststore.location",
        _pem_file(CONVERT_TRUST_STORE),
        None,
        "The authorities to trust: a PEM file, or a folder made by `openssl rehash`, at the same "
        "path on every machine. The default is the system's authorities.",
        ("ssl.ca.location",),
    )
    truststore_certificates: str | None = option(
        "ssl.truststore.certificates",
        str,
        None,
        "The authorities to trust, as PEM text.",
        ("ssl.ca.pem",),
    )
    keystore_type: str = option(
        "ssl.keystore.type", _pem(CONVERT_KEY_STORE), "PEM", "Only `PEM` is supported."
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
        "The client's certificate and its intermediate certificates, as PEM text.",
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
        "`https` compares the broker's host name with its certificate; an empty value does not.",
    )
    enabled_protocols: tuple[str, ...] = option(
        "ssl.enabled.protocols",
        _tls_versions,
        TLS_VERSIONS,
        "The allowed versions of TLS; versions below 1.2 are never used.",
    )
    tls_protocol: str = option(
        "ssl.protocol",
        one_of("TLS", *TLS_VERSIONS),
        "TLSv1.3",
        "`TLSv1.2` allows only that version.",
    )
    cipher_suites: tuple[str, ...] = option(
        "ssl.cipher.suites",
        _list,
        (),
        "The allowed cipher suites, with Java's or OpenSSL's names. Empty: OpenSSL's safe ones.",
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
        "Credentials in Java's format; for the login modules of Kafka and of MSK.",
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
        "A Python function that returns a token, as `package.module:function`; called on every "
        "machine. It needs no argument, or the broker's host name and the scope. It returns a "
        "`str`, for one authentication, or an `AccessToken` with its end, until shortly before it.",
    )
    metadata_authentication: str = option(
        "sasl.oauthbearer.metadata.authentication.type",
        one_of("none", *IDENTITIES),
        "none",
        "An identity that the machine has, instead of a secret: `azure_imds` (a managed identity), "
        "`azure` (a service principal of the environment, a workload identity of Kubernetes, or a "
        "managed identity; the extra `azure`), `gcp` (Google's default credentials; the extra "
        "`gcp`), `databricks` (a service credential of Unity Catalog, by its name as client id). "
        "librdkafka has the first.",
    )
    token_endpoint_url: str | None = option(
        "sasl.oauthbearer.token.endpoint.url",
        str,
        None,
        "The URL that returns a token for the client's credentials (OIDC).",
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
        "sasl.oauthbearer.scope", str, None, "The scope to request, if the endpoint needs one."
    )
    oauth_header_urlencode: bool = option(
        "sasl.oauthbearer.header.urlencode",
        boolean,
        False,
        "Whether id and secret are URL-encoded in the request's header, as in RFC 6749.",
    )
    oauth_extensions: tuple[tuple[str, str], ...] = option(
        "sasl.oauthbearer.extensions",
        _extensions,
        (),
        "Extensions to send to the broker with the token: `name=value,name=value` (KIP-342).",
    )
    oauth_method: str | None = option(
        "sasl.oauthbearer.method", only("oidc"), None, "Only `oidc`, which is the default."
    )
    https_ca_location: str | None = option(
        "https.ca.location",
        _pem_file(CONVERT_TRUST_STORE),
        None,
        "The authorities to trust for the token endpoint. The default is the system's authorities.",
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
        "sasl.aws.role.session.name", str, None, "The session name for the assumed role."
    )
    login_handler: str | None = option(
        "sasl.login.callback.handler.class",
        _handler_class,
        None,
        "Accepted without effect for the classes of Kafka and MSK, which pykafka replaces.",
    )
    client_handler: str | None = option(
        "sasl.client.callback.handler.class", _handler_class, None, "As for the login handler."
    )

    @property
    def uses_tls(self) -> bool:
        """Whether connections use TLS."""
        return self.protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        """Whether the client authenticates with a SASL mechanism."""
        return self.protocol in ("SASL_PLAINTEXT", "SASL_SSL")
