"""What can befall an answer: late, cut, in pieces, twice, mixed up, or an error instead.

A fault takes a handler and returns one, so that faults go on any broker and on top of each other;
of several ways to the client the innermost counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from kafka_protocol.errors import ErrorCode
from kafka_protocol.schema import Response, Struct
from tests.fakes.broker import Close, Delivered, Delivery, Handler, Peer

Fault: TypeAlias = Callable[[Handler], Handler]


# --- Which answers -----------------------------------------------------------------------------


def only(times: int, fault: Fault) -> Fault:
    """The fault for the first `times` answers, none from then on."""

    def wrap(handler: Handler) -> Handler:
        return in_turn(*[fault(handler)] * times, handler)

    return wrap


def in_turn(*handlers: Handler) -> Handler:
    """One handler after the other for one request each, the last one for ever."""
    calls = itertools.count()

    def handle(request: Any, version: int) -> Any:
        return handlers[min(next(calls), len(handlers) - 1)](request, version)

    return handle


# --- On the way --------------------------------------------------------------------------------


def delivered(deliver: Delivery) -> Fault:
    """Answers are right, and get to the client in some other way."""

    def wrap(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            answer = handler(request, version)
            return Delivered(answer, deliver) if isinstance(answer, Response) else answer

        return handle

    return wrap


def cut_after(count: int) -> Fault:
    """The connection closes behind the first `count` bytes of a frame."""

    def deliver(frame: bytes, peer: Peer) -> None:
        raise Close(frame[:count])

    return delivered(deliver)


def delayed(ms: float) -> Fault:
    def deliver(frame: bytes, peer: Peer) -> None:
        peer.pause(ms)
        peer.write(frame)

    return delivered(deliver)


def dribbled() -> Fault:
    """One byte at a time."""

    def deliver(frame: bytes, peer: Peer) -> None:
        for byte in frame:
            peer.write(bytes([byte]))

    return delivered(deliver)


def repeated(times: int = 2) -> Fault:
    return delivered(lambda frame, peer: peer.write(frame * times))


def misaddressed(change: int = 1) -> Fault:
    """The correlation id is that of another request."""

    def deliver(frame: bytes, peer: Peer) -> None:
        correlation_id = int.from_bytes(frame[4:8], "big") + change
        peer.write(frame[:4] + correlation_id.to_bytes(4, "big", signed=True) + frame[8:])

    return delivered(deliver)


def swallowed(handler: Handler) -> Handler:
    """The request has its effect, and the answer is lost; the connection stays open."""

    def handle(request: Any, version: int) -> None:
        handler(request, version)

    return handle


def closing(handler: Handler) -> Handler:
    """The connection closes, and the request has no effect."""

    def handle(request: Any, version: int) -> None:
        raise Close

    return handle


# --- In the answer -----------------------------------------------------------------------------


def changed(change: Callable[[Any], object]) -> Fault:
    """`change` does something to each response."""

    def wrap(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            answer = handler(request, version)
            response = answer.response if isinstance(answer, Delivered) else answer
            if isinstance(response, Response):
                change(response)
            return answer

        return handle

    return wrap


def refusing(error: ErrorCode | int) -> Fault:
    """Every partition, or whatever is innermost in the answer, has an error code.

    The request has its effect all the same.
    """

    def change(response: Response) -> None:
        for struct in [*_innermost(response)]:
            struct.error_code = int(error)

    return changed(change)


def refusing_all(error: ErrorCode | int) -> Fault:
    """The answer as a whole has an error code, and nothing else."""

    def wrap(handler: Handler) -> Handler:
        def handle(request: Any, version: int) -> Any:
            return request.response(error_code=int(error))

        return handle

    return wrap


def _innermost(struct: Any) -> Iterator[Any]:
    """The structs with an error code that hold no other such struct."""
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
