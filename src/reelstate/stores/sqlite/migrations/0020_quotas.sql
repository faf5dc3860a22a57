-- Finished uploads count towards a user's quota too, not only those under way.
DROP INDEX uploads_by_user;
CREATE INDEX uploads_by_user ON uploads (user_id);
