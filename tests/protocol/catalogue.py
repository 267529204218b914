"""Every declared message, found in the package, so that none can be forgotten."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

from kafka_protocol import messages
from kafka_protocol.wire.schema import Message, Request, Response


def _declared_in(module_name: str) -> list[type[Message]]:
    module = importlib.import_module(f"{messages.__name__}.{module_name}")
    return [
        cls
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, Message) and cls.__module__ == module.__name__
    ]


MESSAGES: list[type[Message]] = [
    cls for module in pkgutil.iter_modules(messages.__path__) for cls in _declared_in(module.name)
]
REQUESTS: list[type[Request]] = [cls for cls in MESSAGES if issubclass(cls, Request)]
RESPONSES: list[type[Response]] = [cls for cls in MESSAGES if issubclass(cls, Response)]


def versions_of(cls: type[Message]) -> range:
    return range(cls.versions.lowest, cls.versions.highest + 1)


EVERY_VERSION: list[tuple[type[Message], int]] = [
    (cls, version) for cls in MESSAGES for version in versions_of(cls)
]


def name_of(value: object) -> str:
    """An id for pytest: the message's name, or the version's number."""
    return value.__name__ if isinstance(value, type) else f"v{value}"
