-- Does nothing: in PostgreSQL a time can't be anything else.
SELECT WHERE false
