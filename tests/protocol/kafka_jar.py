"""Kafka's own classes and schemas, out of a `kafka-clients` jar: what the declarations must equal.

Nothing of a jar is kept in the repository; `kafka_spark_source.testing.jars` fetches it.
"""

from __future__ import annotations

import json
import re
import subprocess
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from kafka_protocol.schema import Message, VersionRange, parse_versions

CURRENT = "4.3.1"
# Kafka 4 dropped old versions of its messages; this release still has them.
BEFORE_4 = "3.9.2"

_PROGRAMS = Path(__file__).with_name("java")
# Starting fast matters more than running fast here.
_JVM_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")


class KafkaJar:
    """One release of `kafka-clients`.

    Args:
        version: Kafka's version.
        folder: Holds the jar and those that it needs.
        java: The `java` to run programs with.
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

    def __repr__(self) -> str:
        return f"<KafkaJar {self._clients.name}>"

    def command(self, program: str) -> list[str]:
        """The command line that runs a program of the folder `java`, straight from its source."""
        class_path = ":".join(map(str, [self._clients, *self._needed]))
        return [str(self._java), *_JVM_FLAGS, "-cp", class_path, str(_PROGRAMS / program)]

    def run(self, program: str) -> str:
        """What a program prints."""
        done = subprocess.run(
            self.command(program), stdout=subprocess.PIPE, text=True, check=True, timeout=120
        )
        return done.stdout

    def schema(self, name: str) -> dict[str, Any]:
        """A message's schema, for example of `FetchRequest`; one without versions where none is."""
        if name not in self._schemas:
            schema = self._read(f"common/message/{name}.json")
            # Of an API that was removed only the key is left, so that nobody takes it again.
            self._schemas[name] = {"fields": []} | schema
        return self._schemas[name]

    def api_keys(self) -> dict[str, int]:
        """Every API's name and number, also of those that were removed."""
        with zipfile.ZipFile(self._clients) as jar:
            names = re.findall(r"common/message/(\w+)Request\.json", "\n".join(jar.namelist()))
        return {name: self.schema(f"{name}Request")["apiKey"] for name in names}

    def served_by_brokers(self) -> dict[int, int]:
        """API key to highest stable version, of what brokers listen for."""
        stable = {
            api_key: self._stable(f"{name}Request", name)
            for name, api_key in self.api_keys().items()
            if {"broker", "zkBroker"} & set(self.schema(f"{name}Request").get("listeners", []))
        }
        return {key: versions.highest for key, versions in stable.items() if not versions.is_empty}

    def _read(self, file: str) -> dict[str, Any]:
        with zipfile.ZipFile(self._clients) as jar:
            if file not in jar.namelist():
                return {"validVersions": "none"}
            text = jar.read(file).decode()
        schema: dict[str, Any] = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
        return schema

    def stable_versions(self, cls: type[Message]) -> VersionRange:
        """The versions of a message that this release has, but for one that may still change.

        Of an API that is new, and may change as a whole, there is none.
        """
        return self._stable(cls.__name__, cls.api_name)

    def _stable(self, name: str, api_name: str) -> VersionRange:
        valid = parse_versions(self.schema(name)["validVersions"])
        # Only the request's schema says so; it holds for the response as well.
        if self.schema(f"{api_name}Request").get("latestVersionUnstable"):
            return VersionRange(valid.lowest, valid.highest - 1)
        return valid


class Verdict(NamedTuple):
    """What Kafka makes of a message's bytes."""

    body: bytes
    unread: int
    content: dict[str, Any]


class MessageOracle:
    """A Java process that reads and writes messages with Kafka's classes, to be closed at the end.

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
        self._questions = cast("IO[str]", self._process.stdin)
        self._answers = cast("IO[str]", self._process.stdout)

    def judge(self, cls: type[Message], version: int, body: bytes) -> Verdict:
        """Let Kafka read the body and write it again."""
        questions = cast("IO[str]", self._process.stdin)
        questions.write(f"{cls.__name__} {version} {body.hex()}\n")
        questions.flush()
        answer = cast("IO[str]", self._process.stdout).readline()
        if not answer or answer.startswith("ERROR"):
            raise AssertionError(
                f"Kafka refuses {cls.__name__} v{version}: {answer or 'no answer'}"
            )
        written, unread, content = answer.split(" ", 2)
        return Verdict(bytes.fromhex(written), int(unread), json.loads(content))

    def close(self) -> None:
        """End the process: it does so itself at the end of its input."""
        with self._process, suppress(BrokenPipeError):
            self._questions.close()
