"""The planted faults: what is wrong, and the text that is replaced in one file of the product.

Each is a fault that a client can have, and that tests with one example of it may miss. A test holds
that each text is in its file once, so that the table stays true while the code changes.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.planted import likely
from tests.simulation.planted.data_path import DATA_PATH
from tests.simulation.planted.fault import Planted
from tests.simulation.planted.rows import ROWS
from tests.simulation.planted.services import SERVICE_FAULTS

_CLIENT: Final = "protocol/kafka_protocol/client"
_COLUMNAR: Final = "protocol/kafka_protocol/columnar"
_SOURCE: Final = "kafka_spark_source"

FAULTS: Final = (
    # --- Memory and connections
    Planted(
        "a receive buffer is used again for the next frame",
        "protocol/kafka_protocol/wire/framing.py",
        "self._memory, self._filled = _new_memory(size), 0",
        "buffer = globals().setdefault('_reused', bytearray(2**24))\n"
        "        self._memory, self._filled = memoryview(buffer)[:size], 0",
    ),
    Planted(
        "a response belongs to the newest request in flight",
        "protocol/kafka_protocol/versions/connection.py",
        "expected = self._in_flight.popleft()",
        "expected = self._in_flight.pop()",
    ),
    Planted(
        "a connection is used again after a time-out",
        f"{_CLIENT}/broker/broker.py",
        "            self.close()\n            self.silent_since_ms = self._waits_from_ms\n",
        "            self._connection.protocol._in_flight.popleft()\n"
        "            self.silent_since_ms = self._waits_from_ms\n",
        likely.has_option("kafka.request.timeout.ms"),
    ),
    # --- Reading
    Planted(
        "the last record of a range is dropped",
        f"{_COLUMNAR}/reading/decode.py",
        "inside = (rows.offset >= windows[0].from_offset) & "
        "(rows.offset < windows[0].until_offset)",
        "inside = (rows.offset >= windows[0].from_offset) & "
        "(rows.offset < windows[0].until_offset - 1)",
    ),
    Planted(
        "records before the range are kept",
        f"{_COLUMNAR}/reading/decode.py",
        "inside = (rows.offset >= windows[0].from_offset) & "
        "(rows.offset < windows[0].until_offset)",
        "inside = (rows.offset >= 0) & (rows.offset < windows[0].until_offset)",
    ),
    Planted(
        "rows of several partitions are cut at the first range",
        f"{_COLUMNAR}/reading/decode.py",
        "inside = (rows.offset >= first[of_row]) & (rows.offset < until[of_row])",
        "inside = (rows.offset >= first[of_row]) & (rows.offset < until[0])",
    ),
    Planted(
        "the aborted list is off by one",
        "protocol/kafka_protocol/records/transactions.py",
        "self._pending[0].first_offset < header.next_offset",
        "self._pending[0].first_offset < header.base_offset",
    ),
    Planted(
        "an abort marker does not end the transaction",
        "protocol/kafka_protocol/records/transactions.py",
        "                self._producers.remove(header.producer_id)\n",
        "                pass\n",
    ),
    Planted(
        "control batches are read as records",
        f"{_COLUMNAR}/reading/batch_columns.py",
        "wanted = is_new & ~headers.is_control",
        "wanted = is_new",
    ),
    Planted(
        "uncommitted records are fetched whatever the isolation level",
        f"{_CLIENT}/consumer/fetch_request.py",
        "isolation_level=ISOLATION_LEVELS[config.isolation_level],",
        "isolation_level=0,",
    ),
    Planted(
        "the position moves to the end of the range after any batch",
        f"{_CLIENT}/consumer/fetch_position.py",
        "self.rest = self.rest._replace(from_offset=taken.position)",
        "self.rest = self.rest._replace(from_offset=self.rest.until_offset)",
    ),
    Planted(
        "a range of several is done after its first response",
        f"{_CLIENT}/consumer/fetch_request.py",
        "return self.rest.is_empty",
        "return self.rest.from_offset > 0",
    ),
    Planted(
        "all partitions get the end of one partition",
        f"{_CLIENT}/consumer/list_offsets.py",
        "                offsets[topic_partition] = offset\n",
        "                offsets |= dict.fromkeys(positions, offset)\n",
    ),
    Planted(
        "an end from a replaced leader counts",
        f"{_CLIENT}/consumer/list_offsets.py",
        "    newer = superseded(cluster, answered, deadline)\n",
        "    newer = set()\n",
        likely.asks_a_replaced_leader,
    ),
    Planted(
        "retries have no deadline",
        f"{_CLIENT}/clock.py",
        "if min(self._deadline.remaining_ms, self._unreachable.remaining_ms) < backoff_ms:",
        "if backoff_ms < 0:",
        likely.has_fault("partition network", "half open"),
    ),
    *ROWS,
    *SERVICE_FAULTS,
    *DATA_PATH,
    # --- Streams
    Planted(
        "tasks do not know the id of their topic",
        f"{_SOURCE}/reading/range_reader.py",
        "[PlannedRange(each, ids.get(each.topic_partition.topic)) for each in task]",
        "[PlannedRange(each, None) for each in task]",
        likely.has_fault("recreate topic"),
    ),
    Planted(
        "the pinned start is forgotten",
        f"{_SOURCE}/streaming/micro_batches.py",
        "        end = {**end, **pinned, **restarted}\n",
        "        end = {**end, **restarted}\n",
        lambda s: s.starts_later,
    ),
    Planted(
        "the first micro-batch that runs again starts elsewhere",
        f"{_SOURCE}/streaming/micro_batches.py",
        "            start = self._start.before(end)\n",
        "            start = self._start.offsets\n",
        lambda s: s.starts_later,
    ),
    Planted(
        "a planned micro-batch ends at the end of the log",
        f"{_SOURCE}/streaming/micro_batches.py",
        "        planned = plan_stream(start, end, earliest, self._options.strategy)\n"
        "        for loss in planned.losses:\n",
        "        logs = self._observed.latest\n"
        "        end = {tp: logs.ends.get(tp, at) if logs else at for tp, at in end.items()}\n"
        "        planned = plan_stream(start, end, earliest, self._options.strategy)\n"
        "        for loss in planned.losses:\n",
    ),
    Planted(
        "a rate limit skips an offset",
        f"{_SOURCE}/planning/splitting.py",
        "        start = until\n",
        "        start = until + (left > 1 and until < whole.until_offset - 1)\n",
    ),
    Planted(
        "new partitions begin at their ends",
        f"{_SOURCE}/planning/stream.py",
        "begin = {**start, **{tp: earliest[tp] for tp in new & earliest.keys()}}",
        "begin = {**end, **start}",
        likely.has_fault("add partitions"),
    ),
    Planted(
        "lost records are skipped without a warning",
        f"{_SOURCE}/reading/data_loss.py",
        "    if fail_on_data_loss:\n        return loss\n",
        "    if fail_on_data_loss and not loss.reason:\n        return loss\n",
        likely.must_fail,
    ),
    # --- Writing
    Planted(
        "a sequence is used again after an error",
        f"{_CLIENT}/producer/partition_queue.py",
        "        self.returned.append(batch)\n",
        "        self.returned.append(batch)\n"
        "        self.next_sequence = header_of(batch.data).base_sequence\n",
    ),
    Planted(
        "a batch that failed is sent with a new producer id",
        f"{_CLIENT}/producer/producer.py",
        "return error.error is ErrorCode.UNKNOWN_PRODUCER_ID and self._try_new_id()",
        "self._id = new_producer_id(self._cluster, self._request_deadline())\n"
        "        for queue in self._queues.values():\n"
        "            queue.renumber(self._id)\n"
        "        return True",
        likely.is_written,
    ),
    Planted(
        "a batch that is split loses a record",
        "protocol/kafka_protocol/records/splitting.py",
        "[rows[:middle], rows[middle:]]",
        "[rows[:middle], rows[middle + 1 :]]",
        likely.splits_batches,
    ),
    Planted(
        "a batch whose connection broke counts as written",
        f"{_CLIENT}/producer/producer.py",
        "            for topic_partition in request.topics:\n"
        "                self._return(topic_partition, error)\n"
        "            return\n",
        "            for topic_partition in request.topics:\n"
        "                self._acknowledge(Outcome(topic_partition, None, -1))\n"
        "            return\n",
    ),
    Planted(
        "a task ends without waiting for acknowledgements",
        f"{_CLIENT}/pool.py",
        "        producer.flush()\n",
        "        producer.push(1_000_000)\n",
    ),
    Planted(
        "batches have no producer id",
        f"{_CLIENT}/producer/producer.py",
        "        if not (self._transaction or config.enable_idempotence):\n",
        "        if not self._transaction:\n",
        likely.is_written,
    ),
    # --- Exactly once
    Planted(
        "the decision is written after the transactions are ended",
        f"{_SOURCE}/writing/exactly_once.py",
        "            decisions.decide(decision)\n",
        "            _commit(config, transactions)\n            decisions.decide(decision)\n",
        likely.is_exactly_once,
    ),
    Planted(
        "an unknown commit counts as done",
        f"{_CLIENT}/producer/coordinated.py",
        "        results[key] = _Result(unanswered, may_be_done=True)\n",
        "        results[key] = _Result(None)\n",
        likely.is_exactly_once,
    ),
    Planted(
        "a decided micro-batch is written again",
        f"{_SOURCE}/writing/exactly_once.py",
        "        if self.prefix.action(task) is Action.SKIP:\n",
        "        if self.prefix.action(task) is Action.SKIP and task.partition < 0:\n",
        likely.is_exactly_once,
    ),
    Planted(
        "a decision counts as carried out",
        f"{_SOURCE}/writing/exactly_once.py",
        "    failures = _commit(config, decision.transactions)\n    fenced",
        "    failures: dict[TaskWrite, KafkaError] = {}\n    fenced",
        likely.dies_deciding,
    ),
    Planted(
        "a failed task aborts while a batch of it may still arrive",
        f"{_SOURCE}/writing/exactly_once.py",
        "        if producer.joined and is_settled:\n",
        "        if producer.joined:\n",
        likely.gives_up_early,
    ),
    Planted(
        "the next transaction after a commit has its epoch",
        f"{_SOURCE}/writing/exactly_once.py",
        "        transaction = begin(cluster, name, Deadline.after(config.max_block_ms))\n"
        "        producer = Producer(cluster, transaction)\n"
        "        try:\n",
        "        from kafka_protocol.client.producer.open_transactions import transaction_state\n"
        "        soon, kept = Deadline.after(config.max_block_ms), vars(cluster)\n"
        "        transaction, queues = kept.pop(name, (None, {}))\n"
        "        state = transaction and transaction_state(cluster, name, soon)\n"
        "        if not state or state[:2] != (transaction.producer, 'CompleteCommit'):\n"
        "            transaction, queues = begin(cluster, name, soon), {}\n"
        "        producer = Producer(cluster, transaction)\n"
        "        producer._queues.update(queues)\n"
        "        kept[name] = transaction, producer._queues\n"
        "        try:\n",
        likely.ends_late,
    ),
    Planted(
        "the newest records of the commit log are not read",
        f"{_SOURCE}/writing/log_reader.py",
        "    start, end = list_log_bounds(cluster, [topic_partition], deadline)[topic_partition]\n",
        "    start, end = list_log_bounds(cluster, [topic_partition], deadline)[topic_partition]\n"
        "    end = max(start, end - 4)\n",
        likely.is_exactly_once,
    ),
)
