"""Planted faults in the data path, from the epochs of a Fetch to the sequences of a producer."""

from __future__ import annotations

from typing import Final

from tests.simulation.planted import likely
from tests.simulation.planted.fault import Planted

_ARROW: Final = "protocol/kafka_protocol/arrow_io"
_CONSUMER: Final = "protocol/kafka_protocol/client/consumer"
_CLIENT: Final = "protocol/kafka_protocol/client"
_COLUMNAR: Final = "protocol/kafka_protocol/columnar"
_UPSERT: Final = "protocol/kafka_formats/upsert"
_SOURCE: Final = "kafka_spark_source"

DATA_PATH: Final = (
    # --- Leader epochs
    Planted(
        "the epoch of the first batch of a response is kept",
        "protocol/kafka_protocol/records/fetch_response.py",
        "        epoch = header.partition_leader_epoch if",
        "        epoch = epoch if epoch >= 0 else header.partition_leader_epoch if",
        likely.has_new_leaders,
    ),
    Planted(
        "a Fetch does not tell the epoch of the last record",
        f"{_CLIENT}/consumer/fetch_request.py",
        "last_fetched_epoch=epoch if has_epoch else UNKNOWN_EPOCH,",
        "last_fetched_epoch=UNKNOWN_EPOCH,",
        likely.is_cut,
    ),
    Planted(
        "a diverging epoch is ignored",
        f"{_CLIENT}/consumer/fetch_position.py",
        "        if agreed.end_offset >= 0:\n",
        "        if agreed.end_offset >= 2**62:\n",
        likely.is_cut,
    ),
    Planted(
        "a Fetch does not tell the epoch of the leader",
        f"{_CLIENT}/consumer/fetch_request.py",
        "            current_leader_epoch=leader.epoch,\n",
        "            current_leader_epoch=-1,\n",
        likely.has_fault("pause broker", "unclean election"),
        missed="no promise is broken, as a replaced leader has no record that its successor lacks: "
        "`test_fault_17_a_fetch_follows_the_leader_epoch`",
    ),
    Planted(
        "a request for the ends of logs does not tell the epoch of the leader",
        f"{_CLIENT}/consumer/list_offsets.py",
        "                current_leader_epoch=leader.epoch,\n",
        "                current_leader_epoch=-1,\n",
        likely.has_fault("pause broker"),
        missed="a second check asks other brokers for the leader: "
        "`test_fault_17_a_request_tells_the_epoch_of_the_leader_that_it_is_for`",
    ),
    # --- Losses and aborted transactions
    Planted(
        "the rest of a range after a loss is not read",
        f"{_SOURCE}/reading/data_loss.py",
        "is_ahead = error.offset < error.earliest < reading.until_offset",
        "is_ahead = False",
        likely.goes_on,
    ),
    Planted(
        "an abort marker ends the transactions of all producers",
        "protocol/kafka_protocol/records/transactions.py",
        "self._producers.remove(header.producer_id)",
        "self._producers.clear()",
        likely.has_transactions_between,
    ),
    Planted(
        "an aborted transaction hides records of other producers",
        "protocol/kafka_protocol/records/transactions.py",
        "return header.is_transactional and header.producer_id in self._producers",
        "return header.is_transactional and bool(self._producers)",
        likely.has_transactions_between,
    ),
    Planted(
        "only the first aborted transaction of a response counts",
        "protocol/kafka_protocol/records/transactions.py",
        "sorted(aborted, key=lambda transaction: transaction.first_offset))",
        "sorted(aborted, key=lambda transaction: transaction.first_offset)[:1])",
        likely.has_transactions_between,
    ),
    # --- Sizes
    Planted(
        "a limit of bytes counts a tenth of them",
        f"{_SOURCE}/planning/rate_limits.py",
        "total = sum(size * bytes_per_offset[tp] for tp, size in sizes.items())",
        "total = sum(size * bytes_per_offset[tp] / 10 for tp, size in sizes.items())",
        likely.has_option("maxBytesPerTrigger"),
    ),
    Planted(
        "a limit of offsets holds for each partition",
        f"{_SOURCE}/planning/rate_limits.py",
        "    return _scaled(begin, latest, limit, sum(sizes.values()))\n",
        "    return {tp: min(end, begin[tp] + limit) if tp in sizes else end "
        "for tp, end in latest.items()}\n",
        likely.has_option("maxOffsetsPerTrigger"),
    ),
    Planted(
        "the last part of a range that is split is not read",
        f"{_SOURCE}/planning/splitting.py",
        "    for left in range(parts, 0, -1):\n",
        "    for left in range(parts, int(parts > 1), -1):\n",
        likely.has_option("minPartitions", "maxRecordsPerPartition"),
    ),
    Planted(
        "a task keeps the last of several ranges of a partition",
        f"{_SOURCE}/planning/coalescing.py",
        "is_full or must_leave_some or each.topic_partition in task",
        "is_full or must_leave_some",
        likely.has_option("minPartitions", "maxRecordsPerPartition"),
    ),
    # --- Values, keys and timestamps
    Planted(
        "empty keys and values are null",
        f"{_COLUMNAR}/arrays/slices.py",
        "return take(data, start, sizes, length < 0)",
        "return take(data, start, sizes, length < 1)",
        likely.has_blanks,
    ),
    Planted(
        "null keys and values are empty",
        f"{_COLUMNAR}/arrays/slices.py",
        "return take(data, start, sizes, length < 0)",
        "return take(data, start, sizes, length < -1)",
    ),
    Planted(
        "records keep their own time under LogAppendTime",
        f"{_COLUMNAR}/reading/record_rows.py",
        "return np.where(headers.is_append_time[batch], headers.max_timestamp[batch], created)",
        "return created",
        likely.has_append_time,
    ),
    Planted(
        "records after T are dropped by `timestamp > T`",
        f"{_SOURCE}/planning/predicates.py",
        "        return at_least + 1\n",
        "        return at_least + 2\n",
        likely.has_exact_times,
    ),
    # --- Tables
    Planted(
        "the null key of a table is its empty key",
        f"{_UPSERT}/newest.py",
        "    numbered = keys.append_column(_ROW, pa.array(rows))\n",
        '    keys = keys.set_column(1, KEY.name, keys.column(KEY.name).fill_null(b""))\n'
        "    numbered = keys.append_column(_ROW, pa.array(rows))\n",
        lambda s: likely.has_blanks(s) and likely.is_table(s),
    ),
    Planted(
        "rows in memory are lost when there are others in a file",
        f"{_UPSERT}/newest.py",
        "        if self._buffer:\n            self._spill_buffer()\n        yield from",
        "        self._buffer.clear()\n        yield from",
        likely.spills,
    ),
    Planted(
        "rows in a file are numbered from 0 on in each piece",
        f"{_UPSERT}/spill.py",
        "rows = np.arange(self.num_rows, self.num_rows + keys.num_rows)",
        "rows = np.arange(keys.num_rows)",
        likely.spills,
    ),
    # --- Starts of streams
    Planted(
        "a start by time leaves out its first record",
        f"{_SOURCE}/streaming/start.py",
        "LogBounds.of(at[EARLIEST], at.values()), at)",
        "LogBounds.of(at[EARLIEST], at.values()), at) + _is_record(bounds[tp], at)",
        likely.has_option("startingTimestamp", "startingOffsetsByTimestamp"),
    ),
    Planted(
        "a start some time ago is now",
        f"{_SOURCE}/planning/bounds.py",
        "return FirstAtOrAfter(max(0, now_ms - ms), fail_if_none=False)",
        "return FirstAtOrAfter(now_ms, fail_if_none=False)",
        likely.starts_at("-2s"),
    ),
    Planted(
        "a start at the offsets of a group is the start of the log",
        f"{_SOURCE}/streaming/start.py",
        "        offsets |= committed_offsets(",
        "        committed_offsets(",
        likely.starts_at("group"),
    ),
    # --- Groups and reads without Spark
    Planted(
        "a stream commits micro-batches before they are handled",
        f"{_SOURCE}/streaming/micro_batches.py",
        "        self._observed.micro_batch_planned()\n",
        "        self._observed.micro_batch_planned()\n        self.processed(end)\n",
        likely.commits_to_group,
    ),
    Planted(
        "a stream commits the ends of the logs",
        f"{_SOURCE}/streaming/micro_batches.py",
        "            self._commits.commit(offsets)\n",
        "            logs = self._observed.latest\n"
        "            self._commits.commit(logs.ends if logs else offsets)\n",
        likely.commits_to_group,
    ),
    Planted(
        "a read of a group begins at the start of the log",
        f"{_ARROW}/topic.py",
        "        first |= committed\n",
        "        first = {**committed, **first}\n",
        likely.has_job("group"),
    ),
    Planted(
        "a reader of a group commits one record too many",
        f"{_ARROW}/topic_reader.py",
        "commit_offsets(cluster, self._group_id, self._reading.positions, deadline)",
        "commit_offsets(cluster, self._group_id, "
        "{tp: at + 1 for tp, at in self._reading.positions.items()}, deadline)",
        likely.has_job("group"),
    ),
    Planted(
        "a read that follows begins at the ends of added partitions",
        f"{_CONSUMER}/read_topics.py",
        "if tp not in positions), EARLIEST_TIMESTAMP)",
        "if tp not in positions), LATEST_TIMESTAMP)",
        likely.has_job("follow"),
    ),
    Planted(
        "a read that follows counts what it has not read",
        f"{_ARROW}/topic_reader.py",
        "position = min(fetched.batches[-1].header.next_offset, each.until_offset)",
        "position = each.until_offset",
        likely.has_job("follow"),
    ),
    # --- Sequences
    Planted(
        "each batch has the first sequence",
        f"{_CLIENT}/producer/partition_queue.py",
        "        self.next_sequence = sequence_after(self.next_sequence, contents.records_count)\n",
        "",
    ),
    Planted(
        "several batches are sent to a leader that knows none",
        f"{_CLIENT}/producer/partition_queue.py",
        "        return not self.in_flight or (\n",
        "        return True or (\n",
        likely.has_uneven_batches,
    ),
    Planted(
        "a batch that is out of order counts as written",
        f"{_CLIENT}/producer/produce_response.py",
        "    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,",
        "    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,\n    ErrorCode.DUPLICATE_SEQUENCE_NUMBER,",
        likely.has_uneven_batches,
    ),
    Planted(
        "a write waits for the leader only",
        f"{_CLIENT}/producer/producer.py",
        "acks=self._cluster.config.acks if transaction is None else ACKS_ALL,",
        "acks=1,",
        likely.has_lone_leader,
    ),
    Planted(
        "both halves of a batch have its sequence",
        f"{_CLIENT}/producer/partition_queue.py",
        "        numbered = [replace(batch, data=self._numbered(half, producer)) "
        "for half in halves]\n",
        "        first, numbered = self.next_sequence, []\n"
        "        for half in halves:\n"
        "            self.next_sequence = first\n"
        "            numbered.append(replace(batch, data=self._numbered(half, producer)))\n",
        likely.splits_batches,
    ),
    Planted(
        "errors of leaders do not renew the metadata",
        f"{_CLIENT}/cluster/cluster.py",
        "        if asks_for(Refresh.METADATA, error):\n            self.forget(topic)\n",
        "        return\n",
        likely.has_new_leaders,
        missed="metadata is renewed in five minutes anyway, and a run has ten: "
        "`test_fault_16_a_new_leader_is_found`",
    ),
)
