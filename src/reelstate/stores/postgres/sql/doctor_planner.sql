-- The checks read whole tables: plan for that until the end of the transaction.
SELECT set_config(name, 'on', true)
FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin']) AS name
UNION ALL SELECT set_config('plan_cache_mode', 'force_custom_plan', true)
UNION ALL SELECT set_config('random_page_cost', '2', true)
UNION ALL SELECT set_config('cpu_operator_cost', '0.0025', true)
