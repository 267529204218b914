"""Draws a query: the way it runs, what it reads, and options that must not change its rows. Pure.

All that a query is, is drawn from its own Random and the truth of the topics, so that a seed
repeats it. What options mean is in `positions`, `filters` and `expected`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from tests.endurance.torture.drawn_filters import draw_filters
from tests.endurance.torture.options import (
    client_options,
    how_of,
    of_table,
    push_down,
    source_options,
    stream_limits,
)
from tests.endurance.torture.positions import (
    Form,
    Place,
    Position,
    end_options,
    gaps,
    range_of,
    start_options,
)
from tests.endurance.torture.rows import Truth
from tests.truth.bounds import EARLIEST, LATEST
from tests.truth.filters import Filter

COLUMNS: Final = (
    *("key", "value", "topic", "partition", "offset"),
    *("timestamp", "timestampType", "headers"),
)
IDENTITY: Final = ("topic", "partition", "offset")

# How often a way is drawn, of all.
WAYS: Final[Mapping[str, int]] = {
    "spark batch": 40,
    "upsert": 6,
    "upsert stream": 4,
    "dead letters": 4,
    "dead letter stream": 3,
    "debezium": 3,
    "group": 4,
    "spark stream": 12,
    "foreachBatch": 6,
    "spark write": 7,
    "stream write": 4,
    "exactly once": 4,
    "formats": 4,
    "threads": 8,
    "sail": 13,
    "sail write": 2,
}
STREAMS: Final = frozenset(
    {
        *("spark stream", "foreachBatch", "stream write", "exactly once"),
        *("upsert stream", "dead letter stream"),
    }
)
DEAD_LETTERS: Final = frozenset({"dead letters", "dead letter stream"})
WRITES: Final = frozenset({"spark write", "stream write", "exactly once", "sail write"})
# These read rows of tables: which is the newest must not depend on compaction.
_TABLES: Final = frozenset({"upsert", "upsert stream"})
# These read one topic without Spark.
_ALONE: Final = frozenset({"threads", "group"})
# These need to know which record a row is; the others may leave columns out.
_WHOLE: Final = STREAMS | WRITES | DEAD_LETTERS | {"formats", "debezium", "group"}
# These may read columns in other types.
_TYPED: Final = frozenset({"spark batch", "upsert", "spark stream", "foreachBatch"})
_OTHER_TYPES: Final[Mapping[str, str]] = {
    "key": "string",
    "value": "string",
    "headers": "map<string, binary>",
}
THREADS: Final = 8


class Query(NamedTuple):
    """A query.

    Attributes:
        places: The partitions that it reads, all of its topics or, with `assign`, some.
        select: Whether columns are named by `.select`, or else by `.schema`.
        options: Those that must not change the rows.
        how: What its way varies, by names of the way.
        types: The types of columns that have another one than the source's.
    """

    way: str
    topics: tuple[str, ...]
    strategy: str
    places: tuple[Place, ...]
    start: Position
    end: Position
    committed: bool
    columns: tuple[str, ...] = COLUMNS
    select: bool = False
    filters: tuple[Filter, ...] = ()
    options: Mapping[str, str] = {}
    how: Mapping[str, str] = {}
    types: Mapping[str, str] = {}


def writes(query: Query) -> bool:
    """Whether a query writes to a topic."""
    return (
        query.way in WRITES | {"formats", "debezium", "dead letters"}
        or query.how.get("copies") == "true"
    )


def read_options(query: Query) -> dict[str, str]:
    """The options of the source, but for the brokers' addresses."""
    names = {
        "subscribe": ",".join(query.topics),
        "subscribePattern": "|".join(f"^{topic}$" for topic in query.topics),
        "assign": json.dumps(
            {topic: [p for name, p in query.places if name == topic] for topic in query.topics}
        ),
    }
    level = "read_committed" if query.committed else "read_uncommitted"
    start = start_options(query.start)
    if query.way in STREAMS and not start:
        start = {"startingOffsets": "earliest"}
    return {
        query.strategy: names[query.strategy],
        "includeHeaders": str("headers" in query.columns).lower(),
        "kafka.isolation.level": level,
        **start,
        **end_options(query.end),
        **query.options,
    }


def draw(chance: random.Random, truth: Truth, begun_ms: int, way: str | None = None) -> Query:
    """A query of some topics.

    Args:
        begun_ms: When the run began, in ms since 1970: see `positions`.
        way: One of WAYS; None draws it.
    """
    chosen = way or chance.choices([*WAYS], [*WAYS.values()])[0]
    known = sorted(truth)
    if chosen in DEAD_LETTERS:  # what was written is compared row by row
        known = [topic for topic in known if not truth[topic].plan.is_compacted]
        if not known:
            return draw(chance, truth, begun_ms, "spark batch")
    most = 1 if chosen in _ALONE else min(3, len(known))
    topics = tuple(chance.sample(known, chance.choices(range(1, most + 1), _FEW[:most])[0]))
    strategy = "subscribe" if chosen in _ALONE else chance.choice(_STRATEGIES)
    every = [(topic, p) for topic in topics for p in sorted(truth[topic].partitions)]
    places = every
    if strategy == "assign" or chosen in _ALONE:
        places = sorted(chance.sample(every, chance.randint(1, len(every))))
        topics = tuple(dict.fromkeys(topic for topic, _ in places))
    query = Query(
        chosen,
        topics,
        strategy,
        tuple(places),
        Position(Form.OMITTED),
        Position(Form.OMITTED),
        chance.random() < 0.5 or (chosen in _TABLES and _is_compacted(topics, truth)),
    )
    query = _with_positions(query, chance, truth, begun_ms)
    query = _with_columns(query, chance, truth)
    query = query._replace(types=_types(query, chance))
    if chosen not in _UNFILTERED:
        rows = [row for t, p in query.places for row in truth[t].partitions[p].uncommitted]
        columns = {*COLUMNS} if query.select else {*query.columns} - {*query.types}
        query = query._replace(filters=draw_filters(chance, rows, columns))
    return query._replace(options=_options(query, chance, truth), how=how_of(chosen, chance))


def _types(query: Query, chance: random.Random) -> dict[str, str]:
    if query.way in DEAD_LETTERS:
        return {"value": "string"} | ({"key": "string"} if chance.random() < 0.5 else {})
    if query.way not in _TYPED or query.select or chance.random() < 0.7:
        return {}
    return {name: each for name, each in _OTHER_TYPES.items() if name in query.columns}


def _is_compacted(topics: Sequence[str], truth: Truth) -> bool:
    return any(truth[topic].plan.is_compacted for topic in topics)


# Their rows are compared as a whole.
_UNFILTERED: Final = _ALONE | DEAD_LETTERS | {"upsert stream"}
_FEW: Final = (6, 3, 1)
_STRATEGIES: Final = ("subscribe", "subscribe", "subscribePattern", "assign")


# --- Positions -----------------------------------------------------------------------------------


def _with_positions(query: Query, chance: random.Random, truth: Truth, begun_ms: int) -> Query:
    times = _times(query, truth, begun_ms)
    forms = [Form.OMITTED, Form.EARLIEST, Form.OFFSETS, Form.OFFSETS]
    if query.way not in _ALONE:
        forms += [Form.BEFORE_LATEST]
    if times:
        forms += [Form.TIME] if query.way in _ALONE else [Form.TIME, Form.TIMES]
    if query.way in STREAMS:
        return query._replace(start=_position(query, chance, truth, chance.choice(forms), times))
    ends = [Form.LATEST if form is Form.EARLIEST else form for form in forms]
    start = _position(query, chance, truth, chance.choice(forms), times)
    end = _position(query, chance, truth, chance.choice(ends), times, is_end=True)
    if query.way == "upsert" and _is_compacted(query.topics, truth):
        # A newer record behind the end may have removed the newest one before it.
        end = Position(Form.LATEST)
    drawn = query._replace(start=start, end=end)
    return drawn if _is_possible(drawn, truth) else drawn._replace(end=Position(Form.LATEST))


def _times(query: Query, truth: Truth, begun_ms: int) -> list[int]:
    """Timestamps that can be asked for.

    None where records were deleted: a broker looks for a time in one segment only, the first whose
    largest timestamp is late enough, which may be that of a deleted record.
    """
    if _is_compacted(query.topics, truth):
        return []
    partitions = [truth[topic].partitions[p] for topic, p in query.places]
    if any(each.start for each in partitions):
        return []
    times = {row.timestamp for each in partitions for row in each.uncommitted}
    if any(gaps(each) for each in partitions):
        times = {each for each in times if each < begun_ms}
    return sorted(each for each in times if each >= 0)


def _position(
    query: Query,
    chance: random.Random,
    truth: Truth,
    form: Form,
    times: Sequence[int],
    is_end: bool = False,
) -> Position:
    match form:
        case Form.TIME:
            return Position(form, number=chance.choice(times) + chance.choice((0, 0, 1)))
        case Form.TIMES:
            return Position(form, {place: chance.choice(times) for place in query.places})
        case Form.BEFORE_LATEST:
            return Position(form, number=int(10 ** chance.uniform(0, 4)))
        case Form.OFFSETS:
            return _offsets(query, chance, truth, is_end)
        case _:
            return Position(form)


def _offsets(query: Query, chance: random.Random, truth: Truth, is_end: bool) -> Position:
    word = LATEST if is_end else EARLIEST
    may_be_words = query.way not in _ALONE
    of: dict[Place, int] = {}
    words = set()
    for topic in query.topics:
        whole = may_be_words and chance.random() < 0.15
        for name, partition in query.places:
            if name == topic:
                each = truth[topic].partitions[partition]
                end = each.stable if query.committed else each.end
                number = chance.randint(each.start, max(each.start, end))
                is_word = whole or (may_be_words and chance.random() < 0.2)
                of[topic, partition] = word if is_word else number
        if whole:
            words.add(topic)
    return Position(Form.OFFSETS, of, words=frozenset(words))


def _is_possible(query: Query, truth: Truth) -> bool:
    """Whether no partition ends before it starts, and both maps name the same partitions."""
    if query.start.form is query.end.form is Form.OFFSETS and query.start.words != query.end.words:
        return False
    if query.start.form is query.end.form is Form.TIMES and any(
        query.start.of[place] > query.end.of[place] for place in query.places
    ):
        return False
    return all(first <= last for first, last in ranges_of(query, truth).values())


def ranges_of(query: Query, truth: Truth) -> dict[Place, tuple[int, int]]:
    """The first offset of each partition, and the one after the last."""
    return {
        (topic, partition): range_of(
            query.start,
            query.end,
            (topic, partition),
            truth[topic].partitions[partition],
            committed=query.committed,
        )
        for topic, partition in query.places
    }


# --- Columns and options -------------------------------------------------------------------------


def _with_columns(query: Query, chance: random.Random, truth: Truth) -> Query:
    if query.way in _WHOLE:
        return query
    columns = chance.sample(COLUMNS, chance.randint(1, len(COLUMNS)))
    # What may be missing is told by the place of a row.
    if chance.random() < 0.7 or _is_compacted(query.topics, truth):
        columns += [name for name in IDENTITY if name not in columns]
    if chance.random() < 0.3:
        columns = [*COLUMNS]
    select = query.way == "spark batch" and chance.random() < 0.5
    return query._replace(columns=tuple(columns), select=select)


def _options(query: Query, chance: random.Random, truth: Truth) -> dict[str, str]:
    if query.way in _ALONE:
        return client_options(chance)
    total = sum(last - first for first, last in ranges_of(query, truth).values())
    options = source_options(chance, total)
    options |= stream_limits(chance, total) if query.way in STREAMS else push_down(chance)
    may_keep = query.way == "upsert" and not _is_compacted(query.topics, truth)
    if query.way in _TABLES:
        options = of_table(chance, options, may_keep=may_keep)
    if query.start.form in {Form.TIME, Form.TIMES}:
        options["startingOffsetsByTimestampStrategy"] = _strategy(query, chance, truth)
    return options


def _strategy(query: Query, chance: random.Random, truth: Truth) -> str:
    """`error` only if each partition has a record at or after the time."""
    to_the_end = ranges_of(query._replace(end=Position(Form.LATEST)), truth).values()
    is_there = all(first < end for first, end in to_the_end)
    return chance.choice(("error", "latest")) if is_there else "latest"
