-- Time-ordered ids that a JavaScript number can hold: seconds since 2025 in the high bits, a counter in the low 22.
-- Differs from PostgreSQL: without sequences the last id is a row, and if the clock is set back, the counter goes on.
UPDATE ids SET last = max(last, (CAST(strftime('%s', 'now') AS INTEGER) - 1735689600 << 22) - 1) + :count;
WITH RECURSIVE fresh (id, last) AS (
    SELECT last - :count + 1, last FROM ids WHERE :count > 0
    UNION ALL
    SELECT id + 1, last FROM fresh WHERE id < last
)
SELECT id FROM fresh
