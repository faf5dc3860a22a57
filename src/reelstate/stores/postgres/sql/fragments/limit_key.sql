CASE WHEN m.per IS NULL THEN ''
                WHEN m.per = 'user' THEN nullif(left(owning.user_id, 255), '')
                WHEN m.per = 'job' THEN owning.id::text
                WHEN jsonb_typeof(owning.spec #> string_to_array(substr(m.per, 6), '.')) IN ('string', 'number', 'boolean')
                THEN nullif(left(owning.spec #>> string_to_array(substr(m.per, 6), '.'), 255), '') END
