"""The durable truth: one protocol, two databases."""
