"""What subscribers get, and when: delivery, replay, and a crowd of them in one process."""
