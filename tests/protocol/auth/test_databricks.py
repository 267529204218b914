"""Service credentials of Unity Catalog, by modules that behave as Databricks documents its own."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from kafka_protocol.auth.databricks import databricks_token
from kafka_protocol.auth.secret import Secret
from kafka_protocol.auth.token import AccessToken
from kafka_protocol.errors import AuthenticationError, KafkaConfigError
from tests.secret_check import PASSWORD

HOST = "my-namespace.servicebus.windows.net"
ENDS_S = 1_900_000_000


class Credential:
    """As azure-identity's."""

    def __init__(self, name: str, token: object = None) -> None:
        self.name = name
        self.scopes: list[str] = []
        self._token = token or SimpleNamespace(token=PASSWORD, expires_on=ENDS_S)

    def get_token(self, scope: str) -> object:
        self.scopes.append(scope)
        return self._token


@pytest.fixture(autouse=True)
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The modules of Databricks by name: none yet."""
    added = {f"databricks.{name}": None for name in ("service_credentials", "sdk.runtime")}
    for name in ("databricks", "databricks.sdk"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    for name, module in added.items():
        monkeypatch.setitem(sys.modules, name, module)
    return sys.modules


def in_a_worker(modules: dict[str, Any], give: Any) -> None:
    module: Any = ModuleType("databricks.service_credentials")
    module.getServiceCredentialsProvider = give
    modules["databricks.service_credentials"] = module


@pytest.mark.parametrize("scope", [None, "api://other/.default"])
def test_in_a_python_worker(modules: dict[str, Any], scope: str | None) -> None:
    given: list[Credential] = []

    def give(name: str) -> Credential:
        given.append(Credential(name))
        return given[-1]

    in_a_worker(modules, give)
    assert databricks_token(HOST, scope, "events") == AccessToken(Secret(PASSWORD), ENDS_S)
    (credential,) = given
    assert credential.name == "events"
    assert credential.scopes == [scope or f"https://{HOST}/.default"]


def test_in_a_notebook(modules: dict[str, Any]) -> None:
    runtime: Any = ModuleType("databricks.sdk.runtime")
    credentials = SimpleNamespace(getServiceCredentialsProvider=Credential)
    runtime.dbutils = SimpleNamespace(credentials=credentials)
    modules["databricks.sdk.runtime"] = runtime
    assert databricks_token(HOST, None, "events").text == Secret(PASSWORD)


def test_elsewhere() -> None:
    with pytest.raises(KafkaConfigError, match="this process is not one of Databricks"):
        databricks_token(HOST, None, "events")


def test_mistakes(modules: dict[str, Any]) -> None:
    with pytest.raises(KafkaConfigError, match=r"client\.id' must be the name"):
        databricks_token(HOST, None, None)
    in_a_worker(modules, Credential)
    with pytest.raises(KafkaConfigError, match="is not a host of Event Hubs"):
        databricks_token("broker", None, "events")
    in_a_worker(modules, lambda _: object())
    with pytest.raises(KafkaConfigError, match=r"'events' gives no tokens of Azure"):
        databricks_token(HOST, None, "events")


@pytest.mark.parametrize("token", [object(), SimpleNamespace(token=PASSWORD, expires_on="soon")])
def test_what_is_no_token(modules: dict[str, Any], token: object) -> None:
    in_a_worker(modules, lambda name: Credential(name, token))
    with pytest.raises(AuthenticationError, match="'events' gave no token") as caught:
        databricks_token(HOST, None, "events")
    assert PASSWORD not in str(caught.value)
