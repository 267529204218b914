"""Writes the lock file, for maintainers.

    python -m kafka_spark_source.testing.downloads.lock [NAME ...]

A name is a version of Kafka, or that of the schema registry's distribution. Resolves each release's
artifact and its dependencies with Maven, and writes coordinates and SHA-256 checksums. Run it after
a change of `releases.py` or `distribution.py`, and review the difference. Always uses Maven, so
that the set does not depend on the tool.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spark_source.testing.downloads.distribution import REGISTRY, REGISTRY_ARTIFACT
from kafka_spark_source.testing.downloads.jars import LOCK_FILE, sha256
from kafka_spark_source.testing.downloads.resolvers import (
    MAVEN_DEPENDENCY_PLUGIN,
    Coordinates,
    available_resolvers,
    resolve,
)
from kafka_spark_source.testing.releases import RELEASES, Release, find_release

if TYPE_CHECKING:
    from collections.abc import Sequence

# Unused dependencies of log4j 1.2.15, which no repository has for licence reasons.
_UNAVAILABLE_GROUPS = ("com.sun.jmx", "com.sun.jdmk", "javax.jms")

_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>pykafka</groupId>
  <artifactId>broker-lock</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = (
    "    <dependency><groupId>{0.group}</groupId><artifactId>{0.artifact}</artifactId>"
    "<version>{0.version}</version>{1}<exclusions>{2}</exclusions></dependency>"
)
_CLASSIFIER = "<classifier>{0.classifier}</classifier>"
_EXCLUSIONS = "".join(
    f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>"
    for group in _UNAVAILABLE_GROUPS
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Updates the lock of the given names, or of all."""
    every = [*RELEASES, REGISTRY]
    names = list(sys.argv[1:] if arguments is None else arguments) or every
    entries = json.loads(LOCK_FILE.read_text(encoding="utf-8")) if LOCK_FILE.exists() else {}
    for name in names:
        entries[name] = lock_registry() if name == REGISTRY else lock_release(find_release(name))
        sys.stdout.write(f"{name}: {len(entries[name])} files\n")
    in_order = {name: entries[name] for name in every if name in entries}
    LOCK_FILE.write_text(json.dumps(in_order, indent=2) + "\n", encoding="utf-8")
    return 0


def lock_release(release: Release) -> dict[str, str]:
    """The coordinates and checksums of all jars of a release."""
    return lock_artifacts([release.artifact, *release.extra_artifacts])


def lock_artifacts(artifacts: Sequence[str]) -> dict[str, str]:
    """The coordinates and checksums of artifacts and of all that they depend on."""
    with tempfile.TemporaryDirectory() as work:
        pom, repository = Path(work) / "pom.xml", Path(work) / "jars"
        pom.write_text(pom_text(artifacts), encoding="utf-8")
        goal = f"{MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies"
        options = ("-DincludeScope=runtime", "-Dmdep.useRepositoryLayout=true")
        subprocess.run(
            ["mvn", "-q", "-B", "-f", str(pom), goal, *options, f"-DoutputDirectory={repository}"],  # noqa: S607
            check=True,
        )
        return {
            str(_coordinates(jar.relative_to(repository))): sha256(jar)
            for jar in sorted(repository.rglob("*.jar"))
        }


def lock_registry() -> dict[str, str]:
    """The coordinates and checksum of the schema registry's distribution."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        maven = next(each for each in available_resolvers(Path()) if each.name == "mvn")
        resolve([REGISTRY_ARTIFACT], folder, [maven], lambda _what: None)
        return {str(REGISTRY_ARTIFACT): sha256(folder / REGISTRY_ARTIFACT.file_name)}


def pom_text(artifacts: Sequence[str]) -> str:
    """A Maven project that depends on the artifacts."""
    return _POM.format(dependencies="\n".join(map(_dependency, map(Coordinates.parse, artifacts))))


def _dependency(wanted: Coordinates) -> str:
    classifier = _CLASSIFIER.format(wanted) if wanted.classifier else ""
    return _DEPENDENCY.format(wanted, classifier, _EXCLUSIONS)


def _coordinates(path: Path) -> Coordinates:
    """Reads a path of a Maven repository: group/as/folders/artifact/version/file.jar.

    Raises:
        ValueError: The file has another name than its artifact.
    """
    *group, artifact, version, file_name = path.parts
    _, is_named, classifier = path.stem.partition(f"{artifact}-{version}")
    coordinates = Coordinates(".".join(group), artifact, version, "jar", classifier[1:])
    if not is_named or coordinates.file_name != file_name:
        raise ValueError(f"{path} has another name than its artifact")
    return coordinates


if __name__ == "__main__":
    raise SystemExit(main())
