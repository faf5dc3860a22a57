-- KEYS: state, places, handed. ARGV: what the keys of lanes begin with, then of each task what became
-- of it, its member, its lane and its ticket: `gone` (it was handed out and is claimed), `back` (another may have it),
-- `remove` (it is not ready any more, wherever it stands; with a ticket, unless it was added anew since).
for what, member, lane, ticket in string.gmatch(ARGV[2], '(%S+) (%S+) (%S*) ([^\n]*)\n') do
    local place = redis.call('HGET', KEYS[2], member)
    local anew = what == 'remove' and ticket ~= '' and ticket ~= (place or 'none')
    local handed = not anew and redis.call('ZREM', KEYS[3], member)
    if place then lane = string.match(place, '^%S+') end
    if anew then
        -- left alone
    elseif what == 'remove' then
        if lane ~= '' then redis.call('ZREM', ARGV[1] .. lane, member) end
        redis.call('HDEL', KEYS[2], member)
    elseif what == 'back' and handed == 1 and place then
        redis.call('ZADD', ARGV[1] .. lane, string.match(place, '^%S+ (%S+)'), member)
    elseif what == 'gone' and lane ~= '' and not redis.call('ZSCORE', ARGV[1] .. lane, member) then
        redis.call('HDEL', KEYS[2], member)
    end
end
return 1
