-- Finished uploads count towards a user's quota too, not only those under way.
DROP INDEX reelstate.uploads_by_user;
CREATE INDEX uploads_by_user ON reelstate.uploads (user_id);
