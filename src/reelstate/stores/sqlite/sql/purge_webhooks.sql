-- Delete the webhooks of a user.
DELETE FROM webhooks WHERE user_id = :user_id;
SELECT changes() AS rows
