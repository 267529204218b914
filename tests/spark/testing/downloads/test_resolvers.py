"""The command lines of Maven and Ivy, and their errors. Nothing is downloaded here."""

from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kafka_spark_source.testing import JarError
from kafka_spark_source.testing.downloads import resolvers
from kafka_spark_source.testing.downloads.resolvers import (
    Coordinates,
    Resolver,
    available_resolvers,
    resolve,
)
from tests.spark.testing.scripts import script

ARTIFACTS = [Coordinates("org.example", "one", "1.0"), Coordinates("org.example", "two", "2.0")]
ARCHIVE = Coordinates("org.example", "server", "3.0", "tar.gz", "all")
JAVA = Path("/jdk/bin/java")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a fake Maven and a fake Ivy of PySpark."""
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "ivy-2.5.3.jar").touch()
    script(tmp_path / "bin" / "mvn", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.delenv(resolvers.IVY_SETTINGS_VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    return tmp_path


def shell(name: str, text: str) -> Resolver:
    def command(_artifacts: Sequence[Coordinates], _work: Path, target: Path) -> list[str]:
        return ["/bin/sh", "-c", text, "sh", str(target)]

    return Resolver(name, command)


def ignore(_what: str) -> None:
    pass


def test_maven_comes_first_and_ivy_second(machine: Path) -> None:
    assert [each.name for each in available_resolvers(JAVA)] == ["mvn", "PySpark's Ivy"]


def test_ivy_without_maven(machine: Path) -> None:
    (machine / "bin" / "mvn").unlink()
    assert [each.name for each in available_resolvers(JAVA)] == ["PySpark's Ivy"]


def test_maven_resolves_exactly_the_locked_jars(machine: Path, tmp_path: Path) -> None:
    maven = available_resolvers(JAVA)[0]
    command = maven.command(ARTIFACTS, tmp_path, Path("/target"))
    assert command[0] == str(machine / "bin" / "mvn")
    assert command[-2:] == [
        "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
        "-DoutputDirectory=/target",
    ]
    pom = ElementTree.parse(tmp_path / "pom.xml")
    names = [each.text for each in pom.iterfind(".//{*}artifactItem/{*}artifactId")]
    versions = [each.text for each in pom.iterfind(".//{*}artifactItem/{*}version")]
    assert (names, versions) == (["one", "two"], ["1.0", "2.0"])


def test_ivy_resolves_exactly_the_locked_jars(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ivy = available_resolvers(JAVA)[1]
    command = ivy.command(ARTIFACTS, tmp_path, Path("/target"))
    jar = machine / "spark" / "jars" / "ivy-2.5.3.jar"
    assert command[:4] == [str(JAVA), "-cp", str(jar), "org.apache.ivy.Main"]
    assert "-settings" not in command
    retrieve = command.index("-retrieve")
    assert command[retrieve + 1] == "/target/[artifact]-[revision](-[classifier]).[ext]"
    assert command[-2:] == ["-types", "jar"]
    module = ElementTree.parse(tmp_path / "ivy.xml")
    dependencies = list(module.iterfind(".//dependency"))
    assert [each.get("name") for each in dependencies] == ["one", "two"]
    assert {each.get("transitive") for each in dependencies} == {"false"}

    monkeypatch.setenv(resolvers.IVY_SETTINGS_VARIABLE, "/my/settings.xml")
    command = ivy.command(ARTIFACTS, tmp_path, Path("/target"))
    assert command[command.index("-settings") + 1] == "/my/settings.xml"


@pytest.mark.parametrize(
    ("coordinates", "text", "file_name"),
    [
        (ARTIFACTS[0], "org.example:one:1.0", "one-1.0.jar"),
        (ARCHIVE, "org.example:server:3.0:tar.gz:all", "server-3.0-all.tar.gz"),
        (ARCHIVE._replace(classifier=""), "org.example:server:3.0:tar.gz", "server-3.0.tar.gz"),
        (ARCHIVE._replace(extension="jar"), "org.example:server:3.0:jar:all", "server-3.0-all.jar"),
    ],
)
def test_coordinates_as_text(coordinates: Coordinates, text: str, file_name: str) -> None:
    assert str(coordinates) == text
    assert Coordinates.parse(text) == coordinates
    assert coordinates.file_name == file_name


def test_maven_resolves_an_archive(machine: Path, tmp_path: Path) -> None:
    maven = available_resolvers(JAVA)[0]
    maven.command([ARTIFACTS[0], ARCHIVE], tmp_path, Path("/target"))
    items = list(ElementTree.parse(tmp_path / "pom.xml").iterfind(".//{*}artifactItem"))
    assert [each.findtext("{*}type") for each in items] == ["jar", "tar.gz"]
    assert [each.findtext("{*}classifier") for each in items] == [None, "all"]


def test_ivy_resolves_an_archive(machine: Path, tmp_path: Path) -> None:
    ivy = available_resolvers(JAVA)[1]
    command = ivy.command([ARTIFACTS[0], ARCHIVE], tmp_path, Path("/target"))
    assert command[-3:] == ["-types", "jar", "tar.gz"]
    artifacts = list(ElementTree.parse(tmp_path / "ivy.xml").iterfind(".//artifact"))
    assert [each.get("ext") for each in artifacts] == ["jar", "tar.gz"]
    classifier = "{http://ant.apache.org/ivy/maven}classifier"
    assert [each.get(classifier) for each in artifacts] == [None, "all"]


def test_one_file_is_named(tmp_path: Path) -> None:
    progress: list[str] = []
    with pytest.raises(JarError, match=r"^server-3\.0-all\.tar\.gz cannot be downloaded; mvn: "):
        resolve([ARCHIVE], tmp_path, [shell("mvn", "exit 1")], progress.append)
    assert progress == ["downloading server-3.0-all.tar.gz with mvn (only once)"]


def test_the_second_resolver_after_an_error(tmp_path: Path) -> None:
    progress: list[str] = []
    broken = shell("mvn", "echo '[ERROR] no network'; exit 1")
    working = shell("PySpark's Ivy", 'touch "$1/one-1.0.jar" "$1/two-2.0.jar"')
    resolve(ARTIFACTS, tmp_path, [broken, working], progress.append)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one-1.0.jar", "two-2.0.jar"]
    assert progress == [
        "downloading 2 jars with mvn (only once)",
        "downloading 2 jars with PySpark's Ivy (only once)",
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("echo downloading; echo '[ERROR] no network'; exit 1", r"mvn: \[ERROR\] no network$"),
        (
            r"printf '\033[0m\033[31m[ERROR] no colours please\033[0m'; exit 1",
            r"mvn: \[ERROR\] no colours please$",
        ),
        ("exit 3", r"exit code 3 without a message; missing: one-1\.0\.jar, two-2\.0\.jar"),
        ('touch "$1/one-1.0.jar"', r"missing: two-2\.0\.jar"),
    ],
    ids=["error", "colours", "no message", "missing jar"],
)
def test_error_of_a_resolver(tmp_path: Path, text: str, error: str) -> None:
    with pytest.raises(JarError, match=error):
        resolve(ARTIFACTS, tmp_path, [shell("mvn", text)], ignore)


def test_resolver_that_does_not_start(tmp_path: Path) -> None:
    nowhere: Callable[[Sequence[Coordinates], Path, Path], list[str]]
    nowhere = lambda _artifacts, _work, _target: ["/no/such/program"]  # noqa: E731
    with pytest.raises(JarError, match="No such file or directory"):
        resolve(ARTIFACTS, tmp_path, [Resolver("mvn", nowhere)], ignore)


def test_no_resolver(tmp_path: Path) -> None:
    with pytest.raises(JarError, match=r"install Maven .* or PySpark"):
        resolve(ARTIFACTS, tmp_path, [], ignore)
