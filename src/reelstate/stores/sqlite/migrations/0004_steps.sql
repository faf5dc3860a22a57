-- The commands that runs have started, each with its end. A run numbers its own, so that a step told twice is kept once.
CREATE TABLE steps (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    job_id    INTEGER NOT NULL,
    stage     INTEGER NOT NULL,
    part      INTEGER NOT NULL,
    token     INTEGER NOT NULL,
    number    INTEGER NOT NULL,
    at        REAL NOT NULL,
    argv      TEXT NOT NULL,
    exit_code INTEGER,
    seconds   REAL NOT NULL,
    output    TEXT NOT NULL
);
CREATE INDEX steps_by_job ON steps (job_id, id);
CREATE UNIQUE INDEX steps_by_run ON steps (job_id, stage, part, token, number);
