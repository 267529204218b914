"""Who may give orders where: the table in SECURITY.md.

Each input from outside, each place where it could act, and the guard between them. Text only;
`tests/test_trust.py` checks that each function and each test exists, and that no cell that needs a
guard is without one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from docs.markdown import row

INPUTS: Final[Mapping[str, str]] = {
    "broker": "responses: names of topics, hosts, groups and clients, errors",
    "registry": "responses: names of references and subjects, ids, redirects, errors",
    "token server": "responses: tokens, errors",
    "payload": "keys and values of records",
    "schema": "Avro, JSON Schema, `.proto` text, descriptors, from a registry or a file",
    "header": "keys and values of headers",
    "checkpoint": "logs of Spark",
    "catalog": "options of tables that somebody else created",
    "properties": "files of options for the command line",
    "environment": "variables",
    "data file": "metadata of the columns of a Parquet file or another table",
}
PLACES: Final[Mapping[str, str]] = {
    "process": "Lint bans `subprocess`, `os.system` and their like outside of `protoc.py` and of "
    "`kafka_spark_source/testing`, which starts local servers from arguments of its own.",
    "code": "Lint bans `eval`, `exec` and imports by name, except for modules with names of our "
    "own, and the callback that an option of the user's names.",
    "pickle": "Lint bans `pickle`, `marshal` and `shelve` for reading. Spark pickles tasks itself.",
    "shell": "No text of others is part of a script; lint bans `shell=True`.",
    "path": "Temporary files have names of our own; other paths are options of the user's.",
    "SQL": "Only `apply_changes` and `topics_to_tables` make statements, from names of columns and "
    "topics and their arguments.",
    "URL": "Only the registry's client makes paths of names.",
    "HTTP header": "Headers have credentials and constants.",
    "row target": "A write goes where the options of the write say.",
    "log": "Texts of servers are short and printable; payloads are never logged.",
    "terminal": "One module prints, and escapes all that it prints.",
    "site": "Pages are made of the repository's own files.",
    "memory": "",
    "time": "",
}
"""Place -> why no input without a guard acts there; empty where each input needs a guard."""


class Guard(NamedTuple):
    """What stands between inputs and places, where it is, and its test."""

    text: str
    inputs: tuple[str, ...]
    places: tuple[str, ...]
    function: str
    test: str


_SERVERS: Final = ("broker", "registry", "token server")
_OWN: Final = ("checkpoint", "catalog", "properties", "environment", "data file")
_HOSTILE_REGISTRY: Final = "tests/hostile/test_registry.py::test_a_hostile_registry_gives_no_orders"
_HOSTILE_BROKER: Final = "tests/hostile/test_broker.py::test_a_hostile_broker_gives_no_orders"

GUARDS: Final = (
    Guard(
        "protoc gets files with names of our own. Names of references are in a descriptor set.",
        ("registry", "schema"),
        ("process", "path"),
        "protocol/kafka_formats/protobuf/protoc.py:compiled_texts",
        "tests/formats/protobuf/test_protoc.py::test_no_name_of_others_is_an_argument_or_a_path",
    ),
    Guard(
        "Modules of built-in files are imported by a pattern without dots, from `google` only.",
        ("registry", "schema"),
        ("code",),
        "protocol/kafka_formats/protobuf/compiler.py:is_built_in",
        _HOSTILE_REGISTRY,
    ),
    Guard(
        "Topics with names that Kafka does not allow are left out of Metadata, with a warning.",
        ("broker",),
        ("shell", "path", "terminal", "log"),
        "protocol/kafka_protocol/client/cluster/metadata.py:request_metadata",
        "tests/protocol/client/cluster/test_cluster.py::"
        "test_names_that_kafka_does_not_allow_are_left_out",
    ),
    Guard(
        "Completion compares names. It offers names of letters, digits, dots, hyphens and "
        "underscores.",
        ("broker", "properties", "environment"),
        ("shell",),
        "kafka_spark_source/cli/completion.py:_run",
        "tests/spark/cli/test_completion.py::"
        "test_names_of_a_hostile_broker_are_not_expanded_nor_offered",
    ),
    Guard(
        "All that is printed is escaped: no control character, no line break within a text. Only "
        "`peek --format` writes bytes as they are.",
        ("broker", "registry", "token server", "payload", "schema", "header", "checkpoint"),
        ("terminal",),
        "kafka_spark_source/cli/terminal/escaping.py:escaped",
        "tests/spark/cli/terminal/test_escaping.py::test_the_console_escapes_all_that_it_prints",
    ),
    Guard(
        "A text of a server is shortened, and only its printable characters are shown.",
        _SERVERS,
        ("log",),
        "protocol/kafka_protocol/auth/mechanism.py:shown",
        _HOSTILE_BROKER,
    ),
    Guard(
        "Secrets that a server repeats are hidden in errors.",
        ("registry", "token server"),
        ("log",),
        "protocol/kafka_formats/registry/credentials.py:hide",
        "tests/formats/registry/test_credentials.py::test_a_repeated_secret_is_hidden",
    ),
    Guard(
        "Names of subjects are quoted in paths, slashes too.",
        ("broker", "registry"),
        ("URL",),
        "protocol/kafka_formats/registry/client.py:_quoted",
        _HOSTILE_REGISTRY,
    ),
    Guard(
        "A redirect is followed to the same server only.",
        ("registry",),
        ("URL",),
        "protocol/kafka_formats/registry/url_parts.py:redirect_target",
        "tests/formats/registry/test_failover.py::"
        "test_a_redirect_to_another_server_is_not_followed",
    ),
    Guard(
        "`$ref` of JSON Schema finds documents that are there; none is fetched.",
        ("registry", "schema"),
        ("URL",),
        "protocol/kafka_formats/json/schema_documents.py:target",
        _HOSTILE_REGISTRY,
    ),
    Guard(
        "No line of a request has a control character.",
        ("token server", "catalog", "properties", "environment"),
        ("HTTP header",),
        "protocol/kafka_protocol/client/network/http_request.py:_encoded",
        "tests/protocol/client/network/test_http_request.py::test_no_line_has_a_control_character",
    ),
    Guard(
        "The options of a write come from the write alone. Metadata of columns only says what a "
        "table is read with.",
        ("catalog", "data file"),
        ("row target",),
        "kafka_spark_source/columns/catalog_table.py:check_write_names_brokers",
        "tests/spark/columns/test_catalog_table.py::test_the_columns_of_rows_do_not_decide_where_they_go",
    ),
    Guard(
        "No table names a function to call.",
        ("catalog", "data file"),
        ("code",),
        "kafka_spark_source/columns/catalog_table.py:with_kept_options",
        "tests/spark/columns/test_catalog_table.py::test_no_table_names_a_function_to_call",
    ),
    Guard(
        "Options of a table, or of metadata like a table's, may not refer to the environment or to "
        "files of whoever reads it.",
        ("catalog", "data file"),
        ("path",),
        "kafka_spark_source/columns/catalog_table.py:_check_is_safe",
        "tests/spark/columns/test_catalog_table.py::test_no_table_refers_to_what_its_reader_has",
    ),
    Guard(
        "A file of the user's own may name one, as an option may.",
        ("properties",),
        ("code",),
        "protocol/kafka_protocol/client/config/security_options.py:_token_callback",
        "tests/protocol/client/broker/test_oauth.py::test_callback",
    ),
    Guard(
        "A row names its topic and partition only in columns of these names, as with Spark's own "
        "connector, and the option `topic` overrides the first. A name or number that the cluster "
        "does not have is an error.",
        ("payload",),
        ("row target",),
        "protocol/kafka_protocol/columnar/writing/routing.py:route",
        "tests/protocol/columnar/writing/test_routing.py::test_partition_that_does_not_exist",
    ),
    Guard(
        "Names are quoted as identifiers, texts as literals.",
        ("schema", "payload"),
        ("SQL",),
        "kafka_spark_source/changes/sql.py:quoted",
        "tests/spark/changes/test_sql.py::test_names_and_texts_are_quoted",
    ),
    Guard(
        "`${...}` in a name stays a name: Spark's substitution is off, or the name is refused.",
        ("schema",),
        ("SQL",),
        "kafka_spark_source/changes/apply.py:_check_substitution",
        "tests/change_data/test_topics_once.py::test_names_of_fields_do_not_read_the_environment",
    ),
    Guard(
        "A topic, and a record type, is one quoted part of its table's name at most, of letters, "
        "digits and underscores. The table of another one is not written.",
        ("broker", "schema"),
        ("SQL", "row target"),
        "kafka_spark_source/tables/names.py:name_of",
        "tests/spark/tables/test_names.py::test_a_topic_fills_one_part_of_letters_digits_and_underscores",
    ),
    Guard(
        "A frame, a body and a decompressed batch have a largest size; nothing is allocated by a "
        "stated length.",
        ("broker", "payload", "header"),
        ("memory",),
        "protocol/kafka_protocol/records/compression.py:decompress",
        "tests/protocol/messages/test_hostile_bytes.py::"
        "test_fault_15_huge_lengths_allocate_no_more_than_the_frame",
    ),
    Guard(
        "A response over HTTP has a largest size.",
        ("registry", "token server"),
        ("memory",),
        "protocol/kafka_protocol/client/network/http_request.py:send",
        "tests/protocol/client/network/test_http_request.py::test_a_response_that_is_too_long",
    ),
    Guard(
        "The schemas of a schema have a largest number, size and depth.",
        ("registry", "schema"),
        ("memory",),
        "protocol/kafka_formats/registry/references.py:resolve",
        "tests/formats/registry/test_references.py::test_too_much_text_is_an_error",
    ),
    Guard(
        "A file of a checkpoint has a largest size.",
        ("checkpoint",),
        ("memory",),
        "kafka_spark_source/tools/positions/checkpoint_folder.py:lines",
        "tests/spark/tools/positions/test_checkpoints.py::test_a_file_that_is_too_large",
    ),
    Guard(
        "Each wait has a deadline, each retry an end.",
        ("broker", "registry", "token server"),
        ("time",),
        "protocol/kafka_protocol/client/clock.py:capped_at",
        "tests/formats/registry/test_failover.py::test_fault_63_a_slow_registry_is_given_up",
    ),
    Guard(
        "protoc has a minute for all files of a schema.",
        ("registry", "schema"),
        ("time",),
        "protocol/kafka_formats/protobuf/protoc.py:compiled_texts",
        "tests/formats/protobuf/test_protoc.py::test_protoc_has_an_end",
    ),
    Guard(
        "Decoding takes time in proportion to the bytes of a batch.",
        ("payload", "header"),
        ("time",),
        "protocol/kafka_formats/payload/column_reader.py:__call__",
        "tests/formats/protobuf/test_decoder_hostile.py::test_long_and_wide_payloads",
    ),
    Guard(
        "It is the user's own, or Spark has read it whole before: its size is theirs.",
        _OWN,
        ("memory", "time"),
        "kafka_spark_source/cli/connection.py:read_properties",
        "tests/spark/cli/test_connection.py::test_an_error_shows_no_value",
    ),
)
"""The guards, in the order of their numbers."""


def needs_guard(place: str) -> bool:
    """Whether each input acts at a place, so that each needs a guard."""
    return not PLACES[place]


def guards_of(source: str, place: str) -> list[int]:
    """The numbers of the guards of a cell."""
    return [
        number
        for number, guard in enumerate(GUARDS, 1)
        if source in guard.inputs and place in guard.places
    ]


def trust_table() -> str:
    """The part of SECURITY.md between its markers."""
    head = row("", *PLACES) + row(*["---"] * (len(PLACES) + 1))
    cells = "".join(
        row(source, *(", ".join(map(str, guards_of(source, place))) or "-" for place in PLACES))
        for source in INPUTS
    )
    inputs = "".join(row(name, text) for name, text in INPUTS.items())
    places = "".join(row(name, text) for name, text in PLACES.items() if text)
    guards = "".join(
        row(str(number), guard.text, f"`{guard.function}`", f"`{guard.test}`")
        for number, guard in enumerate(GUARDS, 1)
    )
    return (
        f"\n{head}{cells}\n"
        "Numbers are guards. `-`: it cannot act there, for the reason of the place.\n"
        f"\n| input | is |\n| --- | --- |\n{inputs}"
        f"\n| place | why nothing else acts there |\n| --- | --- |\n{places}"
        f"\n| | guard | function | test |\n| --- | --- | --- | --- |\n{guards}"
    )
