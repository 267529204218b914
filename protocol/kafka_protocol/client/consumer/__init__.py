"""Reading: Fetch and ListOffsets, and what their responses mean for topics and replicas.

Never imports `producer`.
"""
