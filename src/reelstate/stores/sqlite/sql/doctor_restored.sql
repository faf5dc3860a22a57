-- Differs from PostgreSQL: there are no transaction numbers here, so a copied file is valid.
SELECT -1 AS job_id, -1 AS stage, -1 AS part, 'restored' AS status, '' AS detail WHERE :limit < 0
