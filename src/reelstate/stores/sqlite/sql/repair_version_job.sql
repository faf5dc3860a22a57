UPDATE jobs SET version = :version WHERE id = :id AND :stage = -1 AND :part = -1
