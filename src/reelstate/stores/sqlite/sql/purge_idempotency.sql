-- Delete the idempotency keys of a user.
DELETE FROM idempotency WHERE user_id = :user_id;
SELECT changes() AS rows
