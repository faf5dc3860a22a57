-- KEYS: state, positions, taken (unused), lanes. ARGV: the prefix of lane keys, the limit, milliseconds after which a
-- consumer that has not claimed counts as dead, the lanes, and the consumer. See queue_take.
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then return {''} end
local horizon = redis.call('HGET', KEYS[1], 'horizon') or ''
local known = redis.call('HLEN', KEYS[4])
if horizon == '0' then return {epoch, known, horizon, 0, {}} end
local left, consumer = tonumber(ARGV[2]), ARGV[#ARGV]
local levels = {'high', 'normal', 'low'}
local taken = {}

local function hand_out(entries, lane, stream)
    for _, entry in ipairs(entries) do
        if entry and entry[2] then
            taken[#taken + 1] = {entry[2][2], lane, stream .. ' ' .. entry[1]}
            left = left - 1
        end
    end
end

for i = 4, #ARGV - 1 do
    for _, level in ipairs(levels) do
        if redis.call('XLEN', ARGV[1] .. '-' .. ARGV[i] .. ':' .. level) > 0 then
            return {epoch, known, horizon, 1, {}}
        end
    end
end
for _, level in ipairs(levels) do
    for i = 4, #ARGV - 1 do
        local stream = ARGV[i] .. ':' .. level
        local key = ARGV[1] .. stream
        if left > 0 and redis.call('XLEN', key) > 0 then
            local dead = redis.pcall('XAUTOCLAIM', key, 'workers', consumer, ARGV[3], '0-0', 'COUNT', left)
            if dead.err then
                redis.call('XGROUP', 'CREATE', key, 'workers', '0')
            else
                hand_out(dead[2], ARGV[i], stream)
            end
            if left > 0 then
                local fresh = redis.call(
                    'XREADGROUP', 'GROUP', 'workers', consumer, 'COUNT', left, 'STREAMS', key, '>')
                if fresh then hand_out(fresh[1][2], ARGV[i], stream) end
            end
        end
    end
end
return {epoch, known, horizon, 0, taken}
