SELECT pipeline, id, needs, prefers FROM lanes WHERE pipeline IN (SELECT value FROM json_each(:names))
