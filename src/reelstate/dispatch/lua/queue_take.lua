-- KEYS: state, positions, taken, lanes. ARGV: the prefix of lane keys, the limit, milliseconds after which an unclaimed
-- hint is handed out again, and the lanes. Returns the epoch, the number of known lanes, the horizon, whether isolated
-- tasks wait, and member, lane and ticket of each task, merged in the order of claims.
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then return {''} end
local horizon = redis.call('HGET', KEYS[1], 'horizon') or ''
local lanes = redis.call('HLEN', KEYS[4])
if horizon == '0' then return {epoch, lanes, horizon, 0, {}} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 1000)) do
    local position = redis.call('HGET', KEYS[2], member)
    redis.call('ZREM', KEYS[3], member)
    if position then
        local lane, score = string.match(position, '^(%S+) (%S+)')
        redis.call('ZADD', ARGV[1] .. lane, score, member)
    end
end
local count = tonumber(ARGV[2])
local found = {}
for i = 4, #ARGV do
    if redis.call('EXISTS', ARGV[1] .. '-' .. ARGV[i]) == 1 then return {epoch, lanes, horizon, 1, {}} end
    local page = redis.call('ZRANGE', ARGV[1] .. ARGV[i], 0, count - 1, 'WITHSCORES')
    for j = 1, #page, 2 do found[#found + 1] = {tonumber(page[j + 1]), page[j], ARGV[i]} end
end
table.sort(found, function(one, other)
    if one[1] ~= other[1] then return one[1] < other[1] end
    return one[2] < other[2]
end)
local taken = {}
for i = 1, math.min(count, #found) do
    local member, lane = found[i][2], found[i][3]
    redis.call('ZREM', ARGV[1] .. lane, member)
    redis.call('ZADD', KEYS[3], string.format('%.0f', now + ARGV[3]), member)
    taken[#taken + 1] = {member, lane, member}
end
return {epoch, lanes, horizon, 0, taken}
