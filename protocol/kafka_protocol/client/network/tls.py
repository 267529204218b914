"""Makes an SSL context from the options, and error texts from OpenSSL's errors. No sockets.

Never below TLS 1.2, never without verification of the broker's certificate, no fallback to
plaintext. PEM only: the standard library's `ssl` reads no other format.
"""

from __future__ import annotations

import re
import ssl
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from kafka_protocol.client.config.option import quoted
from kafka_protocol.client.config.security_options import (
    CONVERT_KEY_STORE,
    CONVERT_TRUST_STORE,
    SecurityOptions,
    ServerTerms,
)
from kafka_protocol.client.network.pem import is_binary, temporary_file, with_line_breaks
from kafka_protocol.errors import KafkaConfigError, TlsError

if TYPE_CHECKING:
    from kafka_protocol.client.config.addresses import Address

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TLS_1_3_SUITE: Final = re.compile(r"TLS_(AES|CHACHA20)_\w+")
_JAVA_SUITE: Final = re.compile(r"TLS_(?P<exchange>\w+)_WITH_(?P<cipher>\w+)_(?P<hash>SHA\d*)")


# In a process. A context with the system's authorities takes 0.8 MB, and all connections of a
# configuration can have the same one.
_MAX_CONTEXTS: Final = 16

_Stamp: TypeAlias = tuple[str, int, int, int]


def client_context(security: SecurityOptions) -> ssl.SSLContext:
    """The context for a connection, made again when one of its files was replaced.

    Raises:
        KafkaConfigError: A file cannot be read, or has the wrong content. Names the option.
    """
    files = (
        security.truststore_location,
        security.keystore_location,
        security.certificate_location,
        security.key_location,
    )
    return _context(security, tuple(_stamp(each) for each in files if each is not None))


def _stamp(file: str) -> _Stamp | None:
    """A stamp that changes when a file is replaced; None for a missing file."""
    try:
        stat = Path(file).stat()
    except OSError:
        return None
    return file, stat.st_ino, stat.st_size, stat.st_mtime_ns


@lru_cache(maxsize=_MAX_CONTEXTS)
def _context(security: SecurityOptions, _stamps: tuple[_Stamp | None, ...]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # verifies certificates and host names
    context.check_hostname = bool(security.endpoint_identification)
    _limit_versions(context, security)
    _limit_ciphers(context, security)
    _load_trusted(context, security)
    _load_own_certificate(context, security)
    return context


def check_suite(suite: str, security: SecurityOptions, address: Address) -> None:
    """Check the suite after the handshake: Python cannot restrict TLS 1.3 suites before.

    Raises:
        TlsError: The option ssl.cipher.suites does not list the suite.
    """
    allowed = security.cipher_suites
    if allowed and _TLS_1_3_SUITE.fullmatch(suite) and suite not in allowed:
        raise TlsError(
            f"{address} chose the cipher suite {suite}, and {security.server.prefix}ssl.cipher."
            "suites does not list it"
        )


def _limit_versions(context: ssl.SSLContext, security: SecurityOptions) -> None:
    suites = security.cipher_suites
    is_new = [bool(_TLS_1_3_SUITE.fullmatch(suite)) for suite in suites]
    usable = {
        "TLSv1.2": not suites or not all(is_new),
        "TLSv1.3": (not suites or any(is_new)) and security.tls_protocol != "TLSv1.2",
    }
    versions = [_VERSIONS[name] for name in security.enabled_protocols if usable[name]]
    if not versions:
        names = ("ssl.enabled.protocols", "ssl.protocol", "ssl.cipher.suites")
        raise KafkaConfigError(
            f"Options {quoted(names, security.server.prefix)} together leave no version of TLS"
        )
    context.minimum_version, context.maximum_version = min(versions), max(versions)


def _limit_ciphers(context: ssl.SSLContext, security: SecurityOptions) -> None:
    suites = security.cipher_suites
    older = [_openssl_name(suite) for suite in suites if not _TLS_1_3_SUITE.fullmatch(suite)]
    if not older:
        return
    try:
        context.set_ciphers(":".join(older))
    except ssl.SSLError:
        raise KafkaConfigError(
            f"Option '{security.server.prefix}ssl.cipher.suites' has the value "
            f"{','.join(suites)!r}: OpenSSL does not know any of them"
        ) from None


def _openssl_name(suite: str) -> str:
    """OpenSSL's name for a name of Java and the RFCs: TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256."""
    match = _JAVA_SUITE.fullmatch(suite)
    if match is None:
        return suite
    cipher = match["cipher"].replace("AES_", "AES").replace("_CBC", "")
    parts = [] if match["exchange"] == "RSA" else [match["exchange"]]
    parts += [cipher] if "POLY1305" in cipher else [cipher, match["hash"]]
    return "-".join(parts).replace("_", "-")


def _load_trusted(context: ssl.SSLContext, security: SecurityOptions) -> None:
    location, text = security.truststore_location, security.truststore_certificates
    if location is None and text is None:
        context.load_default_certs()
        return
    # As in Java, every certificate in the trust store is trusted, also a broker's own.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if text is not None:
        try:
            context.load_verify_locations(cadata=with_line_breaks(text))
        except (ssl.SSLError, TypeError) as error:  # TypeError: it is not ASCII
            raise _unusable(
                security, "ssl.truststore.certificates", "it holds no certificate"
            ) from error
    elif location is not None:
        _load_authorities(context, location, security)


def _load_authorities(context: ssl.SSLContext, location: str, security: SecurityOptions) -> None:
    """Trust the authorities in a PEM file, or in a folder made by `openssl rehash`."""
    option = "ssl.truststore.location"
    try:
        if Path(location).is_dir():
            context.load_verify_locations(capath=location)
            return
        if is_binary(location):
            raise _unusable(security, option, f"{location} is not PEM; {CONVERT_TRUST_STORE}")
        context.load_verify_locations(cafile=location)
    except ssl.SSLError as error:
        raise _unusable(security, option, f"{location} holds no certificate in PEM") from error
    except OSError as error:
        raise _unusable(security, option, f"{location}: {error.strerror or error}") from error


def _load_own_certificate(context: ssl.SSLContext, security: SecurityOptions) -> None:
    chain_file = security.keystore_location or security.certificate_location
    key_file = security.keystore_location or security.key_location
    for option, file in (
        ("ssl.keystore.location", security.keystore_location),
        ("ssl.certificate.location", security.certificate_location),
        ("ssl.key.location", security.key_location),
    ):
        if file is not None:
            _check_key_file(option, file, security)
    with ExitStack() as files:
        try:
            if security.keystore_certificate_chain is not None:
                chain_file = files.enter_context(
                    temporary_file(security.keystore_certificate_chain)
                )
            if security.keystore_key is not None:
                key_file = files.enter_context(temporary_file(security.keystore_key.reveal()))
        except OSError as error:
            names = ("ssl.keystore.key", "ssl.keystore.certificate.chain")
            raise KafkaConfigError(
                f"Options {quoted(names, security.server.prefix)} need a folder for temporary "
                f"files: {error.strerror or error}"
            ) from None
        if chain_file is not None:
            _load_chain(context, chain_file, key_file, security)


def _check_key_file(option: str, file: str, security: SecurityOptions) -> None:
    try:
        is_foreign = is_binary(file)
    except OSError as error:
        raise _unusable(security, option, f"{file}: {error.strerror or error}") from error
    if is_foreign:
        raise _unusable(security, option, f"{file} is not PEM; {CONVERT_KEY_STORE}")


def _load_chain(
    context: ssl.SSLContext, chain_file: str, key_file: str | None, security: SecurityOptions
) -> None:
    def password() -> str:
        # Without this OpenSSL would prompt for the password on the terminal.
        if security.key_password is None:
            raise KafkaConfigError(
                f"The private key is encrypted: set {security.server.prefix}ssl.key.password"
            )
        return security.key_password.reveal()

    try:
        context.load_cert_chain(chain_file, key_file, password)  # point: private-key-file
    except ssl.SSLError as error:
        raise KafkaConfigError(
            f"The client's certificate cannot be used: {_chain_error(error, security)}"
        ) from error


def _chain_error(error: ssl.SSLError, security: SecurityOptions) -> str:
    # Python shows all other reasons of OpenSSL as "PEM lib".
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the private key does not belong to the certificate"
    if security.key_password is not None:
        return (
            f"{security.server.prefix}ssl.key.password is not the password of the private key, or "
            "it is not PEM"
        )
    return "no private key with its certificate in PEM"


def _unusable(security: SecurityOptions, option: str, reason: str) -> KafkaConfigError:
    return KafkaConfigError(f"Option '{security.server.prefix}{option}' cannot be used: {reason}")


# The fields of ServerTerms are in braces.
_SET_CLIENT_CERTIFICATE: Final = (
    "set {prefix}ssl.keystore.location (or .key and .certificate.chain) to one of an authority "
    "that it trusts"
)
_NO_COMMON_VERSION: Final = (
    "it speaks no version of TLS that is enabled here (at least 1.2); see "
    "{prefix}ssl.enabled.protocols and {prefix}ssl.protocol"
)
_NO_TLS: Final = "it does not speak TLS; check the port, or {without_tls}"
_UNTRUSTED: Final = (
    "its certificate is of an authority that is not trusted here; set {prefix}ssl.truststore."
    "location (or .certificates) to the authority's certificate"
)
_OTHER_HOST: Final = (
    "its certificate is not for that host; connect by a name that is in it, or see "
    "{prefix}ssl.endpoint.identification.algorithm"
)
# OpenSSL's verify codes (X509_V_ERR_*).
_VERIFICATION: Final = {
    9: "its certificate is not valid yet; check the clocks",
    10: "its certificate has expired",
    **dict.fromkeys((18, 19, 20, 21), _UNTRUSTED),
    **dict.fromkeys((62, 64), _OTHER_HOST),
}
# The alerts, without "..._ALERT_", with which the peer may refuse the client's certificate.
_REFUSALS: Final = {
    "HANDSHAKE_FAILURE": (
        "the two share no cipher suite ({prefix}ssl.cipher.suites), or it needs a client's "
        f"certificate: {_SET_CLIENT_CERTIFICATE}"
    ),
    "CERTIFICATE_REQUIRED": f"it needs a client's certificate: {_SET_CLIENT_CERTIFICATE}",
    "BAD_CERTIFICATE": f"it needs a client's certificate or another: {_SET_CLIENT_CERTIFICATE}",
    "CERTIFICATE_UNKNOWN": f"it refused the client's certificate: {_SET_CLIENT_CERTIFICATE}",
    "UNKNOWN_CA": f"it does not trust the client's certificate: {_SET_CLIENT_CERTIFICATE}",
    "CERTIFICATE_EXPIRED": f"the client's certificate has expired: {_SET_CLIENT_CERTIFICATE}",
}
# OpenSSL's own reasons, and the reasons in an alert of the peer.
_REASONS: Final = {
    **dict.fromkeys(("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"), _NO_TLS),
    "PACKET_LENGTH_TOO_LONG": _NO_TLS,
    "UNSUPPORTED_PROTOCOL": _NO_COMMON_VERSION,
    "PROTOCOL_VERSION": _NO_COMMON_VERSION,
    **_REFUSALS,
}


def tls_error(error: ssl.SSLError, address: Address, server: ServerTerms) -> TlsError:
    """Make an error whose text names the host and the option to check."""
    if isinstance(error, ssl.SSLCertVerificationError):
        known, own = _VERIFICATION.get(error.verify_code), error.verify_message
        begin = f"{address} cannot be trusted"
    else:
        own = (getattr(error, "reason", None) or str(error)).rpartition("ALERT_")[2]
        known, begin = _REASONS.get(own), f"{address}: no TLS connection"
    if known is not None:
        own = known.format(prefix=server.prefix, without_tls=server.without_tls)
    return TlsError(f"{begin}: {own}")


# With TLS 1.3 they come after the handshake.
_CERTIFICATE_ALERTS: Final = frozenset(
    {*_REFUSALS, "CERTIFICATE_REVOKED", "UNSUPPORTED_CERTIFICATE", "ACCESS_DENIED"}
)


def certificate_refusal(error: OSError, address: Address, server: ServerTerms) -> TlsError | None:
    """The error for a refusal of the client's certificate; None for another error."""
    if not isinstance(error, ssl.SSLError):
        return None
    code = (error.reason or "").rpartition("ALERT_")[2]
    return tls_error(error, address, server) if code in _CERTIFICATE_ALERTS else None
