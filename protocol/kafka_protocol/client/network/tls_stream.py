"""TLS on a connected socket. Imported by those who use TLS only: `ssl` takes a while to import.

What the options mean, and errors in words, stand in `tls`.
"""

from __future__ import annotations

import socket
import ssl
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.client import Address
from kafka_protocol.client.config.security_options import SecurityOptions
from kafka_protocol.client.network.tls import check_suite, client_context, late_refusal, tls_error
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport, broken
from kafka_protocol.errors import BrokerConnectionError, KafkaError, KafkaTimeoutError

# TLS hands out one record at a time, of 16 KiB at the most, whatever is asked for.
_MAX_READ_BYTES: Final = 16 * 1024

# The ways in which the other side goes away without a word.
_RESETS: Final = (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def secured(
    sock: socket.socket, address: Address, security: SecurityOptions, deadline: Deadline
) -> Transport:
    """TLS on a socket, which is closed where that fails.

    Raises:
        KafkaTimeoutError: The handshake did not end in time.
        ClosedByPeerError: The other side closed instead.
        TlsError: The two sides cannot agree, or one does not trust the other.
        KafkaConfigError: A file that TLS needs cannot be used.
    """
    try:
        encrypted = _handshake(sock, address, security, deadline)
    except BaseException:
        sock.close()
        raise
    try:
        check_suite((encrypted.cipher() or ("",))[0], security, address)
    except KafkaError:
        encrypted.close()
        raise
    return Transport(encrypted, address, _explain, _MAX_READ_BYTES)


def _explain(error: OSError, address: Address) -> KafkaError:
    if isinstance(error, _RESETS):
        return ClosedByPeerError(f"{address} reset the connection")
    # TLS 1.3 tells after the handshake what a broker thinks of the client's certificate. All else
    # that goes wrong by then may pass, as a broken connection does.
    return late_refusal(error, address) or broken(error, address)


def _handshake(
    sock: socket.socket, address: Address, security: SecurityOptions, deadline: Deadline
) -> ssl.SSLSocket:
    context = client_context(security)
    waited_ms = deadline.remaining_ms
    try:
        sock.settimeout(max(0.001, waited_ms / 1000))
        # A certificate names hosts without the root's dot, and addresses without a zone.
        return context.wrap_socket(sock, server_hostname=address.host.rstrip(".").split("%")[0])
    except TimeoutError:
        raise KafkaTimeoutError(
            f"{address}: the TLS handshake did not end within {waited_ms:.0f} ms; does this "
            f"listener speak TLS? kafka.security.protocol is {security.protocol}"
        ) from None
    except _RESETS as error:
        # This may pass: a broker that goes down does the same.
        raise ClosedByPeerError(
            f"{address} closed the connection in the TLS handshake; does this listener speak TLS? "
            f"kafka.security.protocol is {security.protocol}"
        ) from error
    except ssl.SSLError as error:
        raise tls_error(error, address) from error
    except OSError as error:
        raise BrokerConnectionError(
            f"{address}: the TLS handshake broke: {error.strerror or error}"
        ) from error
