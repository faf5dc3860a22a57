-- Nothing to do: a column has a type here.
SELECT 1 WHERE false
