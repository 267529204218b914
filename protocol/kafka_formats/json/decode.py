"""Many payloads at once, by Arrow's reader of JSON; payloads that it refuses one by one.

Arrow reads lines. Each payload becomes a field of a line, beside the number of the line under a
name that no payload knows: so a payload with several documents cannot move the values of others.
Payloads that Arrow and Spark read in two ways (newlines, infinity) never get there.
Where Arrow refuses a block, its halves are tried.
"""

from __future__ import annotations

import secrets
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from kafka_formats.arrow.arrays import bounds_of, data_of, without_first
from kafka_formats.errors import PayloadError
from kafka_formats.json.decode_one import Convert, parse
from kafka_formats.json.depth import MAX_DEPTH, check_depth
from kafka_formats.payload.columns import decode_present
from kafka_formats.payload.format import Values
from kafka_protocol.columnar.arrays.arrow_memory import array_of, array_of_bytes, scalar_of
from kafka_protocol.columnar.arrays.slices import combined

_ROW: Final = secrets.token_hex(8)
_VALUE: Final = "v"
_BEFORE_ROW, _BEFORE_VALUE, _AFTER, _NOTHING = (
    scalar_of(text.encode(), pa.string()) for text in (f'{{"{_ROW}":', f',"{_VALUE}":', "}\n", "")
)
# Below this many payloads Arrow's own costs are higher than the costs of one by one.
_LEAST: Final = 16
# In a row: more than it takes to find one payload among very many. Arrow then likely refuses all,
# as it does where a string is an object.
_MOST_REFUSED: Final = 16
# The text of a block is held twice, beside the payloads.
_MOST_BYTES: Final = 4 * 1024 * 1024
# Newlines end Arrow's documents; it takes other texts for infinity, and -0 for a float.
_READ_IN_TWO_WAYS: Final = r"[\n\r]|NaN|Inf|-0[,}\] \t]|\A\z"
_DATE: Final = r"\A[12]\d{3}-\d\d-\d\d\z"
_SECOND: Final = r"\A[12]\d{3}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?"
_NTZ: Final = _SECOND + r"\z"
_BASE64: Final = r"\A([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\z"
_ZONED: Final = _SECOND + r"(Z|[+-](0\d|1[0-7]):[0-5]\d)\z"


def has_arrow_form(data_type: pa.DataType) -> bool:
    """Whether Arrow reads documents as a type in the way of `from_json`."""
    if pa.types.is_struct(data_type):
        return data_type.num_fields > 0 and all(has_arrow_form(each.type) for each in data_type)
    if pa.types.is_list(data_type):
        return has_arrow_form(data_type.value_type)
    return not pa.types.is_map(data_type)


@dataclass(frozen=True, slots=True)
class JsonPayloadDecoder:
    """Reads payloads as one type.

    Attributes:
        type: The type of the values.
        convert: Its converter, for one document.
        by_arrow: Whether Arrow's reader can be tried.
        is_exact: Whether `convert` refuses numbers that their type does not have.
    """

    type: pa.DataType
    convert: Convert
    by_arrow: bool
    is_exact: bool = False

    def decode(self, payloads: pa.BinaryArray, skipped_bytes: int) -> Values:
        """Decode payloads after frames of one size."""
        return decode_present(
            payloads, lambda given: self._decode(without_first(skipped_bytes, given))
        )

    def _decode(self, payloads: pa.BinaryArray) -> Values:
        """Decode payloads without nulls and frames."""
        pieces = self._pieces(payloads)
        if not pieces:
            return Values(pa.nulls(0, self.type), np.zeros(0, dtype=np.bool_))
        values = pa.concat_arrays([values for values, _ in pieces])
        return Values(values, np.concatenate([is_broken for _, is_broken in pieces]))

    def explain(self, payload: bytes) -> PayloadError:
        """The fault in a broken payload, without its frame."""
        try:
            self._one(payload)
        except PayloadError as error:
            return error
        raise AssertionError("the payload is not broken")

    def _one(self, payload: bytes) -> object:
        document = parse(payload)
        return None if document is None else self.convert(document)

    def _pieces(self, payloads: pa.BinaryArray) -> list[Values]:
        pieces: list[Values] = []
        refused = 0
        # Not by recursion, in order.
        rest = [payloads]
        while rest:
            block = rest.pop()
            count = len(block)
            if not self.by_arrow or count <= _LEAST:
                pieces += self._one_by_one(block)
                continue
            is_small = block.nbytes <= _MOST_BYTES
            values = self._at_once(block) if is_small else None
            refused = 0 if values is not None else refused + is_small
            if values is not None:
                pieces.append(Values(values, np.zeros(count, dtype=np.bool_)))
            elif refused > _MOST_REFUSED:
                pieces += self._one_by_one(block)
            else:
                rest += [block.slice(count // 2), block.slice(0, count // 2)]
        return pieces

    def _at_once(self, payloads: pa.BinaryArray) -> pa.Array | None:
        """The values, if Arrow reads all of them."""
        try:
            _check_depths(payloads)
            texts = payloads.cast(pa.string())
            if pc.any(pc.match_substring_regex(texts, _READ_IN_TWO_WAYS)).as_py():
                return None
            values = _read(texts, _text_form(self.type))
            return (
                None if self.is_exact and _may_be_rounded(values) else _finished(values, self.type)
            )
        except (PayloadError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None

    def _one_by_one(self, payloads: pa.BinaryArray) -> list[Values]:
        values: list[object] = []
        is_broken = np.zeros(len(payloads), dtype=np.bool_)
        for row, payload in enumerate(payloads.to_pylist()):
            try:
                values.append(self._one(payload))
            except PayloadError:
                values.append(None)
                is_broken[row] = True
        return [Values(pa.array(values, self.type), is_broken)] if values else []


def _check_depths(payloads: pa.BinaryArray) -> None:
    """Check that no document is nested too deeply.

    Raises:
        PayloadError: One is.
    """
    bounds = bounds_of(payloads)
    long = np.flatnonzero(np.diff(bounds) > 2 * MAX_DEPTH)
    if not len(long):
        return
    # Without the bit 0x20, both opening brackets are 0x5B.
    is_opening = data_of(payloads)[: bounds[-1]] & 0xDF
    np.equal(is_opening, 0x5B, out=is_opening)
    ends = np.stack([bounds[long], bounds[long + 1]], axis=1).ravel()
    # The last sum goes to the end anyway.
    counts = np.add.reduceat(is_opening, ends[ends < len(is_opening)], dtype=np.int32)[::2]
    for row in long[counts > MAX_DEPTH].tolist():
        check_depth(payloads[row].as_py())


def _read(texts: pa.StringArray, data_type: pa.DataType) -> pa.Array:
    """The values of documents.

    Raises:
        pa.ArrowInvalid: One is not JSON, has another type, or is more than one.
    """
    count = len(texts)
    rows = array_of(np.arange(count), pa.int32())
    lines = pc.binary_join_element_wise(
        _BEFORE_ROW, rows.cast(pa.string()), _BEFORE_VALUE, texts, _AFTER, _NOTHING
    )
    text = lines.buffers()[2]
    table = pj.read_json(
        pa.BufferReader(text),
        read_options=pj.ReadOptions(use_threads=False, block_size=max(text.size, 1)),
        parse_options=pj.ParseOptions(
            explicit_schema=pa.schema([(_ROW, pa.int32()), (_VALUE, data_type)]),
            unexpected_field_behavior="ignore",
        ),
    )
    if table.num_rows != count or not combined(table.column(_ROW)).equals(rows):
        raise pa.ArrowInvalid("a payload has several documents")
    values = table.column(_VALUE)
    if values.null_count:
        # A document that is only null is broken.
        raise pa.ArrowInvalid("a payload is null")
    return combined(values)


def _may_be_rounded(values: pa.Array) -> bool:
    """Whether there are doubles so large that they do not have all whole numbers."""
    if pa.types.is_struct(values.type):
        return any(_may_be_rounded(part) for part in values.flatten())
    if pa.types.is_list(values.type):
        return _may_be_rounded(values.flatten())
    if not pa.types.is_floating(values.type):
        return False
    largest = 2.0 ** (24 if pa.types.is_float32(values.type) else 53)
    return pc.any(pc.greater_equal(pc.abs(values), largest)).as_py() is True


def _text_form(data_type: pa.DataType) -> pa.DataType:
    """The type with texts for dates and timestamps: Arrow accepts more forms of them than Spark."""
    if pa.types.is_struct(data_type):
        return pa.struct([pa.field(each.name, _text_form(each.type)) for each in data_type])
    if pa.types.is_list(data_type):
        return pa.list_(pa.field("element", _text_form(data_type.value_type)))
    return pa.string() if _pattern_of(data_type) else data_type


def _finished(values: pa.Array, to: pa.DataType) -> pa.Array:
    """The values with their dates and timestamps.

    Raises:
        pa.ArrowInvalid: The text of one has not the form that Arrow and Spark read in one way.
    """
    if values.type == to:
        return values
    _check_texts(values, to)
    return _with_bytes(values, to).cast(to)


def _with_bytes(values: pa.Array, to: pa.DataType) -> pa.Array:
    """The values with bytes for the texts of base64 among them."""
    if pa.types.is_struct(to):
        parts = [_with_bytes(values.field(number), each.type) for number, each in enumerate(to)]
        return pa.StructArray.from_arrays(parts, [each.name for each in to], mask=values.is_null())
    if pa.types.is_list(to):
        items = _with_bytes(values.values, to.value_type)
        buffers = values.buffers()[:2]
        return pa.Array.from_buffers(
            pa.list_(items.type), len(values), buffers, offset=values.offset, children=[items]
        )
    if not pa.types.is_binary(to):
        return values
    texts = values.to_pylist()
    return array_of_bytes([None if each is None else b64decode(each) for each in texts])


def _check_texts(values: pa.Array, to: pa.DataType) -> None:
    if pa.types.is_struct(to):
        for number, field in enumerate(to):
            _check_texts(values.field(number), field.type)
    elif pa.types.is_list(to):
        _check_texts(values.values, to.value_type)
    elif not _has_pattern(values, _pattern_of(to)):
        raise pa.ArrowInvalid("a text may not be read in one way")


def _has_pattern(values: pa.Array, pattern: str | None) -> bool:
    return pattern is None or pc.all(pc.match_substring_regex(values, pattern)).as_py() is not False


def _pattern_of(data_type: pa.DataType) -> str | None:
    for matches, pattern in _PATTERNS:
        if matches(data_type):
            return pattern
    return None


_PATTERNS: Final[tuple[tuple[Callable[[pa.DataType], bool], str], ...]] = (
    (pa.types.is_date32, _DATE),
    (pa.types.is_binary, _BASE64),
    (lambda each: pa.types.is_timestamp(each) and each.tz is not None, _ZONED),
    (pa.types.is_timestamp, _NTZ),
)
