"""Makes errors from a registry's responses: request, URL, status, and the cure. No I/O.

Error codes are matched, never messages: Apicurio's messages differ from Confluent's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from kafka_formats.errors import (
    ForbiddenError,
    NotFoundError,
    RefusedRequestError,
    RegistryError,
    UnknownPathError,
)
from kafka_formats.registry.responses import ErrorBody, read_error
from kafka_protocol.auth.mechanism import shown
from kafka_protocol.client.network.http_request import HttpResponse

_MAX_SNIPPET: Final = 100
_NOT_FOUND_CODES: Final = frozenset({40401, 40402, 40403})
_CREDENTIALS: Final = (
    "check schema.registry.basic.auth.* or schema.registry.bearer.auth.* of this client"
)
_PATH: Final = (
    "check the path in schema.registry.url: Apicurio's is /apis/ccompat/v7, Confluent's is empty"
)
# By error code, else by status.
_ADVICE: Final[Mapping[int, str]] = {
    40401: "check the subject's name",
    40402: "check the versions of the subject",
    40403: "check that schema.registry.url is the registry that the writers use",
    401: _CREDENTIALS,
    403: "grant this client the right to do this in the registry",
    404: _PATH,
    405: _PATH,
    409: "the schema is incompatible with earlier versions of the subject: change it, or the "
    "subject's compatibility level",
    422: "the registry does not accept this schema, version or subject",
}


class Reply(NamedTuple):
    """A response, and the URL that it is from."""

    url: str
    response: HttpResponse

    @property
    def is_retriable(self) -> bool:
        """Whether the same request may succeed later, or at another URL."""
        return self.response.status in (408, 429) or self.response.status >= 500

    @property
    def place(self) -> str:
        """The URL without its query, which a redirect may have filled with anything."""
        return self.url.partition("?")[0]

    def described(self, hide: Callable[[str], str]) -> str:
        """URL, status, and the error in the body or the beginning of another body."""
        error = read_error(self.response.body)
        said = _message(error, hide) or self.snippet(hide)
        return f"{self.place} responded with {self.response.status} ({said})"

    def snippet(self, hide: Callable[[str], str]) -> str:
        """The content type and the first characters of the body."""
        start = hide(self.response.body.decode(errors="replace"))
        content_type = shown(hide(self.response.content_type), _MAX_SNIPPET) or "no content type"
        return f"{content_type}: {shown(start, _MAX_SNIPPET)!r}"


def refusal(about: str, reply: Reply, hide: Callable[[str], str]) -> RegistryError:
    """The error for a response that is not a success. `hide` removes secrets from a text."""
    status, code = reply.response.status, read_error(reply.response.body).code
    advice = _ADVICE.get(code) or _ADVICE.get(status) or _PATH
    kind = RefusedRequestError if status in (400, 422) else RegistryError
    if status == 404:
        kind = NotFoundError if code in _NOT_FOUND_CODES else UnknownPathError
    elif status in (403, 405):
        kind = ForbiddenError
    return kind(f"{about}: {reply.described(hide)}; {advice}")


@contextmanager
def missing_if_served(
    about: str, otherwise: str, is_registry: Callable[[], bool]
) -> Iterator[None]:
    """Make a 404 that may be that of a wrong URL a NotFoundError, if the URL is a registry's.

    Args:
        about: The schema, for errors.
        otherwise: What a 404 of a registry means.
        is_registry: Whether the URL leads to a registry.
    """
    try:
        yield
    except UnknownPathError as error:
        if not is_registry():
            raise
        raise NotFoundError(
            f"{about}: the registry responded with 404, without an error code; it does serve other "
            f"requests, so {otherwise}"
        ) from error


def unusable(about: str, reply: Reply, reason: str, hide: Callable[[str], str]) -> RegistryError:
    """The error for a success with a body that it must not have."""
    return RegistryError(
        f"{about}: {reply.place} responded with {reply.response.status}, but not as a schema "
        f"registry does: {reason} ({reply.snippet(hide)}); {_PATH}"
    )


def _message(error: ErrorBody, hide: Callable[[str], str]) -> str:
    parts = [f"error code {error.code}"] if error.code else []
    return ": ".join([*parts, *([shown(hide(error.message))] if error.message else [])])
