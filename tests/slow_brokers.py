"""A plugin of pytest: scripted brokers pause before some requests and responses.

    python -m pytest -p tests.slow_brokers tests/protocol/client

On a busy machine a thread may wait for tens of milliseconds before it goes on. A test that depends
on the order or the time of two threads passes elsewhere; with this plugin it fails sooner.
"""

from __future__ import annotations

import random
import time
from typing import Final

from tests.fakes.broker import Peer, ScriptedBroker

_SHARE: Final = 0.3
_MOST_SECONDS: Final = 0.06

_respond, _write = ScriptedBroker._respond, Peer.write


def pytest_configure() -> None:
    """Replace methods of the scripted broker in this process."""
    setattr(ScriptedBroker, "_respond", _respond_late)  # noqa: B010 - mypy refuses assignments
    setattr(Peer, "write", _write_late)  # noqa: B010


def _respond_late(broker: ScriptedBroker, frame: memoryview, peer: Peer) -> None:
    _pause()
    _respond(broker, frame, peer)


def _write_late(peer: Peer, data: bytes | memoryview) -> None:
    _pause()
    _write(peer, data)


def _pause() -> None:
    if random.random() < _SHARE:
        time.sleep(random.random() * _MOST_SECONDS)
