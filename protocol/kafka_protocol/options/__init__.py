"""Names and values that users give: options, topic names, partitioners, and the nearest name.

Knows neither the wire nor Spark. An option's own table stands where the option is used.
"""
