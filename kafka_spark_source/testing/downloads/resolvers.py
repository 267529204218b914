"""Downloads locked jars and archives with Maven or PySpark's Ivy. Must not know the cache.

Both download exact coordinates without dependencies, because the lock file has all files. The
repositories come from the user's Maven or Ivy configuration.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kafka_spark_source.testing.errors import JarError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAVEN_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
IVY_SETTINGS_VARIABLE = "PYKAFKA_IVY_SETTINGS"
"""Environment variable: an ivysettings.xml for Ivy, instead of its built-in repository."""

_DOWNLOAD_SECONDS = 900
_MESSAGE_LINES = 2
_COLOURS = re.compile("\x1b\\[[0-9;]*m")
_ERROR_WORDS = ("ERROR", "WARN", "not found", "xception", "rror:")

_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>pykafka</groupId>
  <artifactId>broker-jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <build>
    <plugins>
      <plugin>
        <groupId>{plugin.group}</groupId>
        <artifactId>{plugin.artifact}</artifactId>
        <version>{plugin.version}</version>
        <configuration>
          <artifactItems>
{items}
          </artifactItems>
        </configuration>
      </plugin>
    </plugins>
  </build>
</project>
"""
_POM_CLASSIFIER = "<classifier>{0.classifier}</classifier>"
_POM_ITEM = (
    "            <artifactItem><groupId>{0.group}</groupId>"
    "<artifactId>{0.artifact}</artifactId><version>{0.version}</version>"
    "<type>{0.extension}</type>{1}</artifactItem>"
)

_IVY = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="pykafka" module="broker-jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{items}
  </dependencies>
</ivy-module>
"""
_IVY_CLASSIFIER = ' m:classifier="{0.classifier}"'
_IVY_ITEM = (
    '    <dependency org="{0.group}" name="{0.artifact}" rev="{0.version}" transitive="false" '
    'conf="default->master"><artifact name="{0.artifact}" type="{0.extension}" '
    'ext="{0.extension}"{1}/></dependency>'
)


class Coordinates(NamedTuple):
    """The Maven coordinates of an artifact: a jar, unless they name another extension."""

    group: str
    artifact: str
    version: str
    extension: str = "jar"
    classifier: str = ""

    @classmethod
    def parse(cls, text: str) -> Coordinates:
        """Reads `group:artifact:version[:extension[:classifier]]`."""
        group, artifact, version, *more = text.split(":")
        return cls(group, artifact, version, *more)

    @property
    def file_name(self) -> str:
        """The file's name in a flat folder."""
        parts = filter(None, (self.artifact, self.version, self.classifier))
        return f"{'-'.join(parts)}.{self.extension}"

    def __str__(self) -> str:
        is_plain_jar = self[3:] == ("jar", "")
        return ":".join(self[:3] if is_plain_jar else filter(None, self))


class Resolver(NamedTuple):
    """A tool that copies artifacts into a folder.

    `command` writes the tool's input to a folder, and returns the command line.
    """

    name: str
    command: Callable[[Sequence[Coordinates], Path, Path], list[str]]


def available_resolvers(java: Path) -> list[Resolver]:
    """The resolvers on this machine, in the order to try them."""
    resolvers = []
    maven = shutil.which("mvn")
    if maven:
        resolvers.append(Resolver("mvn", _maven_command(maven)))
    ivy = _find_ivy_jar()
    if ivy:
        resolvers.append(Resolver("PySpark's Ivy", _ivy_command(java, ivy)))
    return resolvers


def resolve(
    artifacts: Sequence[Coordinates],
    target: Path,
    resolvers: Sequence[Resolver],
    on_progress: Callable[[str], None],
) -> None:
    """Copies the files of `artifacts` to `target`, with the first resolver that succeeds.

    Raises:
        JarError: There is no resolver, or all failed; the message has their errors.
    """
    what = artifacts[0].file_name if len(artifacts) == 1 else f"{len(artifacts)} jars"
    if not resolvers:
        raise JarError(
            f"{what} cannot be downloaded: install Maven (`mvn` on the PATH) or PySpark (with its "
            "Ivy)"
        )
    errors = []
    for resolver in resolvers:
        on_progress(f"downloading {what} with {resolver.name} (only once)")
        error = _run(resolver, artifacts, target)
        if error is None:
            return
        errors.append(f"{resolver.name}: {error}")
    raise JarError(f"{what} cannot be downloaded; " + "; ".join(errors))


def _run(resolver: Resolver, artifacts: Sequence[Coordinates], target: Path) -> str | None:
    """The error, or None for success."""
    work = target / f".{resolver.name.split()[-1].lower()}"
    work.mkdir()
    try:
        done = subprocess.run(
            resolver.command(artifacts, work, target),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=_DOWNLOAD_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    missing = [each.file_name for each in artifacts if not (target / each.file_name).is_file()]
    if done.returncode == 0 and not missing:
        return None
    output = _COLOURS.sub("", done.stdout)
    lines = [line.strip() for line in output.splitlines() if _is_error(line)]
    if not lines:
        return f"exit code {done.returncode} without a message; missing: {', '.join(missing)}"
    return " | ".join(lines[:_MESSAGE_LINES])


def _is_error(line: str) -> bool:
    has_more_than_a_tag = len(line.split()) > 2
    return has_more_than_a_tag and any(word in line for word in _ERROR_WORDS)


def _maven_command(maven: str) -> Callable[[Sequence[Coordinates], Path, Path], list[str]]:
    def command(artifacts: Sequence[Coordinates], work: Path, target: Path) -> list[str]:
        pom = work / "pom.xml"
        items = _items(_POM_ITEM, _POM_CLASSIFIER, artifacts)
        plugin = Coordinates.parse(MAVEN_DEPENDENCY_PLUGIN)
        pom.write_text(_POM.format(plugin=plugin, items=items), encoding="utf-8")
        goal = f"{MAVEN_DEPENDENCY_PLUGIN}:copy"
        return [maven, "-q", "-B", "-f", str(pom), goal, f"-DoutputDirectory={target}"]

    return command


def _ivy_command(java: Path, ivy: Path) -> Callable[[Sequence[Coordinates], Path, Path], list[str]]:
    def command(artifacts: Sequence[Coordinates], work: Path, target: Path) -> list[str]:
        module = work / "ivy.xml"
        items = _items(_IVY_ITEM, _IVY_CLASSIFIER, artifacts)
        module.write_text(_IVY.format(items=items), encoding="utf-8")
        settings = os.environ.get(IVY_SETTINGS_VARIABLE)
        return [
            *(str(java), "-cp", str(ivy), "org.apache.ivy.Main", "-warn"),
            *(("-settings", settings) if settings else ()),
            *("-cache", str(work / "cache"), "-ivy", str(module)),
            *("-retrieve", f"{target}/[artifact]-[revision](-[classifier]).[ext]"),
            *("-types", *sorted({each.extension for each in artifacts})),
        ]

    return command


def _items(item: str, classifier: str, artifacts: Sequence[Coordinates]) -> str:
    # An empty classifier would leave a dash at the end of the file's name.
    return "\n".join(
        item.format(each, classifier.format(each) if each.classifier else "") for each in artifacts
    )


def _find_ivy_jar() -> Path | None:
    spec = importlib.util.find_spec("pyspark")
    folders = [Path(each) for each in (spec and spec.submodule_search_locations) or ()]
    if os.environ.get("SPARK_HOME"):
        folders.append(Path(os.environ["SPARK_HOME"]))
    jars = [jar for folder in folders for jar in sorted(folder.glob("jars/ivy-*.jar"))]
    return jars[-1] if jars else None
