-- SQLite has no clock of its own: it is the one of this machine.
SELECT :now AS at
