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

from kafka_spark_source.testing import LocalBrokerError, RegistryStartError, SchemaRegistry
from kafka_spark_source.testing.waiting import Deadline
from tests.integration.leftovers import (
    GONE_SECONDS,
    expect_end_with_parent,
    never,
    traces_of,
)

pytestmark = pytest.mark.integration

FIRST = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
# A reader of this schema cannot read records of the first one: `text` has no default.
INCOMPATIBLE = {**FIRST, "fields": [*FIRST["fields"], {"name": "text", "type": "string"}]}


def call(url: str, body: object = None, tls: ssl.SSLContext | None = None) -> Any:
    """A GET request, or a POST request with a body in JSON; the response's JSON."""
    request = urllib.request.Request(
        url,
        None if body is None else json.dumps(body).encode(),
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=30, context=tls) as response:
        return json.load(response)


def register(
    registry: SchemaRegistry, subject: str, schema: object, indent: int | None = None
) -> int:
    url = f"{registry.url}/subjects/{subject}/versions"
    schema_id: int = call(url, {"schema": json.dumps(schema, indent=indent)})["id"]
    return schema_id


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


def test_white_space_makes_no_other_schema(schema_registry: SchemaRegistry) -> None:
    schema_id = register(schema_registry, "spaces-value", FIRST)
    assert register(schema_registry, "spaces-value", FIRST, indent=4) == schema_id
    assert call(f"{schema_registry.url}/subjects/spaces-value/versions") == [1]


def test_an_incompatible_schema_is_refused(schema_registry: SchemaRegistry) -> None:
    register(schema_registry, "compatible-value", FIRST)
    with pytest.raises(urllib.error.HTTPError) as info:
        register(schema_registry, "compatible-value", INCOMPATIBLE)
    with info.value as response:
        assert response.code == 409


def test_a_started_registry_cannot_be_started_again(schema_registry: SchemaRegistry) -> None:
    with pytest.raises(LocalBrokerError, match="has been started already"):
        schema_registry.start()


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


def test_a_registry_that_dies_at_its_start_is_reported_at_once() -> None:
    registry = SchemaRegistry(jvm_flags=["-XX:NoSuchFlag=1"])
    with pytest.raises(RegistryStartError, match=r"Apicurio Registry 2\.6\.13\.Final") as info:
        registry.start()
    assert "ended with exit code 1. The end of its log:" in str(info.value)
    assert any("NoSuchFlag" in line for line in info.value.log_tail)
    assert "stopped" in repr(registry)


def test_a_registry_that_starts_too_slowly_is_reported() -> None:
    with pytest.raises(RegistryStartError, match=r"was not ready after 0\.2 s"):
        SchemaRegistry(start_timeout=0.2).start()


# Starts a registry, prints its processes and its folder, and waits.
PARENT = """
    import signal
    from kafka_spark_source.testing import SchemaRegistry
    with SchemaRegistry() as registry:
        print(registry.supervisor_pid, registry.pid, registry.folder, flush=True)
        signal.pause()
"""


def test_a_registry_does_not_outlive_its_parent(tmp_path: Path) -> None:
    expect_end_with_parent(PARENT, signal.SIGKILL, tmp_path / "stderr")
