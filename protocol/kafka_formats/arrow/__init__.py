"""Arrow arrays and the bytes in them, for all formats. Knows neither schemas nor formats."""
