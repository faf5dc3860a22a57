"""limits: which tasks wait because too many run or have started, and whose turn is next."""
