"""Local schema registries start, serve, stop and die on request, and leave nothing behind.

urllib is the client here, so that these tests need no code of this repository to be right.
"""

import json
import os
import signal
import ssl
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafka_spark_source.testing import RegistryStartError, SchemaRegistry
from kafka_spark_source.testing.processes.waiting import Deadline
from tests.integration.leftovers import (
    GONE_SECONDS,
    never,
    traces_of,
)

pytestmark = pytest.mark.integration

FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


def call(url: str, body: object = None, tls: ssl.SSLContext | None = None) -> Any:
    """A GET request, or a POST request with a body in JSON; the response's JSON."""
    request = urllib.request.Request(
        url,
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=30, context=tls) as response:
        return json.load(response)


def register(registry: SchemaRegistry, subject: str, schema: object) -> int:
    url = f"{registry.url}/subjects/{subject}/versions"
    schema_id: int = call(url, {"schema": json.dumps(schema)})["id"]
    return schema_id


@pytest.mark.slow
def test_a_schema_goes_in_and_comes_out(schema_registry: SchemaRegistry) -> None:
    schema_id = register(schema_registry, "lifecycle-value", FIRST)
    found = call(f"{schema_registry.url}/schemas/ids/{schema_id}")
    assert json.loads(found["schema"]) == FIRST
    latest = call(f"{schema_registry.url}/subjects/lifecycle-value/versions/latest")
    assert (latest["id"], latest["version"]) == (schema_id, 1)
    assert schema_registry.client_options == {"schema.registry.url": schema_registry.url}
    assert schema_registry.ca_file is None
    assert schema_registry.url in repr(schema_registry)
    assert "Listening on" in schema_registry.log_file.read_text()


@pytest.mark.slow
def test_two_registries_are_isolated_and_leave_nothing(schema_registry: SchemaRegistry) -> None:
    register(schema_registry, "isolated-value", FIRST)
    with SchemaRegistry() as other:
        assert other.url != schema_registry.url
        assert call(f"{other.url}/subjects") == []
        assert call(f"{other.url}/config") == {"compatibilityLevel": "BACKWARD"}
        register(other, "other-value", FIRST)
        assert "other-value" not in call(f"{schema_registry.url}/subjects")
        any_left = traces_of([other.supervisor_pid, other.pid], other.folder)
    assert not any_left()
    assert "stopped" in repr(other)
    assert call(f"{schema_registry.url}/subjects/isolated-value/versions") == [1]


@pytest.mark.slow
def test_a_registry_with_tls_has_its_own_authority() -> None:
    with SchemaRegistry(tls=True) as registry:
        assert registry.url.startswith("https://127.0.0.1:")
        options = registry.client_options
        assert options["schema.registry.ssl.truststore.type"] == "PEM"
        assert options["schema.registry.ssl.truststore.location"] == str(registry.ca_file)
        trusting = ssl.create_default_context(cafile=str(registry.ca_file))
        assert call(f"{registry.url}/subjects", tls=trusting) == []
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            call(f"{registry.url}/subjects")
        command_line = Path(f"/proc/{registry.pid}/cmdline")
        settings = registry.folder / "config" / "application.properties"
        password = settings.read_text().partition("=")[2].strip()
        assert password
        assert not command_line.exists() or password not in command_line.read_text()

        os.kill(registry.pid, signal.SIGKILL)
        with pytest.raises(RegistryStartError, match=r"schema registry .* was ended by SIGKILL"):
            Deadline(GONE_SECONDS).wait_for(partial(never, registry.check))
