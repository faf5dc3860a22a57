WITH given (id, title, source, user_id) AS (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]'),
           json_extract(value, '$[3]')
    FROM json_each(:rows)
)
INSERT INTO videos (id, title, source, user_id, actor, created_at, changed_at)
SELECT id, title, source, user_id, 'user', :now, :now FROM given
