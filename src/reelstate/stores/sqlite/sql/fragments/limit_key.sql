CASE WHEN m.per IS NULL THEN ''
                WHEN m.per = 'user' THEN nullif(substr(owning.user_id, 1, 255), '')
                WHEN m.per = 'job' THEN CAST(owning.id AS TEXT)
                WHEN json_type(owning.spec, '$.' || substr(m.per, 6)) IN ('true', 'false')
                THEN json_type(owning.spec, '$.' || substr(m.per, 6))
                WHEN json_type(owning.spec, '$.' || substr(m.per, 6)) IN ('text', 'integer', 'real')
                THEN nullif(substr(CAST(json_extract(owning.spec, '$.' || substr(m.per, 6)) AS TEXT), 1, 255), '') END
