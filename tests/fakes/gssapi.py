"""The library `gssapi` with a scripted exchange, because tests have no KDC."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest


class GSSError(Exception):
    """The error of the library."""


class Wrapped(NamedTuple):
    message: bytes


class Library:
    """The module `gssapi` with one context, whose settings are recorded."""

    NameType = SimpleNamespace(hostbased_service="service", kerberos_principal="principal")
    MechType = SimpleNamespace(kerberos="krb5")
    RequirementFlag = SimpleNamespace(mutual_authentication=2, integrity=32)
    exceptions = SimpleNamespace(GSSError=GSSError)

    def __init__(self) -> None:
        self.context: dict[str, Any] = {}
        # The client's token by the broker's token; the last one is empty with Kerberos.
        self.steps: dict[bytes | None, bytes | None] = {None: b"AP-REQ", b"AP-REP": None}
        self.offer = b"\x01\x00\x00\x00"
        self.complete = False

    def Name(self, name: bytes, kind: str) -> tuple[bytes, str]:
        return name, kind

    def Credentials(self, **of: Any) -> dict[str, Any]:
        return of

    def SecurityContext(self, **settings: Any) -> Library:
        self.context = settings
        return self

    def step(self, token: bytes | None) -> bytes | None:
        if token not in self.steps:
            raise GSSError("Major (589824): Invalid token was supplied")
        response = self.steps.pop(token)
        self.complete = not self.steps
        return response

    def unwrap(self, token: bytes) -> Wrapped:
        if not token.startswith(b"wrapped:"):
            raise GSSError("Major (393216): A token had an invalid signature")
        return Wrapped(token.removeprefix(b"wrapped:"))

    def wrap(self, message: bytes, encrypt: bool) -> Wrapped:
        assert not encrypt
        return Wrapped(b"wrapped:" + message)


def installed_library(monkeypatch: pytest.MonkeyPatch) -> Library:
    """The module that `import gssapi` finds until the test ends."""
    library = Library()
    monkeypatch.setitem(sys.modules, "gssapi", library)
    monkeypatch.setitem(sys.modules, "gssapi.exceptions", library.exceptions)
    return library
