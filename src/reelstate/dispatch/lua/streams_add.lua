-- KEYS: state, positions, taken (unused). ARGV: the prefix of lane keys, and a line per task: member, lane, score, level.
-- See queue_add.
local horizon = redis.call('HGET', KEYS[1], 'horizon') or ''
local added = 0
for member, lane, score, level in string.gmatch(ARGV[2], '(%S+) (%S+) (%S+) (%S+)\n') do
    local old = redis.call('HGET', KEYS[2], member)
    if old then
        local stream, id = string.match(old, '^(%S+) (%S+)$')
        redis.call('XACK', ARGV[1] .. stream, 'workers', id)
        redis.call('XDEL', ARGV[1] .. stream, id)
        redis.call('HDEL', KEYS[2], member)
    end
    if horizon == '' or score .. member <= horizon then
        local stream = lane .. ':' .. level
        local id = redis.call('XADD', ARGV[1] .. stream, 'MAXLEN', '~', 100000, '*', 'task', member)
        redis.call('HSET', KEYS[2], member, stream .. ' ' .. id)
        added = added + 1
    end
end
return added
