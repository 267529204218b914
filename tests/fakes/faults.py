"""Faults of a response: late, truncated, in pieces, twice, mixed up, or an error.

A fault takes a handler and returns one, so that faults fit any broker and can be combined; of
several deliveries the innermost is used.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from kafka_protocol.errors import ErrorCode
from kafka_protocol.messages.fetch import FetchResponse
from kafka_protocol.messages.metadata import MetadataResponse
from kafka_protocol.wire.schema import Response, Struct
from tests.fakes.broker import Close, Delivered, Delivery, Handler, Peer

Fault: TypeAlias = Callable[[Handler], Handler]


def errors(names: str) -> list[ErrorCode]:
    """Errors by their names, with spaces between them."""
    return [ErrorCode[name] for name in names.split()]


@contextmanager
def later(seconds: float, change: Callable[..., object], *arguments: object) -> Iterator[None]:
    """Change the brokers while the block runs; the block ends after the change."""
    timer = threading.Timer(seconds, change, arguments)
    timer.start()
    try:
        yield
    finally:
        timer.join(timeout=10)


# --- Which responses -----------------------------------------------------------------------------


def only(times: int, fault: Fault) -> Fault:
    """The fault for the first `times` responses."""

    def wrap(handler: Handler) -> Handler:
        return in_turn(*[fault(handler)] * times, handler)

    return wrap


def in_turn(*handlers: Handler) -> Handler:
    """Each handler for one request, and the last one for all further ones."""
    calls = itertools.count()

    def handle(request: Any, version: int) -> Any:
        return handlers[min(next(calls), len(handlers) - 1)](request, version)

    return handle


# --- Delivery ------------------------------------------------------------------------------------


def delivered(deliver: Delivery) -> Fault:
    """The response is correct, and `deliver` sends it to the client."""

    def wrap(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            response = handler(request, version)
            return Delivered(response, deliver) if isinstance(response, Response) else response

        return handle

    return wrap


def cut_after(count: int) -> Fault:
    """The connection closes after the first `count` bytes of a frame."""

    def deliver(frame: bytes, peer: Peer) -> None:
        raise Close(frame[:count])

    return delivered(deliver)


def delayed(ms: float) -> Fault:
    def deliver(frame: bytes, peer: Peer) -> None:
        peer.pause(ms)
        peer.write(frame)

    return delivered(deliver)


def byte_by_byte() -> Fault:
    def deliver(frame: bytes, peer: Peer) -> None:
        for byte in frame:
            peer.write(bytes([byte]))

    return delivered(deliver)


def repeated(times: int = 2) -> Fault:
    return delivered(lambda frame, peer: peer.write(frame * times))


def wrong_correlation_id(change: int = 1) -> Fault:
    def deliver(frame: bytes, peer: Peer) -> None:
        correlation_id = int.from_bytes(frame[4:8], "big") + change
        peer.write(frame[:4] + correlation_id.to_bytes(4, "big", signed=True) + frame[8:])

    return delivered(deliver)


def response_lost(handler: Handler) -> Handler:
    """The request has its effect, without a response; the connection stays open."""

    def handle(request: Any, version: int) -> None:
        handler(request, version)

    return handle


def closing(handler: Handler) -> Handler:
    """The connection closes, and the request has no effect."""

    def handle(request: Any, version: int) -> None:
        raise Close

    return handle


class HalfOpen:
    """Connections that stay open and pass nothing more, once they are silenced; new ones work.

    Attributes:
        swallowed: The number of responses that did not come.
    """

    def __init__(self) -> None:
        self.swallowed = 0
        self._used: set[Peer] = set()
        self._silent: set[Peer] = set()

    def __call__(self, handler: Handler) -> Handler:
        return delivered(self._deliver)(handler)

    def silence(self) -> None:
        """All connections on which a response came."""
        self._silent |= self._used

    def _deliver(self, frame: bytes, peer: Peer) -> None:
        if peer in self._silent:
            self.swallowed += 1
        else:
            self._used.add(peer)
            peer.write(frame)


# --- Content -------------------------------------------------------------------------------------


LOST: Final[dict[str, Fault]] = {
    "cut": cut_after(11),
    "for another request": wrong_correlation_id(),
    "closed before": closing,
    "swallowed": response_lost,
}
"""The ways in which a response can be lost after the broker did what was requested."""


def changed(change: Callable[[Any], object]) -> Fault:
    """`change` modifies each response."""

    def wrap(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            result = handler(request, version)
            response = result.response if isinstance(result, Delivered) else result
            if isinstance(response, Response):
                change(response)
            return result

        return handle

    return wrap


def granting(bits: int) -> Fault:
    """Metadata responses tell these rights on each topic, a bit for each operation."""

    def grant(response: MetadataResponse) -> None:
        for topic in response.topics:
            topic.topic_authorized_operations = bits

    return changed(grant)


def records_cut_at(lengths: list[int]) -> Fault:
    """Each Fetch response takes one of the lengths, and has only that many bytes of records."""

    def cut(response: FetchResponse) -> None:
        data = response.responses[0].partitions[0]
        if lengths:
            data.records = (data.records or b"")[: lengths.pop()]

    return changed(cut)


def refusing(error: ErrorCode | int) -> Fault:
    """All partitions (innermost structs) have an error code; the request has its effect."""

    def change(response: Response) -> None:
        for struct in [*_innermost(response)]:
            struct.error_code = int(error)

    return changed(change)


def refusing_all(error: ErrorCode | int) -> Fault:
    """The response has only a top-level error code; the request has no effect."""

    def wrap(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            return request.response(error_code=int(error))

        return handle

    return wrap


def _innermost(struct: Any) -> Iterator[Any]:
    """The structs with an error code that contain no other such struct."""
    inner = [
        found
        for declared in struct.__fields__
        for child in _structs(getattr(struct, declared.name))
        for found in _innermost(child)
    ]
    if inner:
        yield from inner
    elif hasattr(struct, "error_code"):
        yield struct


def _structs(value: object) -> list[Struct]:
    values = value if isinstance(value, list) else [value]
    return [value for value in values if isinstance(value, Struct)]
