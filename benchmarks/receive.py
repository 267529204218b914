"""The cost of new memory for each frame, beside one buffer that is reused for all frames.

    python benchmarks/receive.py

A process sends frames through a pair of sockets. Two receivers take turns: `FrameBuffer`, and a
loop that receives all frames in the same buffer, which no client may do, as records are views of
their frame. Each frame is used as the decoder does: a CRC, and a copy of half of its bytes. The
figures are CPU per byte, with and without `keep_freed_memory`, each in a process of its own.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import time
from multiprocessing import get_context

import crc32c
from rich.console import Console
from rich.table import Table

from kafka_protocol.wire.framing import FrameBuffer
from kafka_spark_source.worker.worker import keep_freed_memory

SIZES = [100_000, 1_048_576, 2_500_000, 10_000_000]
ROUNDS = 7
BYTES = 300_000_000
READ_BYTES = 1024 * 1024


def send(sock: socket.socket, size: int, count: int) -> None:
    frame = size.to_bytes(4, "big") + os.urandom(size)
    for _ in range(count):
        sock.sendall(frame)


def receive_in_new_memory(sock: socket.socket, count: int) -> None:
    frames = FrameBuffer(2**30)
    for _ in range(count):
        while (frame := frames.next_frame()) is None:
            buffer = frames.receive_buffer
            if buffer is None:
                frames.receive_data(sock.recv(min(max(frames.missing_bytes, 4096), READ_BYTES)))
            else:
                frames.bytes_received(sock.recv_into(buffer[:READ_BYTES]))
        use(frame)


def receive_in_one_buffer(sock: socket.socket, count: int) -> None:
    buffer = memoryview(bytearray(max(SIZES)))
    for _ in range(count):
        size = int.from_bytes(sock.recv(4, socket.MSG_WAITALL), "big")
        received = 0
        while received < size:
            received += sock.recv_into(buffer[received : min(size, received + READ_BYTES)])
        use(buffer[:size])


RECEIVERS = {"new memory": receive_in_new_memory, "one buffer": receive_in_one_buffer}


def use(frame: memoryview) -> None:
    crc32c.crc32c(frame)
    bytes(frame[: len(frame) // 2])


def nanoseconds_per_byte(receiver: str, size: int) -> float:
    """The CPU time of this process."""
    sending, receiving = socket.socketpair()
    count = max(20, BYTES // size)
    sender = get_context("fork").Process(target=send, args=(sending, size, count))
    sender.start()
    sending.close()
    begin = time.process_time_ns()
    RECEIVERS[receiver](receiving, count)
    used = time.process_time_ns() - begin
    sender.join()
    receiving.close()
    return used / (count * size)


def measure(size: int, *, keeps_memory: bool) -> float:
    """The median of the ratio of both receivers, in one process."""
    if keeps_memory:
        keep_freed_memory()
    ratios = [
        nanoseconds_per_byte("new memory", size) / nanoseconds_per_byte("one buffer", size)
        for _ in range(ROUNDS)
    ]
    return statistics.median(ratios)


def main() -> None:
    table = Table("frame, bytes", "glibc as it is", "keep_freed_memory", title="CPU, new / reused")
    for size in SIZES:
        ratios = [
            subprocess.run(
                [sys.executable, __file__, str(size), keeps],
                check=True,
                capture_output=True,
                text=True,
            ).stdout.strip()
            for keeps in ("", "keep")
        ]
        table.add_row(f"{size:,}", *ratios)
    Console().print(table)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(f"{measure(int(sys.argv[1]), keeps_memory=bool(sys.argv[2])):.2f}")
    else:
        main()
