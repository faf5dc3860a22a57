-- KEYS: state, positions, taken (unused). ARGV: the prefix of lane keys, and a line per task: outcome, member, lane,
-- ticket. See queue_settle.
for outcome, member, ticket in string.gmatch(ARGV[2], '(%S+) (%S+) %S* ([^\n]*)\n') do
    local position = redis.call('HGET', KEYS[2], member)
    if ticket == '' then ticket = position or '' end
    local stream, id = string.match(ticket, '^(%S+) (%S+)$')
    if stream and outcome == 'back' then
        redis.pcall('XCLAIM', ARGV[1] .. stream, 'workers', 'nobody', 0, id, 'IDLE', 3600000, 'JUSTID')
    elseif stream then
        redis.call('XACK', ARGV[1] .. stream, 'workers', id)
        redis.call('XDEL', ARGV[1] .. stream, id)
    end
    if outcome ~= 'back' and position == ticket then redis.call('HDEL', KEYS[2], member) end
end
return 1
