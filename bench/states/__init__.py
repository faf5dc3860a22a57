"""Subscriptions: delivery latency, replay, and many subscribers in one process."""
