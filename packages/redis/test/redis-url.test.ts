import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isRedisUrl } from '../../config/src/values/addresses.ts'
import { parseRedisUrl } from '../src/redis-url.ts'

const open = { username: undefined, password: undefined, db: 0, isTls: false }

const valid: Readonly<Record<string, unknown>> = {
  'redis://127.0.0.1': { kind: 'server', node: { host: '127.0.0.1', port: 6379 }, ...open },
  'rediss://me:a%40b@cache.example:7000/3': {
    kind: 'server',
    node: { host: 'cache.example', port: 7000 },
    username: 'me',
    password: 'a@b',
    db: 3,
    isTls: true,
  },
  'redis://[::1]:7001': { kind: 'server', node: { host: '::1', port: 7001 }, ...open },
  'unix:///run/redis/redis.sock': { kind: 'socket', path: '/run/redis/redis.sock', ...open },
  'unix://:pw@localhost/r.sock': { kind: 'socket', path: '/r.sock', ...open, password: 'pw' },
  'redis://:pw@a:1, b:2,redis://c': {
    kind: 'cluster',
    nodes: [
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
      { host: 'c', port: 6379 },
    ],
    ...open,
    password: 'pw',
  },
  'redis-sentinel://me:pw@a:1,b/main/2': {
    kind: 'sentinel',
    sentinels: [
      { host: 'a', port: 1 },
      { host: 'b', port: 26_379 },
    ],
    name: 'main',
    ...open,
    username: 'me',
    password: 'pw',
    db: 2,
  },
}

const invalid = ['http://a', 'redis://', 'unix://', 'redis://a/x', 'redis-sentinel://a', 'redis-sentinel://a,b/', 'a,http://b']

describe('an address of Redis', () => {
  for (const [url, expected] of Object.entries(valid)) {
    test(`${url} is read, and accepted by the configuration`, () => {
      assert.deepEqual({ ...parseRedisUrl(url) }, expected)
      assert.equal(isRedisUrl(url), true)
    })
  }

  for (const url of invalid) {
    test(`${url} is refused without repeating it, since it may hold a password`, () => {
      assert.throws(
        () => parseRedisUrl(url),
        (error: Error) => 'code' in error && error.code === 'REDIS_BAD_URL' && !error.message.includes(`"${url}"`),
      )
      assert.equal(isRedisUrl(url), false)
    })
  }
})
