SELECT DISTINCT name FROM pipelines ORDER BY name
