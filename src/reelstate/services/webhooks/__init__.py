"""Webhooks: subscriptions, the events that they get, and their deliveries."""
