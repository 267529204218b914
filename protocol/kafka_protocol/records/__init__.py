"""Record batches: headers, checksums, compression, and a codec to read them one by one.

`batch` splits the records of a Fetch response into batches and builds the batches of a Produce
request, `compression` is limited in its output size, and `record` is the simple reference codec for
records; `message_set` and `message` are the same for the formats before Kafka 0.11. `transactions`
finds aborted records. No I/O, no topic names, no numpy; `columnar` is the fast codec.
"""
