-- KEYS: state, positions, taken. ARGV: the prefix of lane keys, and a line per task: outcome, member, lane, ticket.
-- Outcomes: `gone` (it was taken and is claimed), `back` (another worker may take it), `remove` (it is no longer ready,
-- wherever its hint is; with a ticket, unless it was added again since).
for outcome, member, lane, ticket in string.gmatch(ARGV[2], '(%S+) (%S+) (%S*) ([^\n]*)\n') do
    local position = redis.call('HGET', KEYS[2], member)
    local added_again = outcome == 'remove' and ticket ~= '' and ticket ~= (position or 'none')
    local was_taken = not added_again and redis.call('ZREM', KEYS[3], member)
    if position then lane = string.match(position, '^%S+') end
    if added_again then
        -- keep it
    elseif outcome == 'remove' then
        if lane ~= '' then redis.call('ZREM', ARGV[1] .. lane, member) end
        redis.call('HDEL', KEYS[2], member)
    elseif outcome == 'back' and was_taken == 1 and position then
        redis.call('ZADD', ARGV[1] .. lane, string.match(position, '^%S+ (%S+)'), member)
    elseif outcome == 'gone' and lane ~= '' and not redis.call('ZSCORE', ARGV[1] .. lane, member) then
        redis.call('HDEL', KEYS[2], member)
    end
end
return 1
