"""The PostgreSQL store (14 and newer)."""
