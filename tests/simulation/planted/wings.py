"""The faults that are planted in what the simulation does not reach, and the tests that hunt them.

The tests are instruments first: properties, histories, matrices, hostile draws, comparisons with
other programs. An example of a fault finds that fault only.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.planted.fault import Planted

_CHANGES: Final = "kafka_spark_source/changes"
_FORMATS: Final = "protocol/kafka_formats"
_EVOLUTION: Final = (
    "tests/formats/query/test_evolution_matrix.py",
    "tests/formats/query/test_evolution_values.py",
)
_EVENTS: Final = (
    "tests/formats/debezium/test_matrix.py",
    "tests/formats/debezium/test_recorded.py",
    "tests/formats/debezium/test_placeholder.py",
    "tests/formats/debezium/test_same.py",
)
_ORDER: Final = ("tests/spark/changes/test_order_model.py",)
_REGISTRY: Final = (
    "tests/formats/registry/test_client.py",
    "tests/formats/registry/test_failover.py",
    "tests/formats/registry/test_references.py",
    "tests/hostile/test_registry.py",
)

WINGS: Final = (
    # --- Change data
    Planted(
        "texts of other lengths are an order of changes",
        f"{_CHANGES}/order.py",
        "AND (length({new}) <> length({old})",
        "AND (length({new}) < length({old})",
        judges=("tests/spark/changes/test_order.py",),
    ),
    Planted(
        "a change that Debezium writes again is backwards",
        f"{_CHANGES}/order.py",
        "AND {new}.ts_ms > {old}.ts_ms)",
        "AND {new}.ts_ms >= {old}.ts_ms)",
        judges=_ORDER,
    ),
    Planted(
        "a record without the id of its topic is in no partition",
        f"{_CHANGES}/order.py",
        "AND coalesce({ours}.topicId = {theirs}.topicId, true))",
        "AND {ours}.topicId = {theirs}.topicId)",
        judges=_ORDER,
    ),
    Planted(
        "a bigint fits 18 digits",
        f"{_CHANGES}/types.py",
        "    T.LongType: 19,\n",
        "    T.LongType: 18,\n",
        judges=("tests/spark/changes/test_types.py",),
    ),
    Planted(
        "an int fits a float",
        f"{_CHANGES}/types.py",
        "    T.IntegerType: (T.LongType, T.DoubleType),\n",
        "    T.IntegerType: (T.LongType, T.FloatType, T.DoubleType),\n",
        judges=("tests/spark/changes/test_types.py",),
    ),
    Planted(
        "maps are compared in the order of their entries",
        f"{_CHANGES}/types.py",
        'f"array_sort(transform(map_entries({value}), {element} -> {_struct(parts)}))"',
        'f"transform(map_entries({value}), {element} -> {_struct(parts)})"',
        judges=("tests/spark/changes/test_types.py",),
    ),
    Planted(
        "a backslash in a name ends a literal of SQL",
        f"{_CHANGES}/sql.py",
        'value.replace("\\\\", "\\\\\\\\").replace("\'", "\\\\\'")',
        'value.replace("\'", "\\\\\'")',
        judges=("tests/spark/changes/test_sql.py",),
    ),
    Planted(
        "a value of TOAST comes back from a deleted row",
        f"{_CHANGES}/statement.py",
        '        is_gone = f"{is_gone} OR {_of_target(TOMBSTONE)}"\n    kept',
        '        is_gone = f"{is_gone} OR {_of_source(TOMBSTONE)}"\n    kept',
        judges=("tests/spark/changes/test_statement.py",),
    ),
    Planted(
        "an unknown operation is an update",
        f"{_CHANGES}/rows.py",
        "WHEN {op} IN ({others}) THEN false END",
        "WHEN {op} IS NOT NULL THEN false END",
        judges=("tests/spark/changes/test_rows.py", "tests/spark/changes/test_checks.py"),
    ),
    Planted(
        "a deleted row has a current version",
        f"{_CHANGES}/versions.py",
        "CURRENT: is_last & ~F.col(TOMBSTONE)}",
        "CURRENT: is_last}",
        judges=("tests/spark/changes/test_versions_model.py",),
    ),
    Planted(
        "one of several rows that were deleted at once has the value",
        f"{_CHANGES}/known_values.py",
        "F.when(count == 1, F.col(_LINK))",
        "F.when(count >= 1, F.col(_LINK))",
        judges=("tests/spark/changes/test_known_values.py",),
    ),
    # --- Tables of SQL
    Planted(
        "a table's options win over the query's",
        "kafka_spark_source/columns/catalog_table.py",
        "return {**options_for(_options_in(kept), use), **given}",
        "return {**given, **options_for(_options_in(kept), use)}",
        judges=("tests/spark/columns/test_catalog_table.py",),
    ),
    Planted(
        "a table names a function in capitals",
        "kafka_spark_source/columns/catalog_table.py",
        "lower = {name.lower(): value for name, value in options.items()}\n    except",
        "lower = {name: value for name, value in options.items()}\n    except",
        judges=("tests/spark/columns/test_catalog_table.py",),
    ),
    Planted(
        "a table may keep a password in the URL of a registry",
        "kafka_spark_source/columns/catalog_table.py",
        're.compile(r"://[^/]*@")',
        're.compile(r"://[^/:]*@")',
        judges=("tests/spark/columns/test_catalog_table.py",),
    ),
    # --- Dead letters
    Planted(
        "dead letters are written with the acks of the read",
        "kafka_spark_source/reading/dead_letters.py",
        "        acks=ACKS_ALL,\n",
        "        acks=config.acks,\n",
        judges=("tests/spark/reading/test_dead_letters.py",),
    ),
    Planted(
        "the headers of a record come after the reasons",
        "kafka_spark_source/reading/dead_letters.py",
        "[*(own or ()), *_reasons(each, time_ms)]",
        "[*_reasons(each, time_ms), *(own or ())]",
        judges=("tests/spark/reading/test_dead_letters.py",),
    ),
    # --- Schemas that grow
    Planted(
        "a decimal with more digits behind the point is held",
        f"{_FORMATS}/avro/losses.py",
        "return is_long_enough and read.scale >= written.scale",
        "return is_long_enough",
        judges=_EVOLUTION,
    ),
    Planted(
        "losses in the values of a map are none",
        f"{_FORMATS}/avro/losses.py",
        "return losses(writer.values, reader.values, path_of(path, VALUES))",
        "return losses(reader.values, reader.values, path_of(path, VALUES))",
        judges=_EVOLUTION,
    ),
    Planted(
        "a number of 32 bits without a sign fits one of 64 bits",
        f"{_FORMATS}/protobuf/losses.py",
        "        (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES),\n",
        "        (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES),\n"
        "        (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_INT64),\n",
        judges=_EVOLUTION,
    ),
    Planted(
        "a symbol of Protobuf with another name is the old one",
        f"{_FORMATS}/protobuf/losses.py",
        "        if symbols or renamed:\n",
        "        if symbols:\n",
        judges=_EVOLUTION,
    ),
    Planted(
        "a long fits a double",
        f"{_FORMATS}/payload/type_changes.py",
        "bits = 53 if read.bit_width == 64 else 24",
        "bits = 64 if read.bit_width == 64 else 24",
        judges=_EVOLUTION,
    ),
    Planted(
        "only the newest hundred versions are looked at",
        f"{_FORMATS}/query/evolution.py",
        "for version in sorted(newer, reverse=True):",
        "for version in sorted(newer, reverse=True)[:100]:",
        judges=("tests/formats/suite/test_evolution.py",),
    ),
    # --- Debezium's events
    Planted(
        "the placeholder in an array of UUIDs is a value",
        f"{_FORMATS}/debezium/placeholder.py",
        "pa.string(): (self._text, str(as_uuid)),",
        "pa.string(): (self._text,),",
        judges=_EVENTS,
    ),
    Planted(
        "the placeholder in an array of numbers has no sign",
        f"{_FORMATS}/debezium/placeholder.py",
        "np.frombuffer(self.value, dtype=np.int8).tolist()",
        "np.frombuffer(self.value, dtype=np.uint8).tolist()",
        judges=_EVENTS,
    ),
    Planted(
        "nanoseconds are cut",
        f"{_FORMATS}/connect/times.py",
        "            is_broken = rest != 0\n",
        "            is_broken = rest < 0\n",
        judges=("tests/formats/connect/test_times.py", *_EVENTS),
    ),
    Planted(
        "a number as large as its decimal's limit fits",
        f"{_FORMATS}/connect/decimals.py",
        "valid & ((numbers >= limit) | (numbers <= -limit))",
        "valid & ((numbers > limit) | (numbers < -limit))",
        judges=("tests/formats/connect/test_decimals.py", *_EVENTS),
    ),
    Planted(
        "equal keys of two topics have one row",
        f"{_FORMATS}/upsert/upsert.py",
        "(topic[1:] != topic[:-1]) | (partition[1:] != partition[:-1])",
        "partition[1:] != partition[:-1]",
        judges=("tests/formats/upsert/test_upsert.py", "tests/spark/reading/test_upsert.py"),
    ),
    Planted(
        "a delete as Connect writes it is a value",
        f"{_FORMATS}/upsert/upsert.py",
        "[groups, batch.column(KEY.name), values.is_null(), *carried],",
        '[groups, batch.column(KEY.name), batch.column("value").is_null(), *carried],',
        judges=("tests/formats/upsert/test_upsert.py", "tests/formats/payload/test_nulls.py"),
    ),
    Planted(
        "the document null is a delete without a schema, too",
        f"{_FORMATS}/schema_ids/connect.py",
        "        is_null &= ~plain\n",
        "        is_null &= valid\n",
        judges=("tests/formats/schema_ids/test_connect.py",),
    ),
    # --- Registries
    Planted(
        "a slash in a subject is one of the path",
        f"{_FORMATS}/registry/client.py",
        'return quote(subject, safe="")',
        "return quote(subject)",
        judges=_REGISTRY,
    ),
    Planted(
        "a redirect to another port has the credentials",
        f"{_FORMATS}/registry/url_parts.py",
        "return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]",
        "return parts.scheme, parts.hostname, _PORTS[parts.scheme]",
        judges=("tests/formats/registry/test_url_parts.py", *_REGISTRY),
    ),
    Planted(
        "a flood of unknown schema ids has no bound",
        f"{_FORMATS}/registry/schemas_by_id.py",
        "        if len(self.refused) > _MOST_REFUSED:\n",
        "        if len(self.known) > _MOST_REFUSED:\n",
        judges=("tests/formats/registry/test_schemas_by_id.py",),
    ),
    Planted(
        "a reference comes before what it needs itself",
        f"{_FORMATS}/registry/references.py",
        "        self.visit_all(schema.references, (*path, reference))\n"
        "        self.texts[reference.name] = schema.text\n",
        "        self.texts[reference.name] = schema.text\n"
        "        self.visit_all(schema.references, (*path, reference))\n",
        judges=_REGISTRY,
    ),
    Planted(
        "imports in single quotes are not seen",
        f"{_FORMATS}/protobuf/protoc.py",
        "if name := token[1] or token[2]:",
        "if name := token[1]:",
        judges=("tests/formats/protobuf/test_protoc.py", "tests/formats/protobuf/test_compiler.py"),
    ),
    Planted(
        "a message within an extension has no place",
        f"{_FORMATS}/protobuf/proto_text.py",
        'words[:1] in (["oneof"], ["extend"])',
        'words[:1] == ["oneof"]',
        judges=("tests/formats/protobuf/test_proto_text.py",),
    ),
    Planted(
        "a registry that is slow is not asked again",
        f"{_FORMATS}/registry/refusals.py",
        "return self.response.status in (408, 429) or",
        "return self.response.status == 429 or",
        judges=(
            "tests/formats/registry/test_failover.py",
            "tests/formats/registry/test_refusals.py",
        ),
    ),
    Planted(
        "an id that was unknown is so for ever longer",
        f"{_FORMATS}/registry/cache.py",
        "min(4 * before.wait_ms, _MAX_WAIT_MS)",
        "max(4 * before.wait_ms, _FIRST_WAIT_MS)",
        judges=("tests/formats/registry/test_cache.py",),
    ),
    Planted(
        "true is the version of a schema",
        f"{_FORMATS}/registry/responses.py",
        "if isinstance(value, bool) or not isinstance(value, int) or",
        "if not isinstance(value, int) or",
        judges=("tests/formats/registry/test_responses.py",),
    ),
    # --- Reads that follow
    Planted(
        "an open transaction is a topic that was created again",
        "protocol/kafka_protocol/client/consumer/read_topics.py",
        "    if cluster.config.isolation_level == _UNCOMMITTED:\n",
        "    if cluster.config.isolation_level:\n",
        judges=("tests/protocol/client/consumer/test_read_topics.py",),
    ),
    Planted(
        "a topic that loses partitions is the same",
        "protocol/kafka_protocol/client/consumer/read_topics.py",
        "set(self._by_topic[name]) - set(now)",
        "set(self._by_topic[name][:1]) - set(now)",
        judges=("tests/protocol/client/consumer/test_read_topics.py",),
    ),
    # --- The command line
    Planted(
        "a form feed of a properties file is a letter",
        "protocol/kafka_protocol/options/properties_file.py",
        '{"t": "\\t", "n": "\\n", "r": "\\r", "f": "\\f"}',
        '{"t": "\\t", "n": "\\n", "r": "\\r"}',
        judges=("tests/protocol/options/test_properties_file.py",),
    ),
    Planted(
        "a continued line of a properties file keeps its tabs",
        "protocol/kafka_protocol/options/properties_file.py",
        "whole = whole[:-1] + lines[at].lstrip(_WHITE)",
        'whole = whole[:-1] + lines[at].lstrip(" ")',
        judges=("tests/protocol/options/test_properties_file.py",),
    ),
    Planted(
        "a rewind leaves the unfinished micro-batch as it is",
        "kafka_spark_source/tools/positions/rewind.py",
        "if each.number >= ended.number",
        "if each.number == ended.number",
        judges=("tests/spark/tools/positions/test_rewind.py",),
    ),
    Planted(
        "a rewind writes the finished micro-batch first",
        "kafka_spark_source/tools/positions/rewind.py",
        "for number in reversed(planned.rewritten)]",
        "for number in planned.rewritten]",
        judges=("tests/spark/tools/positions/test_rewind.py",),
    ),
    Planted(
        "completion offers a name that only begins like one",
        "kafka_spark_source/cli/completion.py",
        '[[ "$name" =~ ^[[:alnum:]._-]+$ && "$name"',
        '[[ "$name" =~ ^[[:alnum:]._-]+ && "$name"',
        judges=("tests/spark/cli/test_completion.py",),
    ),
    Planted(
        "a topic may have the name of a folder above",
        "protocol/kafka_protocol/options/topic_names.py",
        "(?!\\.{{1,2}}\\Z)",
        "(?!\\.\\Z)",
        judges=("tests/protocol/options/test_topic_names.py",),
    ),
    Planted(
        "an escape of a terminal in JSON is printed",
        "kafka_spark_source/cli/terminal/escaping.py",
        "c if c.isprintable() or c in _BETWEEN_LINES else _json_escape(c)",
        'c if c >= " " or c in _BETWEEN_LINES else _json_escape(c)',
        judges=("tests/spark/cli/terminal/test_escaping.py", "tests/hostile/test_broker.py"),
    ),
    Planted(
        "jars in the cache are not compared with their checksums",
        "kafka_spark_source/testing/downloads/jars.py",
        "    verify(folder, locked)\n    return folder\n",
        "    return folder\n",
        judges=("tests/spark/testing/downloads/test_jars.py",),
    ),
    # --- Exactly once
    Planted(
        "a decision of another query counts for this one",
        "kafka_spark_source/writing/claimed_prefix.py",
        "    if decided.query != current.query:\n",
        "    if decided.query > current.query:\n",
        judges=("tests/spark/writing/test_claimed_prefix.py",),
    ),
    Planted(
        "a part of a decision may be missing",
        "kafka_spark_source/writing/decision_format.py",
        "if len(writes) != self.tasks:",
        "if len(writes) > self.tasks:",
        judges=(
            "tests/spark/writing/test_decision_format.py",
            "tests/spark/writing/test_commit_log.py",
        ),
    ),
)
