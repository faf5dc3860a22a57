"""The files that tasks make and take: where they are kept, under which keys, and for how long."""
