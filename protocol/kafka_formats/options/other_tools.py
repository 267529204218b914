"""The options of other tools that people paste: what each means here. Pure.

Confluent's serializers in Java and Python, and the functions `from_avro` and `from_protobuf` of
Spark and Databricks. docs/option-names.md is made from these tables.

Sources: the `*Config` classes of confluentinc/schema-registry, `confluent_kafka.schema_registry`,
Spark's `AvroOptions` and `ProtobufOptions`, Databricks' guides to both functions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from kafka_formats.options.table import (
    AUTO_REGISTER,
    NORMALIZE,
    REGISTRY_PREFIX,
    USE_LATEST,
    USE_LATEST_WITH_METADATA,
    VALUE,
)
from kafka_protocol.errors import KafkaConfigError

_log = logging.getLogger(__name__)


class Fate(Enum):
    """What becomes of an option.

    SAME: it is an option here. RENAMED: it is one here, with another name. NO_EFFECT: it is
    accepted with a warning. REFUSED: it is an error, unless its value changes nothing.
    """

    SAME = "the same"
    RENAMED = "has another name here"
    NO_EFFECT = "no effect"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class OtherOption:
    """An option of another tool.

    Attributes:
        about: For REFUSED and NO_EFFECT why; for SAME what differs.
        target: For RENAMED the name here.
        harmless: For REFUSED the values in lower case that ask for the behaviour of this package.
    """

    name: str
    fate: Fate
    about: str = ""
    target: str = ""
    harmless: frozenset[str] = frozenset()


def _same(name: str, about: str = "") -> OtherOption:
    return OtherOption(name, Fate.SAME, about)


def _renamed(name: str, target: str) -> OtherOption:
    return OtherOption(name, Fate.RENAMED, target=target)


def _no_effect(name: str, about: str) -> OtherOption:
    return OtherOption(name, Fate.NO_EFFECT, about)


def _refused(name: str, about: str, *harmless: str) -> OtherOption:
    return OtherOption(name, Fate.REFUSED, about, harmless=frozenset(harmless))


_NO_CLASSES: Final = "there are no Java classes: values are rows"
_NO_RULES: Final = (
    "rules of data contracts are not run, so fields that they encrypt stay encrypted: use "
    "Confluent's own deserializer"
)
_CACHE: Final = "a process keeps all schemas by id"
_LATEST_CACHE: Final = "the latest version is looked up once for each query"
_PREFIXED: Final = "schema.registry.request.timeout.ms limits the whole request"
_NOT_PROXIED: Final = "requests are sent to the registry itself"
_COLUMN_FITS: Final = "a column that does not fit the schema is always refused"
_CONTEXT: Final = "set value.subject to the name with its context, `:.context:orders-value`"
_IN_FRONT: Final = "ids are written before payloads"

# The registry's client has these with and without the prefix `schema.registry.`.
_CLIENT: Final = (
    *(
        _renamed(name, REGISTRY_PREFIX + name)
        for name in (
            "basic.auth.credentials.source",
            "basic.auth.user.info",
            "bearer.auth.credentials.source",
            "bearer.auth.token",
            "bearer.auth.issuer.endpoint.url",
            "bearer.auth.client.id",
            "bearer.auth.client.secret",
            "bearer.auth.scope",
            "bearer.auth.logical.cluster",
            "bearer.auth.identity.pool.id",
            "max.retries",
            "retries.wait.ms",
            "retries.max.wait.ms",
        )
    ),
    _no_effect("bearer.auth.scope.claim.name", "the registry checks the claims of a token"),
    _no_effect("bearer.auth.sub.claim.name", "the registry checks the claims of a token"),
    _no_effect("bearer.auth.cache.expiry.buffer.seconds", "a token is renewed before it expires"),
    _refused("bearer.auth.custom.provider.class", "Java classes cannot be loaded"),
    _refused("bearer.auth.custom.provider.function", "a task cannot call it"),
    _refused("bearer.auth.custom.provider.config", "a task cannot call it"),
    _refused("bearer.auth.uami.endpoint.url", "Azure's managed identities are not supported"),
    _refused("bearer.auth.uami.endpoint.query", "Azure's managed identities are not supported"),
    _refused("bearer.auth.issuer.endpoint.query", "append it to the URL, after a ?"),
    _refused("http.connect.timeout.ms", _PREFIXED),
    _refused("http.read.timeout.ms", _PREFIXED),
    _refused("proxy.host", _NOT_PROXIED, ""),
    _refused("proxy.port", _NOT_PROXIED, "-1"),
    _no_effect("latest.cache.ttl.sec", _LATEST_CACHE),
    _no_effect("latest.cache.size", _LATEST_CACHE),
    _no_effect("missing.cache.size", "a task requests a missing schema once"),
    _no_effect("missing.id.cache.ttl.sec", "a task requests a missing id once"),
    _no_effect("missing.version.cache.ttl.sec", _LATEST_CACHE),
    _no_effect("missing.schema.cache.ttl.sec", "a schema is looked up once for each write"),
    _no_effect("cache.capacity", _CACHE),
    _no_effect("cache.latest.ttl.sec", _LATEST_CACHE),
    _no_effect("use.apache.http.client", "it chooses between two Java clients"),
)

# Serializers and deserializers have these.
_SERIALIZERS: Final = (
    _same("schema.registry.url", "several with commas; it may contain user and password"),
    _same("schema.registry.ssl.*", "as `ssl.*` of Kafka's clients"),
    _no_effect("schema.registry.url.randomize", "the URL that responded last is tried first"),
    _no_effect("max.schemas.per.subject", _CACHE),
    _same(AUTO_REGISTER.name, "for writes; the default is `false` here, `true` there"),
    _same(NORMALIZE.name, "for writes"),
    _same(
        USE_LATEST.name,
        "for writes; the default is `true` here, `false` there; a read always has the columns of "
        "the latest version",
    ),
    _same(USE_LATEST_WITH_METADATA.name, "for reads and writes"),
    _no_effect("latest.compatibility.strict", _COLUMN_FITS),
    _no_effect("id.compatibility.strict", _COLUMN_FITS),
    _refused("use.schema.id", "set value.schema (or key.schema) to id:7", "-1", ""),
    _refused("use.schema.guid", "set value.schema (or key.schema) to id: and the GUID", ""),
    _same("value.subject.name.strategy", "classes of your own are refused"),
    _same("key.subject.name.strategy", "classes of your own are refused"),
    _refused(
        "subject.name.strategy", "set value.subject.name.strategy or key.subject.name.strategy"
    ),
    _refused(
        "subject.name.strategy.type", "set value.subject.name.strategy or key.subject.name.strategy"
    ),
    _refused("subject.name.strategy.conf", "set value.subject or key.subject"),
    _refused("context.name.strategy", _CONTEXT, "nullcontextnamestrategy"),
    _refused("value.schema.id.serializer", _IN_FRONT, "prefixschemaidserializer"),
    _refused("key.schema.id.serializer", _IN_FRONT, "prefixschemaidserializer"),
    _refused("schema.id.serializer", _IN_FRONT, "prefixschemaidserializer"),
    _no_effect("value.schema.id.deserializer", "ids are found before payloads and in headers"),
    _no_effect("key.schema.id.deserializer", "ids are found before payloads and in headers"),
    _no_effect("schema.id.deserializer", "ids are found before payloads and in headers"),
    _no_effect("propagate.schema.tags", "tags do not change payloads"),
    _refused("schema.format", "schemas are read as they were registered", ""),
    _refused("rule.executors", _NO_RULES, ""),
    _refused("rule.actions", _NO_RULES, ""),
    _no_effect("rule.service.loader.enable", "rules of data contracts are not run"),
    _no_effect("rule.metrics.enable", "rules of data contracts are not run"),
    _no_effect("execution.environment", "rules of data contracts are not run"),
    _refused("validation.rules.execution", _NO_RULES, "disabled"),
    _no_effect("validation.rules.executor.class", "rules of data contracts are not run"),
    _no_effect("validation.rules.executor", "rules of data contracts are not run"),
    _no_effect("validation.rules.fail.fast", "rules of data contracts are not run"),
    _no_effect("schema.reflection", _NO_CLASSES),
    # Avro
    _no_effect("specific.avro.reader", _NO_CLASSES),
    _no_effect("specific.avro.key.type", _NO_CLASSES),
    _no_effect("specific.avro.value.type", _NO_CLASSES),
    _no_effect("avro.reflection.allow.null", _NO_CLASSES),
    _no_effect("avro.use.logical.type.converters", "logical types always have Spark's types"),
    _no_effect("avro.remove.java.properties", "a schema made by pykafka has none"),
    _refused("avro.fail.on.trailing.data", "bytes after a value are ignored, as in Java", "false"),
    _refused("validate", "types are checked, other keywords are not", "false"),
    _no_effect("validate.strict", "a value that does not fit its schema is always refused"),
    _no_effect("validate.strict.allow.default", "fields of the schema must all be in the column"),
    # JSON
    _refused(
        "json.fail.unknown.properties", "fields that the schema lacks are skipped", "false", "true"
    ),
    _refused("json.fail.invalid.schema", "types are checked, other keywords are not", "false"),
    _no_effect("json.validate.before.domain.rules", "rules of data contracts are not run"),
    _no_effect("json.key.type", _NO_CLASSES),
    _no_effect("json.value.type", _NO_CLASSES),
    _no_effect("type.property", _NO_CLASSES),
    _no_effect("json.type.allowed.packages", _NO_CLASSES),
    _no_effect("json.schema.scan.packages", _NO_CLASSES),
    _no_effect("json.schema.spec.version", "a schema made from a column states its version"),
    _no_effect("json.envelope.detection", "fields schema and payload have no special meaning"),
    _no_effect("json.oneof.for.nullables", "the schema of a column names null in `type`"),
    _refused("json.write.dates.iso8601", "dates are always written as text", "true"),
    _refused(
        "json.default.property.inclusion", "fields that are null are left out", "non_null", ""
    ),
    _refused("json.indent.output", "payloads have no blanks", "false"),
    # Protobuf
    _no_effect("specific.protobuf.key.type", _NO_CLASSES),
    _no_effect("specific.protobuf.value.type", _NO_CLASSES),
    _no_effect("derive.type", _NO_CLASSES),
    _refused(
        "reference.subject.name.strategy",
        "the subject of an import has the import's name",
        "defaultreferencesubjectnamestrategy",
    ),
    _no_effect("reference.lookup.only", "imports are looked up, unless schemas are registered"),
    _no_effect("skip.known.types", "files of google/ need not be registered"),
    _refused("use.deprecated.format", "message indexes are written as Java writes them", "false"),
)


def _prefixed(option: OtherOption) -> OtherOption:
    return replace(option, name=REGISTRY_PREFIX + option.name)


CONFLUENT: Final[tuple[OtherOption, ...]] = (*_SERIALIZERS, *_CLIENT)

_NOT_RECURSIVE: Final = "leave out a field that contains itself, with .schema(...)"

FUNCTIONS: Final[tuple[OtherOption, ...]] = (
    _same("mode", "functions accept FAILFAST and PERMISSIVE"),
    _renamed("avroSchema", VALUE.schema.name),
    _refused("avroSchemaUrl", "set value.schema to the path of a file on the driver"),
    _renamed("confluent.schema.registry.*", "schema.registry.*"),
    _renamed("schema.registry.address", "schema.registry.url"),
    _renamed("schema.registry.subject", VALUE.subject.name),
    _renamed("schema.registry.protobuf.name", VALUE.message.name),
    _renamed("schemaEvolutionMode", VALUE.evolution.name),
    _renamed("avroSchemaEvolutionMode", VALUE.evolution.name),
    _renamed("schema.registry.schema.evolution.mode", VALUE.evolution.name),
    _refused("recursiveFieldMaxDepth", _NOT_RECURSIVE, "-1", "0"),
    _refused("recursive.fields.max.depth", _NOT_RECURSIVE, "-1", "0"),
    _refused("datetimeRebaseMode", "dates use the Gregorian calendar", "corrected", "exception"),
    _refused("positionalFieldMatching", "fields are found by their names", "false"),
    _refused(
        "enableStableIdentifiersForUnionType", "members of a union are member0, member1", "false"
    ),
    _no_effect("stableIdentifierPrefixForUnionType", "members of a union are member0, member1"),
    _no_effect("compression", "Kafka compresses batches, not payloads"),
    _refused("recordName", "give a schema with the name"),
    _refused("recordNamespace", "give a schema with the namespace"),
    _refused("emit.default.values", "an absent field without presence is its default", "true"),
    _refused("enums.as.ints", "enums are read as their names", "false"),
    _refused("upcast.unsigned.ints", "unsigned numbers have Spark's signed types", "false"),
    _refused("convert.any.fields.to.json", "Any is read as its message", "false"),
    _refused("unwrap.primitive.wrapper.types", "wrappers are read as messages", "false"),
    _refused("retain.empty.message.types", "messages without fields are left out", "false"),
)

_BY_KEY: Final[Mapping[str, OtherOption]] = {
    each.name.lower(): each
    for each in (*CONFLUENT, *map(_prefixed, _CLIENT), *FUNCTIONS)
    # An option with the same name here is parsed elsewhere.
    if each.fate is not Fate.SAME and each.name.lower() != each.target
}
_LONG_PREFIX: Final = f"confluent.{REGISTRY_PREFIX}"


def in_own_names(given: Mapping[str, str]) -> dict[str, str]:
    """Options with the names that they have here; those without effect are left out.

    Args:
        given: Options by names in lower case. Options that are not in the tables stay.

    Raises:
        KafkaConfigError: An option is refused, or is there under two names.
    """
    own: dict[str, str] = {}
    for name, value in _short(given):
        other = _BY_KEY.get(name)
        if other is None:
            target = name
        elif other.fate is Fate.RENAMED:
            target = other.target
        else:
            _drop(other, value)
            continue
        if own.setdefault(target, value) != value:
            raise KafkaConfigError(
                f"Option '{target}' is given twice, under the names of two tools: keep one."
            )
    return own


def _short(given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in given.items():
        is_long = name.startswith(_LONG_PREFIX)
        yield (name.removeprefix("confluent.") if is_long else name), value


def _drop(other: OtherOption, value: str) -> None:
    if other.fate is Fate.NO_EFFECT:
        _log.warning("The option %s has no effect in pykafka: %s.", other.name, other.about)
        return
    # Names of classes may have their packages.
    simple = value.strip().lower()
    if simple not in other.harmless and simple.rpartition(".")[2] not in other.harmless:
        raise KafkaConfigError(f"Option '{other.name}' is not supported: {other.about}")
