-- The commands that runs have started, each with its end. A run numbers its own, so that a step told twice is kept once.
CREATE TABLE reelstate.steps (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id    bigint NOT NULL,
    stage     smallint NOT NULL,
    part      integer NOT NULL,
    token     bigint NOT NULL,
    number    integer NOT NULL,
    at        timestamptz NOT NULL,
    argv      jsonb NOT NULL,
    exit_code integer,
    seconds   double precision NOT NULL,
    output    text NOT NULL
);
CREATE INDEX steps_by_job ON reelstate.steps (job_id, id);
CREATE UNIQUE INDEX steps_by_run ON reelstate.steps (job_id, stage, part, token, number);
