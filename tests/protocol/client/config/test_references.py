"""References of options: resolved as Java's config providers do, in each process, never shown."""

from __future__ import annotations

import os
import pickle
import random
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from kafka_formats.registry.config import RegistryConfig
from kafka_formats.registry.glue_config import GlueConfig
from kafka_protocol.client.config.client import ClientConfig
from kafka_protocol.client.config.references import resolved
from kafka_protocol.errors import KafkaConfigError
from tests.config_error import config_error
from tests.protocol.kafka_jar import BEFORE_4, CURRENT, KafkaJar
from tests.tiers import first_are_quick

_TEXTS: Final = 3_000
_BROKERS: Final = {"bootstrap.servers": "localhost:1"}
_SECRET: Final = "correct horse"
HAS_REFERENCE: Final = re.compile(r"\$\{(?:env|file|directory):[^}]*\}")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Variables, a file of properties and a directory: names and values as people have them."""
    monkeypatch.setenv("AZ", "eu-1a")
    monkeypatch.setenv("OTHER_AZ", "x$y\\1")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.setenv("PASSWORD", _SECRET)
    monkeypatch.delenv("MISSING", raising=False)
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    (mounted / "secrets.properties").write_text("user=alice\npass\\:word = a\\tb \nempty=\nü=ö\n")
    (mounted / "password").write_text("p\nq \n")
    (mounted / "empty").write_text("")
    (tmp_path / "outside").write_text("key=outside")
    # As Kubernetes mounts a secret.
    (mounted / "linked").symlink_to(mounted / "password")
    return mounted


@pytest.mark.parametrize("version", first_are_quick([CURRENT, BEFORE_4]))
def test_texts_are_resolved_as_by_java(
    kafka_jar: Callable[[str], KafkaJar], folder: Path, version: str
) -> None:
    drawn = random.Random(63)
    names = ["AZ", "OTHER_AZ", "EMPTY", "MISSING", "PASSWORD", "az", ""]
    keys = ["user", "pass:word", "empty", "ü", "none", "key", ""]
    files = ["password", "empty", "linked", "none", "secrets.properties", "..", ""]
    paths = [folder / "secrets.properties", folder / "none", folder.parent / "outside", folder, ""]
    directories = [folder, f"{folder}/", f"{folder}/../mounted", folder.parent, "/none", ""]
    pick = drawn.choice

    def piece() -> str:
        return pick(
            [
                f"${{env:{pick(names)}}}",
                f"${{file:{pick(paths)}:{pick(keys)}}}",
                f"${{directory:{pick(directories)}:{pick(files)}}}",
                pick(["a", "${", "}", ":", "$", "\\", "{", "env", "${env:", "ß", "\n", "${x:y}"]),
            ]
        )

    texts = ["".join(piece() for _ in range(drawn.randrange(1, 5))) for _ in range(_TEXTS)]
    given = folder / "texts"
    given.write_text("\n".join(text.encode().hex() for text in texts))
    allowlist = "[A-Z_]*AZ|EMPTY|MISSING"
    output = kafka_jar(version).run("ResolveReferences.java", str(given), allowlist, str(folder))
    options = {
        "config.providers.env.param.allowlist.pattern": allowlist,
        "config.providers.file.param.allowed.paths": str(folder),
        "config.providers.directory.param.allowed.paths": str(folder),
    }
    refusals = 0
    for text, line in zip(texts, output.splitlines(), strict=True):
        try:
            value = resolved({"k": text, **options}, "kafka.")["k"]
        except KafkaConfigError:
            refusals += 1
            # What has no value is left as it is by Java, or refused.
            assert line.startswith("refused") or HAS_REFERENCE.search(bytes.fromhex(line).decode())
        else:
            assert line == value.encode().hex(), text
    assert _TEXTS * 0.2 < refusals < _TEXTS * 0.9


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("${env:MISSING}", "has no such variable"),
        ("${env:/etc:AZ}", r"no paths, write \$\{env:NAME\}"),
        ("${file:{folder}/secrets.properties:none}", "the file has no such key"),
        ("${file:{folder}/none:user}", "No such file or directory"),
        ("${file:{folder}:user}", "not a file"),
        ("${file:/dev/zero:user}", "not a file"),
        ("${file:user}", "names no path"),
        ("${directory:{folder}:none}", "No such file or directory"),
        ("${directory:{folder}:../outside}", "the name of a file in the directory"),
        ("${directory:password}", "the name of a file in the directory"),
        ("${file:{folder}/large:user}", "more than 1048576 bytes"),
        ("${directory:{folder}:binary}", "not UTF-8"),
    ],
)
def test_a_reference_without_a_value(folder: Path, text: str, reason: str) -> None:
    (folder / "large").write_bytes(b"#" * (1 << 20) + b"\nuser=a")
    (folder / "binary").write_bytes(b"\xff")
    text = text.replace("{folder}", str(folder))
    with pytest.raises(KafkaConfigError, match=reason) as caught:
        ClientConfig.from_options({**_BROKERS, "client.id": f"a-{text}"})
    assert f"Option 'kafka.client.id' refers to {text}, which has no value on " in str(caught.value)


def test_each_part_of_an_option_is_resolved(folder: Path) -> None:
    options = {
        "bootstrap.servers": "${env:AZ}.broker:9092,b:1",
        "client.id": f"app,zone=${{env:AZ}}-${{env:EMPTY}}${{directory:{folder}:linked}}",
        "client.rack": " ${env:AZ} ",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="${{file:{folder}/secrets.properties:user}}" password="${{env:PASSWORD}}";'
        ),
    }
    config = ClientConfig.from_options(options)
    assert config.bootstrap_servers[0].host == "eu-1a.broker"
    assert (config.client_id, config.client_rack) == ("app,zone=eu-1a-p\nq \n", "eu-1a")
    assert config.security.username == "alice"
    assert config.security.password is not None
    assert config.security.password.reveal() == _SECRET
    assert _SECRET not in repr(config)


def test_each_process_resolves_for_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "u"}
    options = {
        **_BROKERS,
        **secrets,
        "client.rack": "${env:AZ}",
        "sasl.password": f"${{directory:{folder}:password}}",
    }
    made = ClientConfig.from_options(options)
    pickled = pickle.dumps(replace(made, isolation_level="read_committed", max_block_ms=7))
    assert not any(each in pickled for each in (b"eu-1a", b"p\nq"))
    monkeypatch.setenv("AZ", "eu-1b")
    (folder / "password").write_text("rotated")
    there = pickle.loads(pickled)
    assert there.client_rack == "eu-1b"
    assert there.security.password.reveal() == "rotated"
    # What was changed after the options were read travels as it is.
    assert (there.isolation_level, there.max_block_ms) == ("read_committed", 7)
    assert pickle.loads(pickle.dumps(there)) == there != made
    monkeypatch.delenv("AZ")
    with pytest.raises(KafkaConfigError, match=r"'kafka\.client\.rack' refers to \$\{env:AZ\}"):
        pickle.loads(pickled)


def test_registries_resolve_for_themselves(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"url": "https://${env:AZ}:8081", "basic.auth.user.info": "u:${env:PASSWORD}"}
    registry = RegistryConfig.from_options(options)
    glue = GlueConfig.from_options({"registry.name": "${env:AZ}"})
    pickled = pickle.dumps((registry, glue))
    assert not any(each in pickled for each in (b"eu-1a", _SECRET.encode()))
    monkeypatch.setenv("AZ", "eu-1b")
    registry, glue = pickle.loads(pickled)
    assert (registry.urls, glue.registry_name) == (("https://eu-1b:8081",), "eu-1b")
    assert registry.user_info is not None
    assert registry.user_info.reveal() == f"u:{_SECRET}"
    with pytest.raises(KafkaConfigError, match=r"'schema\.registry\.url' refers to \$\{env:MISSIN"):
        RegistryConfig.from_options({"url": "${env:MISSING}"})


def test_a_configuration_without_references_is_pickled_by_its_values() -> None:
    config = ClientConfig.from_options({**_BROKERS, "client.id": "${vault:a:b} ${x} $"})
    assert config.client_id == "${vault:a:b} ${x} $"
    assert config.unresolved is None
    assert pickle.loads(pickle.dumps(config)) == config


@pytest.mark.parametrize("name", ["retries", "acks", "bootstrap.servers", "compression.type"])
def test_no_error_shows_the_value_of_a_reference(folder: Path, name: str) -> None:
    error = config_error(lambda: ClientConfig.from_options(_BROKERS | {name: "${env:PASSWORD}"}))
    assert f"'kafka.{name}' does not take the value of ${{env:PASSWORD}}, which is not" in error
    assert _SECRET not in error


def test_providers_as_java_names_them(folder: Path) -> None:
    java = "org.apache.kafka.common.config.provider."
    options = {
        **_BROKERS,
        "config.providers": "zone, mounted",
        "config.providers.zone.class": f"{java}EnvVarConfigProvider",
        "config.providers.zone.param.allowlist.pattern": "AZ",
        "config.providers.mounted.class": f"{java}DirectoryConfigProvider",
        "config.providers.mounted.param.allowed.paths": f"/none,{folder}",
        "client.id": f"${{zone:AZ}} ${{mounted:{folder}:empty}} ${{other:AZ}}",
    }
    assert ClientConfig.from_options(options).client_id == "eu-1a  ${other:AZ}"
    for text, reason in {
        "${zone:PASSWORD}": "its allowlist.pattern does not match the name",
        "${mounted:/etc:passwd}": "its allowed.paths do not contain the path",
        f"${{mounted:{folder}/..:outside}}": "its allowed.paths do not contain the path",
        f"${{mounted:{folder}2:a}}": "its allowed.paths do not contain the path",
        "${env:AZ}": "config.providers does not list this provider",
    }.items():
        with pytest.raises(KafkaConfigError, match=reason):
            ClientConfig.from_options({**options, "client.id": text})


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"config.providers": "vault"}, r"'kafka\.config\.providers\.vault\.class' must be one of"),
        (
            {"config.providers": "env", "config.providers.env.class": "com.example.Mine"},
            "Java classes cannot be loaded",
        ),
        ({"config.providers.env.allowlist.pattern": "A"}, "has no effect: a provider NAME of"),
        ({"config.providers.vault.param.allowed.paths": "/"}, "has no effect: a provider NAME"),
        # A limit of another provider's kind would limit nothing.
        ({"config.providers.env.param.allowed.paths": "/"}, "has no effect: a provider NAME of"),
        ({"config.providers.file.param.allowlist.pattern": "A"}, "has no effect: a provider"),
        *(
            ({"config.providers.env.param.allowlist.pattern": pattern}, reason)
            for pattern, reason in {
                "(": "must be a regular expression of Python",
                "[A-Z&&[^S]]*": "are Java's, and not Python's",
                r"\p{Upper}+": "are Java's, and not Python's",
            }.items()
        ),
        *(
            ({"config.providers.directory.param.allowed.paths": paths}, "must be absolute paths")
            for paths in ("", "secrets", "/etc/kafka,,/x", ".", "/etc/kafka, x")
        ),
    ],
)
def test_providers_that_do_not_exist(folder: Path, options: dict[str, str], reason: str) -> None:
    with pytest.raises(KafkaConfigError, match=reason):
        ClientConfig.from_options(_BROKERS | options)


def test_a_line_break_at_the_end_of_a_secret_is_named(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ClientConfig.from_options({**_BROKERS, "client.id": f"${{directory:{folder}:password}}"})
    assert [each.message for each in caplog.records] == [
        f"The value of ${{directory:{folder}:password}} ends with a line break."
    ]


def test_a_pipe_does_not_hang(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(KafkaConfigError, match="not a file"):
        ClientConfig.from_options({**_BROKERS, "client.id": f"${{file:{folder}/pipe:a}}"})


def test_a_path_after_a_comma_too_many_allows_nothing_more(folder: Path) -> None:
    limit = {"config.providers.file.param.allowed.paths": f"{folder}, "}
    for path in (folder.parent / "outside", os.path.relpath(folder.parent / "outside")):
        with pytest.raises(KafkaConfigError, match=r"allowed\.paths do not contain the path"):
            ClientConfig.from_options({**_BROKERS, **limit, "client.id": f"${{file:{path}:key}}"})


def test_names_of_providers_have_no_case(folder: Path) -> None:
    """Spark's options have none."""
    java = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    options = {"config.providers": "Vault", "config.providers.vault.class": java}
    made = ClientConfig.from_options({**_BROKERS, **options, "client.id": "${Vault:AZ}${VAULT:AZ}"})
    assert made.client_id == "eu-1aeu-1a"


@pytest.mark.parametrize("text", ["${" + ":" * 20_000, "${" * 10_000, "${a:" * 10_000 + "}"])
def test_a_text_of_signs_takes_no_time(folder: Path, text: str) -> None:
    began = time.process_time()
    assert resolved({"client.id": text}, "kafka.")["client.id"] == text
    assert time.process_time() - began < 10  # hours, if it grew with the cube


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_files_of_the_kernel_are_not_read() -> None:
    with pytest.raises(KafkaConfigError, match="not a file"):
        ClientConfig.from_options({**_BROKERS, "client.id": "${file:/proc/self/environ:a}"})
