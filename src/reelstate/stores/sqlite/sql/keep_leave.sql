UPDATE keeper SET leader = NULL WHERE leader = :keeper
