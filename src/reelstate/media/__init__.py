"""The transcode pipeline: a file becomes an adaptive stream, chunk by chunk."""

TRANSCODE = "transcode"
"""Its name."""
