"""The newest record of each key, in memory or spilled to files.

Nothing here decodes: it gets rows with keys and positions.
"""
