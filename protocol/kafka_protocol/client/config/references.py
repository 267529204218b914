"""Values of options that stand elsewhere: Kafka's config providers `env`, `file` and `directory`.

`${env:NAME}`, `${file:PATH:KEY}` and `${directory:PATH:FILE}` mean the same as to Java's clients
(KIP-297, KIP-421, KIP-632, KIP-887, KIP-993), with three differences: no `config.providers` is
needed, a reference that cannot be resolved is an error, and each process resolves for itself. A
configuration is pickled with its references, so an executor takes the values of its own machine,
and secrets do not travel. No error shows a value.
"""

from __future__ import annotations

import logging
import os
import platform
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kafka_protocol.errors import KafkaConfigError
from kafka_protocol.options.properties_file import parse_properties

if TYPE_CHECKING:
    from typing_extensions import Self

_log = logging.getLogger(__name__)

PROVIDERS: Final = "config.providers"
# As Java's ConfigTransformer: provider, perhaps a path, key.
_REFERENCE: Final = re.compile(r"\$\{([^}:]*):(?:([^}:]*):)?([^}]*)\}")
_MAX_BYTES: Final = 1 << 20


class ResolvedText(str):
    """A text with the values of its references. `references` is the text before, for errors."""

    __slots__ = ("references",)
    references: str

    @classmethod
    def of(cls, text: str, references: str) -> ResolvedText:
        """A resolved text, which had these references."""
        made = cls(text)
        made.references = references
        return made


@dataclass(frozen=True, slots=True)
class _Unresolved:
    """The texts that a configuration was made of, and the configuration as it was then."""

    options: Mapping[str, str]
    made: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Referring:
    """A configuration that is pickled with its references; `from_options` makes it of texts."""

    unresolved: _Unresolved | None = field(default=None, repr=False, compare=False)

    def keeping(self, options: Mapping[str, str], texts: Mapping[str, str]) -> Self:
        """The same configuration, which keeps its references, if it has some.

        Args:
            options: The options as they were given.
            texts: What `resolved` made of them.
        """
        if not any(isinstance(text, ResolvedText) for text in texts.values()):
            return self
        return replace(self, unresolved=_Unresolved(dict(options), self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the references in the place of their values, and later changes of fields."""
        if self.unresolved is None:
            return object.__reduce_ex__(self, protocol)
        made = self.unresolved.made
        names = (each.name for each in fields(self) if each.name != "unresolved")
        pairs = ((name, getattr(self, name)) for name in names)
        changed = {name: value for name, value in pairs if value != getattr(made, name)}
        return _made_again, (type(self), self.unresolved.options, changed)


def _made_again(table: Any, options: Mapping[str, str], changed: Mapping[str, Any]) -> Any:
    return replace(table.from_options(options), **changed)


def resolved(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The options with the values of their references, without the ones of config providers.

    Args:
        options: Texts by the names of options, without their prefix.
        prefix: The prefix, for errors.

    Raises:
        KafkaConfigError: A variable, a file or a key is missing or not allowed, or a provider is
            another than these three. Shows no value.
    """
    own = {name: text for name, text in options.items() if not _is_of_providers(name)}
    if len(own) == len(options) and not any("${" in text for text in own.values()):
        return own
    providers = _Providers.of(options, prefix)
    return {name: providers.resolved(name, text) for name, text in own.items()}


def resolved_option(name: str, text: str, options: Mapping[str, str], prefix: str) -> str:
    """The text of an option that is not among the options, limited as they say.

    Raises:
        KafkaConfigError: As from `resolved`.
    """
    return resolved({**options, name: text}, prefix)[name]


def _is_of_providers(name: str) -> bool:
    return name == PROVIDERS or name.startswith(f"{PROVIDERS}.")


@dataclass(frozen=True, slots=True)
class _Providers:
    """The config providers of one configuration, by the names that references use."""

    get: Mapping[str, Callable[[str | None, str], str]]
    prefix: str

    @classmethod
    def of(cls, options: Mapping[str, str], prefix: str) -> _Providers:
        # Spark's options have no case, and so have no names of providers.
        given = {name.lower(): text for name, text in options.items() if _is_of_providers(name)}
        listed = given.pop(PROVIDERS, ",".join(_BUILT_IN)).lower()
        names = [*filter(None, (each.strip() for each in listed.split(",")))]
        get = {name: _getter(name, given, prefix) for name in names}
        for option in given:
            raise KafkaConfigError(
                f"Option '{prefix}{option}' has no effect: a provider NAME of {prefix}{PROVIDERS} "
                f"has '{prefix}{PROVIDERS}.NAME.class', and, by its class, "
                + " or ".join(f"'{prefix}{PROVIDERS}.NAME.{each}'" for each in _PARAMETERS)
            )
        return cls({**dict.fromkeys(_BUILT_IN, _not_listed), **get}, prefix)

    def resolved(self, name: str, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            provider, path, key = match.groups()
            get = self.get.get(provider.lower())
            if get is None:
                return match[0]  # it is a text, as in Java
            try:
                return get(path, key)
            except (OSError, ValueError) as error:
                _refuse(f"{self.prefix}{name}", match[0], error)

        made = _REFERENCE.sub(value, text)
        return text if made == text else ResolvedText.of(made, text)


def _refuse(option: str, reference: str, error: Exception) -> NoReturn:
    why = error.strerror if isinstance(error, OSError) else error
    raise KafkaConfigError(
        f"Option '{option}' refers to {reference}, which has no value on {platform.node()}: {why}"
    ) from None


def _getter(name: str, options: dict[str, str], prefix: str) -> Callable[[str | None, str], str]:
    """The provider of a name, limited as its options say, which are taken out."""
    option = f"{PROVIDERS}.{name}.class"
    named = options.pop(option, _CLASSES.get(name, "")).rpartition(".")[2]
    if named not in _CLASSES.values():
        raise KafkaConfigError(
            f"Option '{prefix}{option}' must be one of {', '.join(_CLASSES.values())}: Java "
            "classes cannot be loaded"
        )
    provider, parameter = _BUILT_IN[next(e for e, kind in _CLASSES.items() if kind == named)]
    option = f"{PROVIDERS}.{name}.{parameter}"
    limit = options.pop(option, None)
    if limit is not None and (wrong := _CHECKS[parameter](limit)):
        raise KafkaConfigError(f"Option '{prefix}{option}' has the value {limit!r}: {wrong}")
    return partial(provider, limit)


def _wrong_pattern(pattern: str) -> str:
    """Why a pattern cannot be used; empty if it can. Some mean another thing to Java."""
    if "&&" in pattern or "\\p" in pattern or "[[" in pattern:
        return "`&&`, `\\p` and classes within classes are Java's, and not Python's"
    try:
        re.compile(pattern)
    except re.error:
        return "it must be a regular expression of Python"
    return ""


def _listed(paths: str) -> list[str]:
    """Paths with commas between them. As to Java, there may be commas after the last one."""
    return [each.strip() for each in paths.rstrip(", ").split(",")]


def _wrong_paths(paths: str) -> str:
    is_absolute = all(each.startswith("/") for each in _listed(paths))
    return "" if is_absolute else "it must be absolute paths, with commas between them"


def _not_listed(_path: str | None, _key: str) -> str:
    raise ValueError(f"{PROVIDERS} does not list this provider")


def _of_environment(allowed: str | None, path: str | None, key: str) -> str:
    if path:
        raise ValueError("the environment has no paths, write ${env:NAME}")
    if allowed is not None and not re.fullmatch(allowed, key):
        raise ValueError("its allowlist.pattern does not match the name")
    if key not in os.environ:
        raise ValueError("the environment of this process has no such variable")
    return os.environ[key]


def _of_file(allowed: str | None, path: str | None, key: str) -> str:
    properties = parse_properties(_content(allowed, path))
    if key not in properties:
        raise ValueError("the file has no such key")
    return properties[key]


def _of_directory(allowed: str | None, path: str | None, key: str) -> str:
    if not path or "/" in key or key in ("", ".", ".."):
        raise ValueError("write ${directory:PATH:FILE}, with the name of a file in the directory")
    text = _content(allowed, f"{path}/{key}")
    if text.endswith("\n"):
        # Java takes it, too. `echo` writes it, and a password with it is refused by brokers.
        _log.warning("The value of ${directory:%s:%s} ends with a line break.", path, key)
    return text


def _content(allowed: str | None, path: str | None) -> str:
    if not path:
        raise ValueError("it names no path")
    normal = Path(os.path.normpath(path))
    if allowed is not None and not any(
        normal.is_relative_to(os.path.normpath(each)) for each in _listed(allowed)
    ):
        raise ValueError("its allowed.paths do not contain the path")
    # A read of a pipe, of a device or of the kernel's log may never end.
    real = normal.resolve()
    is_of_kernel = any(real.is_relative_to(each) for each in ("/proc", "/sys"))
    if is_of_kernel or (normal.exists() and not normal.is_file()):
        raise ValueError("it is not a file")
    with normal.open("rb") as file:
        content = file.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ValueError(f"the file has more than {_MAX_BYTES} bytes")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8") from None


_ALLOWED_PATHS: Final = "param.allowed.paths"
# Name -> what gets a value, and the option that limits it.
_BUILT_IN: Final[Mapping[str, tuple[Callable[[str | None, str | None, str], str], str]]] = {
    "env": (_of_environment, "param.allowlist.pattern"),
    "file": (_of_file, _ALLOWED_PATHS),
    "directory": (_of_directory, _ALLOWED_PATHS),
}
_CLASSES: Final = {
    "env": "EnvVarConfigProvider",
    "file": "FileConfigProvider",
    "directory": "DirectoryConfigProvider",
}
_CHECKS: Final = {"param.allowlist.pattern": _wrong_pattern, _ALLOWED_PATHS: _wrong_paths}
_PARAMETERS: Final = tuple(dict.fromkeys(parameter for _, parameter in _BUILT_IN.values()))
