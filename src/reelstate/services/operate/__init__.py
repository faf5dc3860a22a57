"""What people do to jobs: cancel, retry, quarantine, force, reprioritise. Each is audited with who did it and why."""
