"""Scripts of requests: what is sent to a simulated and to a real broker alike."""
