-- KEYS: state, places, handed (unused). ARGV: what the keys of lanes begin with, then of each task
-- what became of it, its member, its lane and its ticket. See queue_settle.
for what, member, ticket in string.gmatch(ARGV[2], '(%S+) (%S+) %S* ([^\n]*)\n') do
    local place = redis.call('HGET', KEYS[2], member)
    if ticket == '' then ticket = place or '' end
    local stream, id = string.match(ticket, '^(%S+) (%S+)$')
    if stream and what == 'back' then
        redis.pcall('XCLAIM', ARGV[1] .. stream, 'workers', 'nobody', 0, id, 'IDLE', 3600000, 'JUSTID')
    elseif stream then
        redis.call('XACK', ARGV[1] .. stream, 'workers', id)
        redis.call('XDEL', ARGV[1] .. stream, id)
    end
    if what ~= 'back' and place == ticket then redis.call('HDEL', KEYS[2], member) end
end
return 1
