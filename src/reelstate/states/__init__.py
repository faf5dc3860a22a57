"""The task×tag state manager: what the tasks of a job say of themselves, for everybody, replayed and then live."""
