"""Other job engines, each run as its own documentation recommends for throughput."""
