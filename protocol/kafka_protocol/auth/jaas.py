"""Reads `sasl.jaas.config`, Java's format for credentials, into plain options.

All of the text is secret. No error may show any part of it, not even names: the name of an option
may be the second half of a password without quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple, NoReturn

from kafka_protocol.auth.secret import Secret
from kafka_protocol.errors import KafkaConfigError

_FORM: Final = (
    'the format is: login.module.Class required name="value" name="value"; with a semicolon at '
    "the end, and quotes around values with spaces or any of / = ; \" '"
)

# The tokens of java.io.StreamTokenizer with the settings of Kafka's JaasConfig, and its traps: a
# single slash begins a comment too, which includes the next character, even an end of line. Two
# differences change no valid text: words may have more characters than letters, digits and _-$.
# (Java's client 4.3.1 needs quotes), and a quote that is not closed on its line is an error.
_TOKEN: Final = re.compile(
    r"""(?P<skip>[\x00-\x20]+|/\*(?:.*?\*/|.*)|/.?[^\r\n]*)
    |"(?P<double>(?:[^"\\\r\n]|\\.)*)"
    |'(?P<single>(?:[^'\\\r\n]|\\.)*)'
    |(?P<word>[^\x00-\x20/"'=;]+)
    |(?P<sign>[=;])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:([0-3][0-7]{0,2}|[4-7][0-7]?)|(.))", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CONTROL_FLAGS: Final = ("required", "requisite", "sufficient", "optional")


class _Sign(Enum):
    EQUALS = "="
    SEMICOLON = ";"


@dataclass(frozen=True, slots=True)
class JaasEntry:
    """One login module with its options, as written. Its repr does not show them."""

    module: str = field(repr=False)  # the class, perhaps with the prefix of a shaded package
    control_flag: str  # in lower case; without effect for one module
    options: Mapping[str, str] = field(repr=False)


def parse_jaas(text: Secret | str) -> JaasEntry:
    """Parse the text of `sasl.jaas.config`, by the rules of Java's client.

    Raises:
        KafkaConfigError: The text is not exactly one login module with options.
    """
    tokens = list(_tokens(text.reveal() if isinstance(text, Secret) else text))
    if _Sign.SEMICOLON not in tokens:
        _refuse(f"lacks its semicolon; {_FORM}")
    end = tokens.index(_Sign.SEMICOLON)
    if end + 1 < len(tokens):
        _refuse("continues after its semicolon; it must have exactly one login module")
    match tokens[:end]:
        case [str(module), str(control_flag), *rest] if control_flag.lower() in _CONTROL_FLAGS:
            return JaasEntry(module, control_flag.lower(), dict(_options(rest)))
        case _:
            _refuse(f"does not begin with a class and its control flag; {_FORM}")


def _options(tokens: Sequence[str | _Sign]) -> Iterator[tuple[str, str]]:
    for start in range(0, len(tokens), 3):
        match tokens[start : start + 3]:
            case [str(name), _Sign.EQUALS, str(value)]:
                yield name, value
            case _:
                _refuse(f"has an option without its value, or a value without its name; {_FORM}")


def _tokens(text: str) -> Iterator[str | _Sign]:
    pos = 0
    while pos < len(text):
        token = _TOKEN.match(text, pos)
        if token is None:
            _refuse(f"has a quote that is not closed on its line; {_FORM}")
        pos = token.end()
        match token.lastgroup:
            case "word":
                yield token["word"]
            case "sign":
                yield _Sign(token["sign"])
            case "double" | "single" as quoted:
                yield _ESCAPE.sub(_unescaped, token[quoted])


def _unescaped(escape: re.Match[str]) -> str:
    octal, character = escape.groups()
    return chr(int(octal, 8)) if octal else _ESCAPES.get(character, character)


def _refuse(what: str) -> NoReturn:
    raise KafkaConfigError(f"Option 'kafka.sasl.jaas.config' {what}")


class _LoginModule(NamedTuple):
    """A Java class: its mechanisms, and the names of its options here."""

    mechanisms: tuple[str, ...]
    options: Mapping[str, str]
    # Accepted options for the Java client only.
    without_effect: frozenset[str] = frozenset()


_USER: Final = {"username": "sasl.username", "password": "sasl.password"}
_EXTENSION: Final = "extension_"
_EXTENSIONS: Final = "sasl.oauthbearer.extensions"

_LOGIN_MODULES: Final[Mapping[str, _LoginModule]] = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": _LoginModule(("PLAIN",), _USER),
    "org.apache.kafka.common.security.scram.ScramLoginModule": _LoginModule(
        ("SCRAM-SHA-256", "SCRAM-SHA-512"), _USER | {"tokenauth": "sasl.scram.tokenauth"}
    ),
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": _LoginModule(
        ("OAUTHBEARER",),
        {
            "clientId": "sasl.oauthbearer.client.id",
            "clientSecret": "sasl.oauthbearer.client.secret",
            "scope": "sasl.oauthbearer.scope",
        },
    ),
    "software.amazon.msk.auth.iam.IAMLoginModule": _LoginModule(
        ("AWS_MSK_IAM",),
        {
            "awsProfileName": "sasl.aws.profile",
            "awsRoleArn": "sasl.aws.role.arn",
            "awsRoleSessionName": "sasl.aws.role.session.name",
        },
        frozenset({"awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs"}),
    ),
    "com.sun.security.auth.module.Krb5LoginModule": _LoginModule(
        ("GSSAPI",),
        {
            "principal": "sasl.kerberos.principal",
            "keyTab": "sasl.kerberos.keytab",
            "serviceName": "sasl.kerberos.service.name",
        },
        frozenset(
            {"useKeyTab", "useTicketCache", "storeKey", "doNotPrompt", "renewTGT"}
            | {"refreshKrb5Config", "isInitiator", "debug"}
        ),
    ),
}

# Unsupported options by prefix, and their replacements.
_INSTEAD: Final[Mapping[str, str]] = {
    "unsecuredLogin": "return an unsigned token from kafka.sasl.oauthbearer.token.callback",
    "awsRole": "write keys, external id and session token of a role to a profile of AWS's files",
    "awsStsRegion": "the region of STS is always the cluster's region",
    "ticketCache": "set the ticket cache with the environment variable KRB5CCNAME",
}


def credentials_of(entry: JaasEntry, mechanism: str) -> Mapping[str, str]:
    """The options of an entry for this `sasl.mechanism`, with librdkafka's names without `kafka.`.

    Raises:
        KafkaConfigError: The module is unknown or for another mechanism, or an option is unknown.
    """
    name, module = _login_module(entry)
    if mechanism not in module.mechanisms:
        _refuse(
            f"names {name}, which is for {' and '.join(module.mechanisms)}, but "
            f"kafka.sasl.mechanism is {mechanism}"
        )
    _check_keytab(entry.options)
    credentials: dict[str, str] = {}
    extensions: list[str] = []
    for option, value in entry.options.items():
        if option in module.options:
            credentials[module.options[option]] = value
        elif option.startswith(_EXTENSION) and name == "OAuthBearerLoginModule":
            extensions.append(f"{option.removeprefix(_EXTENSION)}={value}")
        elif option not in module.without_effect:
            _refuse_option(option, name, module)
    if extensions:
        if any("," in extension for extension in extensions):
            _refuse("has an OAUTHBEARER extension with a comma, which cannot be sent")
        credentials[_EXTENSIONS] = ",".join(extensions)
    return credentials


def _login_module(entry: JaasEntry) -> tuple[str, _LoginModule]:
    """The simple name of the class, and its login module.

    Accepts a prefix: Databricks has `kafkashaded.org.apache.kafka...`.
    """
    for class_name, module in _LOGIN_MODULES.items():
        if f".{entry.module}".endswith(f".{class_name}"):
            return class_name.rpartition(".")[2], module
    _refuse(f"names a login module that is not one of {', '.join(_LOGIN_MODULES)}")


def _check_keytab(options: Mapping[str, str]) -> None:
    """Raise an error for `keyTab` without `useKeyTab`: Java silently ignores it."""
    if "keyTab" in options and options.get("useKeyTab", "").lower() != "true":
        _refuse("has keyTab without useKeyTab=true, which Java ignores: set both or neither")


def _refuse_option(option: str, name: str, module: _LoginModule) -> NoReturn:
    for prefix, advice in _INSTEAD.items():
        if option.startswith(prefix):
            _refuse(f"has an option of {name} that has no counterpart here: {advice}")
    known = sorted({*module.options, *module.without_effect})
    _refuse(f"has an option that {name} does not know; it knows {', '.join(known)}")
