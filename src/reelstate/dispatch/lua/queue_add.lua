-- KEYS: state, positions, taken. ARGV: the prefix of lane keys, and a line per task: member, lane, score, level.
-- A position ends with a counter, so that one assigned again differs from the one before.
-- Tasks after the horizon are left to the database, which has more ready tasks than are kept here.
local horizon = redis.call('HGET', KEYS[1], 'horizon') or ''
local added = 0
for member, lane, score in string.gmatch(ARGV[2], '(%S+) (%S+) (%S+) %S+\n') do
    local old = redis.call('HGET', KEYS[2], member)
    if old then
        redis.call('ZREM', ARGV[1] .. string.match(old, '^%S+'), member)
        redis.call('HDEL', KEYS[2], member)
        redis.call('ZREM', KEYS[3], member)
    end
    if horizon == '' or score .. member <= horizon then
        local number = redis.call('HINCRBY', KEYS[1], 'added', 1)
        redis.call('HSET', KEYS[2], member, lane .. ' ' .. score .. ' ' .. number)
        redis.call('ZADD', ARGV[1] .. lane, score, member)
        added = added + 1
    end
end
return added
