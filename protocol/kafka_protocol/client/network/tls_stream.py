"""TLS on a connected socket. Imported only where TLS is used, because `ssl` is slow to import.

The meaning of the options and the error texts are in `tls`.
"""

from __future__ import annotations

import socket
import ssl
from functools import partial
from typing import Final

from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.config.security_options import SecurityOptions, ServerTerms
from kafka_protocol.client.network.tls import (
    certificate_refusal,
    check_suite,
    client_context,
    tls_error,
)
from kafka_protocol.client.network.transport import ClosedByPeerError, Transport, tcp_error
from kafka_protocol.errors import BrokerConnectionError, KafkaError, KafkaTimeoutError

# TLS returns at most one record of 16 KiB per read.
_MAX_READ_BYTES: Final = 16 * 1024

# The errors of a peer that closes without a TLS alert.
_RESETS: Final = (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


def start_tls(
    sock: socket.socket, address: Address, security: SecurityOptions, deadline: Deadline
) -> Transport:
    """Start TLS on a socket, which is closed if that fails.

    Raises:
        KafkaTimeoutError: The handshake did not end in time.
        ClosedByPeerError: The peer closed the connection during the handshake.
        TlsError: The two sides cannot agree, or one does not trust the other.
        KafkaConfigError: A file that TLS needs cannot be used.
    """
    try:
        encrypted = handshake(sock, address, security, deadline)
    except BaseException:
        sock.close()
        raise
    try:
        check_suite((encrypted.cipher() or ("",))[0], security, address)
    except KafkaError:
        encrypted.close()
        raise
    return Transport(encrypted, address, partial(_explain, security.server), _MAX_READ_BYTES)


def _explain(server: ServerTerms, error: OSError, address: Address) -> KafkaError:
    if isinstance(error, _RESETS):
        return ClosedByPeerError(f"{address} reset the connection")
    # With TLS 1.3 a broker refuses the client's certificate only after the handshake. All other
    # errors at that point are retriable, like the errors of a broken connection.
    # point: late-refusal
    return certificate_refusal(error, address, server) or tcp_error(error, address)


def handshake(
    sock: socket.socket, address: Address, security: SecurityOptions, deadline: Deadline
) -> ssl.SSLSocket:
    """The socket with TLS. The caller closes it if this fails; raises as `start_tls`."""
    context = client_context(security)
    waited_ms = deadline.remaining_ms
    tls_doubt = security.server.tls_doubt.format(protocol=security.protocol)
    try:
        sock.settimeout(max(0.001, waited_ms / 1000))
        # Certificates name hosts without the final dot, and IP addresses without a zone.
        return context.wrap_socket(sock, server_hostname=address.host.rstrip(".").split("%")[0])
    except TimeoutError:
        raise KafkaTimeoutError(
            f"{address}: the TLS handshake did not end within {waited_ms:.0f} ms; {tls_doubt}"
        ) from None
    except _RESETS as error:
        # Retriable: a broker that is going down does the same.
        raise ClosedByPeerError(
            f"{address} closed the connection in the TLS handshake; {tls_doubt}"
        ) from error
    except ssl.SSLError as error:
        raise tls_error(error, address, security.server) from error
    except OSError as error:
        raise BrokerConnectionError(
            f"{address}: the TLS handshake broke: {error.strerror or error}"
        ) from error
