SELECT id FROM jobs WHERE request = :request
