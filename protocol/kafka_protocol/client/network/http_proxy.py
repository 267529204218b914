"""The proxies of the environment, for https: a tunnel to the server, whose TLS they cannot read.

`https_proxy`, `all_proxy` and `no_proxy` mean what they mean for curl and Python's urllib. A server
on this machine needs no proxy, and one that is asked by http gets none: it would see the request.
"""

from __future__ import annotations

import base64
import os
import re
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from kafka_protocol.auth.secret import Secret
from kafka_protocol.client.clock import Deadline
from kafka_protocol.client.config.addresses import Address
from kafka_protocol.client.network.connect import connect_tcp
from kafka_protocol.client.network.transport import Transport
from kafka_protocol.errors import AuthenticationError, BrokerConnectionError, KafkaConfigError

_VARIABLES: Final = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
_DEFAULT_PORT: Final = 80
_MAX_HEAD_BYTES: Final = 64 * 1024
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3})(?: |\r)")
_NEEDS_LOGIN: Final = 407


class Proxy(NamedTuple):
    """A proxy: its address, and the user and password for it, if there are any."""

    address: Address
    authorization: Secret | None


def proxy_for(address: Address) -> Proxy | None:
    """The proxy of the environment for a server; None if it is reached directly.

    Raises:
        KafkaConfigError: The variable is not the URL of an http proxy.
    """
    if not any(map(os.environ.get, _VARIABLES)) or _is_here(address.host):
        return None
    from urllib import request  # noqa: PLC0415 - slow, and only where there is a proxy

    # Not `proxy_bypass`, which asks the system's settings on macOS.
    is_bypassed: Callable[..., bool] = vars(request)["proxy_bypass_environment"]
    urls = request.getproxies_environment()
    url = urls.get("https") or urls.get("all")
    if not url or is_bypassed(f"{address.host}:{address.port}", urls):
        return None
    return _parsed(url)


def open_tunnel(proxy: Proxy, address: Address, deadline: Deadline) -> socket.socket:
    """Connect to a server through a proxy (RFC 9110, section 9.3.6).

    Raises:
        AuthenticationError: The proxy wants a login, or another one.
        BrokerConnectionError, KafkaTimeoutError: The proxy cannot be reached, or did not connect.
    """
    sock = connect_tcp(proxy.address, deadline)
    try:
        _ask(Transport(sock, proxy.address), proxy, address, deadline)
    except BaseException:
        sock.close()
        raise
    return sock


def _ask(transport: Transport, proxy: Proxy, address: Address, deadline: Deadline) -> None:
    host = f"[{address.host}]" if ":" in address.host else address.host
    lines = [f"CONNECT {host}:{address.port} HTTP/1.1", f"Host: {host}:{address.port}"]
    if proxy.authorization is not None:
        lines.append(f"Proxy-Authorization: Basic {proxy.authorization.reveal()}")
    if not all(map(str.isprintable, lines)):
        raise KafkaConfigError("the host name or the proxy's user has a control character")
    transport.write(["\r\n".join([*lines, "", ""]).encode()], deadline)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        if b"\r\n\r\n" in head or len(head) > _MAX_HEAD_BYTES:
            raise BrokerConnectionError(f"the proxy {proxy.address} sent more than a response")
        head += transport.read(1, deadline)
    status = _STATUS.match(head)
    code = int(status[1]) if status else 0
    if code == _NEEDS_LOGIN:
        raise AuthenticationError(
            f"the proxy {proxy.address} wants a user and a password, or others: set "
            "https_proxy=http://user:password@host:port"
        )
    if not 200 <= code < 300:
        raise BrokerConnectionError(
            f"the proxy {proxy.address} did not connect to {address}: it responded with "
            f"{code or 'something else than HTTP'}. If it needs no proxy, name the host in no_proxy"
        )


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _parsed(url: str) -> Proxy:
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port or _DEFAULT_PORT
    except ValueError:
        host = None
    if not host or parts.scheme != "http":
        # Without the value, which may have a password.
        raise KafkaConfigError("https_proxy must be http://host:port, with or without a user")
    authorization = None
    if parts.username is not None:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = Secret(base64.b64encode(user.encode()).decode())
    return Proxy(Address(host, port), authorization)
