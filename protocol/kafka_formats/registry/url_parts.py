"""The URLs of registries: taken apart and compared. No I/O; `failover` chooses among them.

No error contains a URL, which may have a password.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urljoin, urlsplit


class Url(NamedTuple):
    """A URL without its user and without a slash at the end, and `user:password` if it had one."""

    text: str
    user_info: str | None


def parse_url(text: str) -> Url:
    """Take an http or https URL apart.

    Raises:
        ValueError: It is something else, or has a query.
    """
    parts = _split(text)
    if parts.query or parts.fragment or set(text) & set("?#"):
        raise ValueError("it has a query")
    user, at, host = parts.netloc.rpartition("@")
    plain = f"{parts.scheme}://{host}{parts.path}".rstrip("/")
    return Url(plain, unquote(user) if at else None)


def redirect_target(url: str, location: str) -> str | None:
    """The URL to which a response from `url` redirects; None if that is another server.

    Raises:
        ValueError: The location is not a URL.
    """
    target = _split(urljoin(url, location))
    is_same = _origin(target) == _origin(_split(url)) and target.username is None
    return target._replace(fragment="").geturl() if is_same else None


def without_query(url: str, location: str) -> str:
    """The URL to which a response redirects, without user and query, for errors.

    Raises:
        ValueError: The location is not a URL.
    """
    target = _split(urljoin(url, location))
    return f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}"


def _split(text: str) -> SplitResult:
    """Split a URL; `urlsplit` ignores tabs and line breaks, and accepts any port."""
    parts = urlsplit(text)
    is_plain = text.isascii() and text.isprintable() and " " not in text
    if parts.scheme not in _PORTS or not parts.hostname or parts.port == 0 or not is_plain:
        raise ValueError("it is not https://host:port/path in ASCII")
    return parts


_PORTS = {"http": 80, "https": 443}


def _origin(parts: SplitResult) -> tuple[str, str | None, int]:
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]
