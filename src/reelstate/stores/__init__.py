"""The stores: one protocol for SQLite and PostgreSQL."""
