"""The broker's end of one connection: bytes to requests, responses to bytes, one at a time."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_protocol.errors import KafkaError
from kafka_protocol.messages.api_versions import ApiVersionsRequest
from kafka_protocol.wire import primitives as p
from kafka_protocol.wire.api_keys import ApiKey
from kafka_protocol.wire.codec import read_message
from kafka_protocol.wire.framing import request_header_version
from kafka_protocol.wire.schema import Request, Response
from tests.fakes.frames import encode_response
from tests.simulation.kafka.broker import Broker
from tests.simulation.kafka.call import Call, Handler

_HEADER: Final = struct.Struct(">hhi")
_STORED: Final = (ApiKey.FETCH, ApiKey.PRODUCE)
_BEFORE_LOGIN: Final = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)


class BrokerSession:
    """A connection, as its broker sees it."""

    def __init__(
        self,
        broker: Broker,
        handlers: Mapping[int, tuple[type[Request], Handler]],
        reply: Callable[[bytes], None],
        close: Callable[[], None],
    ) -> None:
        self.broker = broker
        self._handlers = handlers
        self._reply = reply
        self._close = close
        self._received = bytearray()
        self._requests: deque[bytes] = deque()
        self._is_busy = False
        self._is_closed = False
        self._service = broker.settings.service
        self._served = 0
        self.logged_in_until_ms = 0.0  # where connections have tokens

    def receive(self, data: bytes) -> None:
        """Bytes as they arrive, in any pieces."""
        if self._is_closed:
            return
        self._received += data
        while len(self._received) >= 4:
            size = int.from_bytes(self._received[:4], "big", signed=True)
            if not _HEADER.size <= size <= self._service.most_request_bytes:
                self.close()
                return
            if len(self._received) < 4 + size:
                return
            self._requests.append(bytes(self._received[4 : 4 + size]))
            del self._received[: 4 + size]
            self._next()

    def closed_by_client(self) -> None:
        """The client has closed: what it asked for is still done, nobody hears of it."""
        self._is_closed = True
        if self in self.broker.sessions:
            self.broker.sessions.remove(self)

    def close(self) -> None:
        """The broker closes."""
        if not self._is_closed:
            self.closed_by_client()
            self._close()

    def _next(self) -> None:
        if self._is_busy or not self._requests:
            return
        self._is_busy = True
        frame = self._requests.popleft()
        broker = self.broker
        ms = broker.draw(broker.settings.request)
        if _HEADER.unpack_from(frame)[0] in _STORED and self._service.storage_ms[1]:
            ms += broker.scheduler.random.uniform(*self._service.storage_ms)
        broker.after(ms, lambda: self._serve(frame))

    def _serve(self, frame: bytes) -> None:
        api_key, version, correlation_id = _HEADER.unpack_from(frame)
        served = self.broker.versions.get(api_key)
        kind, handler = self._handlers.get(api_key, (None, None))
        is_served = served is not None and version in served
        is_asked_for_versions = kind is ApiVersionsRequest and served is not None
        if self._refuses(api_key, version):
            self.close()
            return
        if kind is None or handler is None or not (is_served or is_asked_for_versions):
            self.close()  # as brokers do
            return
        request = None
        if is_served:
            try:
                request = _read(kind, version, memoryview(frame))
            except KafkaError:
                self.close()
                return
        answered = False

        def respond(response: Response | None, mute_ms: float = 0) -> None:
            nonlocal answered
            if answered:
                raise AssertionError(f"{kind.__name__} is answered twice")
            answered = True
            self._answer(response, version, correlation_id, mute_ms)

        handler(Call(self.broker, request, version, respond, self.close, session=self))

    def _refuses(self, api_key: int, version: int) -> bool:
        """Whether the service closes a connection at such a request."""
        if api_key == ApiKey.API_VERSIONS:
            return version > self._service.newest_versions
        needs_login = bool(self._service.connects) and api_key not in _BEFORE_LOGIN
        return needs_login and self.broker.now_ms > self.logged_in_until_ms

    def _answer(
        self, response: Response | None, version: int, correlation_id: int, mute_ms: float
    ) -> None:
        if response is not None and not self._is_closed:
            self._reply(encode_response(response, version, correlation_id))
        if mute_ms:
            self.broker.after(mute_ms, self._unmute)
        else:
            self._unmute()

    def _unmute(self) -> None:
        self._is_busy = False
        if not self._is_closed:
            self._close_when_idle()
            self._next()

    def _close_when_idle(self) -> None:
        self._served += 1
        served, idle_ms = self._served, self._service.idle_ms

        def check() -> None:
            if self._served == served and not self._is_busy:
                self.close()

        if idle_ms:
            self.broker.after(idle_ms, check)


def _read(kind: type[Request], version: int, frame: memoryview) -> Any:
    _, pos = p.read_nullable_string(frame, _HEADER.size)
    if request_header_version(kind, version) == 2:
        count, pos = p.read_unsigned_varint(frame, pos)
        for _ in range(count):
            _, pos = p.read_unsigned_varint(frame, pos)
            size, pos = p.read_unsigned_varint(frame, pos)
            pos += size
    return read_message(kind, version, frame[pos:])
