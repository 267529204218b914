"""Reading: Fetch and ListOffsets, and the meaning of their responses for topics and replicas.

Never imports `producer`.
"""
