"""A cluster of brokers: its properties, keys and storage, how it starts, and its topics."""
