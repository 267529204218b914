"""Types and columns as Spark, Arrow and catalogs name them.

Nothing here reads or writes rows.
"""
