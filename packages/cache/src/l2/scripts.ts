/** A script that Redis runs on the keys of one slot. */
export interface SharedScript {
  readonly name: string
  readonly lua: string
}

/** Larger entries are not shared. */
export const MAX_ENTRY_BYTES = 1 << 20
/** Digests take less than twice the room that their tags have in the entry. */
const MAX_FIELD_BYTES = MAX_ENTRY_BYTES * 2
/** Tokens of locks are shorter. */
const MAX_TOKEN_BYTES = 64

/**
 * Removes keys that these scripts did not write: another program has the same prefix, or someone writes to this Redis. Ours have
 * a type, a bounded size and an end. What is too large is not read.
 */
const MEND = `
local function mend(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
end
local function mendEntry(key)
  mend(key, 'hash')
  if redis.call('PTTL', key) == -1 or redis.call('HSTRLEN', key, 'd') > ${MAX_ENTRY_BYTES} then redis.call('UNLINK', key) end
  for _, field in ipairs({'s', 't', 'c', 'f'}) do
    if redis.call('HSTRLEN', key, field) > ${MAX_FIELD_BYTES} then return redis.call('UNLINK', key) end
  end
end
local function mendLock(key, life)
  mend(key, 'string')
  local left = redis.call('PTTL', key)
  if left == -1 or left > life or redis.call('STRLEN', key) > ${MAX_TOKEN_BYTES} then redis.call('UNLINK', key) end
end
`

/**
 * Versions of one label and layer, in a hash: `#` the last version given, `*` that of the whole label, `~` the longest life of
 * an entry in milliseconds, `p` the version at the last pruning, and the version of each purged tag under its digest. A version
 * is the millisecond clock of Redis at its purge, or one more than the last: versions grow, and never expire.
 *
 * An entry is current if neither its label nor any of its tags was purged after the version that its maker read before it
 * began. Where the hash is lost, it restarts above all entries.
 */
const IS_CURRENT = `
local function isCurrent(versions, seq, tags)
  local whole = tonumber(redis.call('HGET', versions, '*'))
  if not whole or not seq or whole > seq then return false end
  local fields = {}
  for at = 1, #tags, 16 do fields[#fields + 1] = string.sub(tags, at, at + 15) end
  for from = 1, #fields, 1000 do
    local found = redis.call('HMGET', versions, unpack(fields, from, math.min(from + 999, #fields)))
    for i = 1, #found do
      if found[i] and (tonumber(found[i]) or seq + 1) > seq then return false end
    end
  end
  return true
end
local function clock()
  local now = redis.call('TIME')
  return now[1] * 1000 + math.floor(now[2] / 1000)
end
local function text(number) return string.format('%.0f', number) end
${MEND}
`

/** Facts of the entry: none of one that is damaged. */
const FACTS = `
mendEntry(KEYS[1])
mend(KEYS[2], 'hash')
local facts = redis.call('HMGET', KEYS[1], 's', 't', 'c', 'f')
local seq, createdAt, freshUntil = tonumber(facts[1]), tonumber(facts[3]), tonumber(facts[4])
local isWhole = seq and facts[2] and createdAt and freshUntil and redis.call('HSTRLEN', KEYS[1], 'd') > 0
`

/** The version of the label before a fill, where no entry was found. */
const VERSION_BEFORE = `
local known = redis.call('HMGET', KEYS[2], '#', '*')
local version = known[1]
if not tonumber(known[1]) or not tonumber(known[2]) then
  version = text(clock())
  redis.call('UNLINK', KEYS[2])
  local written = redis.pcall('HSET', KEYS[2], '#', version, '*', version)
  if type(written) == 'table' and written.err then return {'full'} end
end
`

/**
 * Reads an entry. KEYS: entry, versions. ARGV: the entry must have been created after (milliseconds of the wall clock), and none of
 * these tags of the caller (digests) may have been purged after its version. Replies `hit` with the entry, `miss` with the version
 * before the fill, or `full` (no memory).
 */
export const READ: SharedScript = {
  name: 'svcRead',
  lua: `${IS_CURRENT}${FACTS}
if isWhole then
  if not isCurrent(KEYS[2], seq, facts[2]) then redis.call('UNLINK', KEYS[1])
  elseif createdAt > tonumber(ARGV[1]) and isCurrent(KEYS[2], seq, ARGV[2]) then return {'hit', redis.call('HGET', KEYS[1], 'd')} end
end
${VERSION_BEFORE}
return {'miss', version}
`,
}

/**
 * Reads an entry, or takes the lock of its key. KEYS: entry, versions, lock. ARGV: token, milliseconds of the lock, the entry
 * must have been created after, and be fresh at (milliseconds of the wall clock; 0: any). Replies `hit` with the entry, `lock`
 * or `miss` (no memory for a lock) with the version before the fill, `held`, `pass`, or `full`.
 */
export const FETCH: SharedScript = {
  name: 'svcFetch',
  lua: `${IS_CURRENT}${FACTS}
if isWhole then
  if not isCurrent(KEYS[2], seq, facts[2]) then redis.call('UNLINK', KEYS[1])
  elseif createdAt > tonumber(ARGV[3]) and freshUntil > tonumber(ARGV[4]) then return {'hit', redis.call('HGET', KEYS[1], 'd')} end
end
${VERSION_BEFORE}
mendLock(KEYS[3], tonumber(ARGV[2]))
local locked = redis.pcall('SET', KEYS[3], ARGV[1], 'NX', 'PX', ARGV[2])
if type(locked) == 'table' and locked.ok then return {'lock', version} end
if type(locked) == 'table' and locked.err then return {'miss', version} end
if redis.call('GET', KEYS[3]) == 'pass' then return {'pass'} end
return {'held'}
`,
}

/**
 * Stores an entry unless a purge has come since its version, and releases the lock of its fill. KEYS: entry, versions, lock.
 * ARGV: token, version, digests of the tags, created at, fresh until, entry, its life in Redis in milliseconds. Replies 1 if it
 * was stored.
 */
export const STORE: SharedScript = {
  name: 'svcStore',
  lua: `${IS_CURRENT}
mend(KEYS[1], 'hash')
mend(KEYS[2], 'hash')
mend(KEYS[3], 'string')
if redis.call('GET', KEYS[3]) == ARGV[1] then redis.call('DEL', KEYS[3]) end
if not isCurrent(KEYS[2], tonumber(ARGV[2]), ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 's', ARGV[2], 't', ARGV[3], 'c', ARGV[4], 'f', ARGV[5], 'd', ARGV[6])
redis.call('PEXPIRE', KEYS[1], ARGV[7])
if tonumber(ARGV[7]) > (tonumber(redis.call('HGET', KEYS[2], '~')) or 0) then redis.call('HSET', KEYS[2], '~', ARGV[7]) end
return 1
`,
}

/**
 * Ends the lock of a fill that stored nothing. KEYS: lock. ARGV: token, milliseconds for which the other instances go on
 * without a lock, since the response is for one request alone; 0: the next one takes the lock.
 */
export const UNLOCK: SharedScript = {
  name: 'svcUnlock',
  lua: `${MEND}
mend(KEYS[1], 'string')
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], 'pass', 'PX', ARGV[2])
return 1
`,
}

/** Most purged tags of a label whose versions are kept: past them the whole label is purged. */
const MAX_TAGS = 10_000

/**
 * `purge(key, from, to)` purges a label whose versions are at the key: the entries with the tags whose digests are ARGV[from] to
 * ARGV[to], or all if `to` is less. Returns the version. Works with a full memory too: it makes room where it can.
 */
export const PURGE_FUNCTION = `
${IS_CURRENT}
local function purge(key, from, to)
  mend(key, 'hash')
  local kept = redis.call('HMGET', key, '#', '~', 'p')
  local last, life = tonumber(kept[1]), tonumber(kept[2]) or 0
  local version = math.max(clock(), (last or 0) + 1)
  if to < from or not last or redis.call('HLEN', key) + to - from + 1 > ${MAX_TAGS} then
    redis.call('DEL', key)
    redis.call('HSET', key, '#', text(version), '*', text(version), '~', text(life), 'p', text(version))
    return text(version)
  end
  if version - (tonumber(kept[3]) or 0) > life then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do
      if #all[i] == 16 and (tonumber(all[i + 1]) or 0) < version - life then redis.call('HDEL', key, all[i]) end
    end
    redis.call('HSET', key, 'p', text(version))
  end
  redis.call('HSET', key, '#', text(version))
  for i = from, to do redis.call('HSET', key, ARGV[i], text(version)) end
  return text(version)
end
`

/** Purges a label (no ARGV) or the entries with any of these tags (ARGV: digests). KEYS: versions. Replies the version. */
export const PURGE: SharedScript = {
  name: 'svcPurge',
  lua: `#!lua flags=allow-oom
${PURGE_FUNCTION}
return purge(KEYS[1], 1, #ARGV)
`,
}
