"""Kafka's own classes and schemas from a `kafka-clients` jar, to compare our declarations with.

`kafka_spark_source.testing.downloads.jars` fetches the jar; nothing of it is in the repository.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from kafka_protocol.wire.schema import Message, VersionRange, parse_versions

CURRENT = "4.4.0"
# Kafka 4 removed old versions of its messages; this release still has them.
BEFORE_4 = "3.9.2"

_PROGRAMS = Path(__file__).with_name("java")
# Fast start is more important than fast code here.
_JVM_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")


class KafkaJar:
    """One release of `kafka-clients`.

    Args:
        version: Kafka's version.
        folder: The folder of the jar and of the jars that it needs.
        java: The `java` that runs programs.
    """

    def __init__(self, version: str, folder: Path, java: Path) -> None:
        self._clients = folder / f"kafka-clients-{version}.jar"
        self._needed = [
            *folder.glob("slf4j-api-*.jar"),
            *(
                jar
                for part in ("annotations", "core", "databind")
                for jar in folder.glob(f"jackson-{part}-*.jar")
            ),
        ]
        self._java = java
        self._schemas: dict[str, dict[str, Any]] = {}
        with zipfile.ZipFile(self._clients) as jar:
            files = [
                name for name in jar.namelist() if re.search(r"common/message/\w+\.json", name)
            ]
            self._files = {name: jar.read(name).decode() for name in files}

    def __repr__(self) -> str:
        return f"<KafkaJar {self._clients.name}>"

    def command(self, program: str) -> list[str]:
        """The command line that runs a source file of the folder `java`."""
        class_path = ":".join(map(str, [self._clients, *self._needed]))
        return [str(self._java), *_JVM_FLAGS, "-cp", class_path, str(_PROGRAMS / program)]

    def run(self, program: str, *arguments: str) -> str:
        """The output of a program."""
        command = [*self.command(program), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        return done.stdout

    def schema(self, name: str) -> dict[str, Any]:
        """The schema of a message such as `FetchRequest`; without versions if there is none."""
        if name not in self._schemas:
            schema = self._read(f"common/message/{name}.json")
            # Kafka keeps only the key of a removed API, to reserve it.
            self._schemas[name] = {"fields": []} | schema
        return self._schemas[name]

    def api_keys(self) -> dict[str, int]:
        """Every API's name and number, also of removed ones."""
        names = re.findall(r"common/message/(\w+)Request\.json", "\n".join(self._files))
        return {name: self.schema(f"{name}Request")["apiKey"] for name in names}

    def served_by_brokers(self) -> dict[int, int]:
        """The highest stable version of each API that brokers serve, by API key."""
        stable = {
            api_key: self._stable(f"{name}Request", name)
            for name, api_key in self.api_keys().items()
            if {"broker", "zkBroker"} & set(self.schema(f"{name}Request").get("listeners", []))
        }
        return {key: versions.highest for key, versions in stable.items() if not versions.is_empty}

    def _read(self, file: str) -> dict[str, Any]:
        if file not in self._files:
            return {"validVersions": "none"}
        text = self._files[file]
        schema: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
        return schema

    def stable_versions(self, cls: type[Message]) -> VersionRange:
        """The versions of a message in this release, without the unstable last one.

        Empty for a new API whose only version is unstable.
        """
        return self._stable(cls.__name__, cls.api_name)

    def _stable(self, name: str, api_name: str) -> VersionRange:
        valid = parse_versions(self.schema(name)["validVersions"])
        # Only the request's schema has this mark; it is valid for the response as well.
        if self.schema(f"{api_name}Request").get("latestVersionUnstable"):
            return VersionRange(valid.lowest, valid.highest - 1)
        return valid


class Reread(NamedTuple):
    """A message's bytes as Kafka's classes read them and wrote them again."""

    body: bytes
    unread: int
    content: dict[str, Any]


class MessageOracle:
    """A Java process that reads and writes messages with Kafka's classes; close it at the end.

    Args:
        jar: The release whose classes it uses.
    """

    def __init__(self, jar: KafkaJar) -> None:
        self._process = subprocess.Popen(
            jar.command("MessageOracle.java"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._stdin = cast("IO[str]", self._process.stdin)
        self._stdout = cast("IO[str]", self._process.stdout)

    def reread(self, cls: type[Message], version: int, body: bytes) -> Reread:
        """Let Kafka read the body and write it again."""
        self._stdin.write(f"{cls.__name__} {version} {body.hex()}\n")
        self._stdin.flush()
        line = self._stdout.readline()
        if not line or line.startswith("ERROR"):
            raise AssertionError(f"Kafka rejects {cls.__name__} v{version}: {line or 'no output'}")
        written, unread, content = line.split(" ", 2)
        return Reread(bytes.fromhex(written), int(unread), json.loads(content))

    def close(self) -> None:
        """End the process: it exits at the end of its input."""
        with self._process, suppress(BrokenPipeError):
            self._stdin.close()
