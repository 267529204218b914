"""Record batches: headers, checksums, compression, and a codec to read them one by one.

`batch` cuts what a Fetch brings into batches and builds what a Produce takes, `compression` packs
and unpacks payloads under a cap, `record` is the readable reference codec for what is inside;
`message_set` and `message` are the same for the formats before Kafka 0.11. `transactions` tells
what was rolled back. `columnar` reads and writes whole columns at once. No I/O, no topic names, no
numpy.
"""
