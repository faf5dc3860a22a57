SELECT value AS epoch FROM facts WHERE name = 'epoch'
