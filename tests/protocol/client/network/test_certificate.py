"""The certificate that a listener shows."""

from __future__ import annotations

import datetime

import pytest

from kafka_protocol.client.clock import Deadline, now_ms
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.certificate import certificate_of
from kafka_protocol.errors import BrokerConnectionError, TlsError
from tests.fakes.tls import (
    HOST,
    authority,
    authority_pem,
    echoing,
    expired,
    listening,
    new_context,
    server_context,
)

SECURITY = SecurityOptions(protocol="SSL", truststore_certificates=authority_pem())
TEN_DAYS = datetime.timedelta(days=10)


def soon() -> Deadline:
    return Deadline.after(5_000)


def test_names_issuer_and_end() -> None:
    ends = datetime.datetime.now(datetime.timezone.utc) + TEN_DAYS
    own = authority().issue_cert(HOST, "other", common_name="broker", not_after=ends)
    with echoing(server_context(own)) as address:
        found = certificate_of(address, SECURITY, soon())
    assert (found.subject, found.names) == ("broker", (HOST, "other"))
    assert found.issuer == "a nameless authority"
    assert abs(found.expires_ms - now_ms() - 10 * 86_400_000) < 120_000


def test_without_a_common_name_the_first_name_counts() -> None:
    with echoing(new_context()) as address:
        found = certificate_of(address, SECURITY, soon())
    assert (found.subject, found.tls) == (HOST, "TLSv1.3")


def test_a_certificate_that_is_refused_is_an_error() -> None:
    with echoing(server_context(expired())) as address, pytest.raises(TlsError, match="expired"):
        certificate_of(address, SECURITY, soon())


def test_a_listener_without_tls_is_an_error() -> None:
    with listening(lambda sock: sock.recv(1)) as address, pytest.raises(BrokerConnectionError):
        certificate_of(address, SECURITY, soon())
