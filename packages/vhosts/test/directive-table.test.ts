import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_EFFECT } from '../src/directives/no-effect.ts'
import { harmlessValues } from '../src/directives/refusal.ts'
import { directiveTable } from '../src/index.ts'
import { NGINX_DIRECTIVES } from '../src/nginx/directive-facts.ts'

const table = directiveTable()

test('every directive has one class, and every one that does not work has a reason', () => {
  const classes = Map.groupBy(table, ({ name }) => name)
  const mixed = [...classes].filter(([, entries]) => new Set(entries.map((entry) => entry.class)).size > 1)
  // In a group they work.
  assert.deepEqual(
    mixed.map(([name]) => name),
    ['keepalive_requests', 'keepalive_time', 'keepalive_timeout'],
  )
  for (const { name, class: kind, note } of table) assert.equal(note === '', kind === 'works', name)
  assert.ok(classes.size > 500, `${classes.size} directives`)
})

test('the lists of directives without effect name directives of nginx that do not work here', () => {
  for (const name of NO_EFFECT.keys()) {
    assert.ok(NGINX_DIRECTIVES.has(name), name)
    assert.ok(
      table.some((entry) => entry.name === name && entry.class === 'no effect'),
      name,
    )
  }
})

test('values are accepted only for directives that are refused', () => {
  for (const { name, class: kind } of table) if (kind !== 'refused') assert.deepEqual(harmlessValues(name), [], name)
})

/** Subjects that no directive without effect may touch. */
const PROTECTION =
  /access|allow|deny|auth|satisf|verify|client_certificate|crl|real_ip|limit_(?:req|conn|rate|except)|max_body|internal|secure|referer|method|header|status|error_page|body|cookie|return|rewrite|max_ranges|symlinks/
/** Names that only sound like it: buffers, times, log levels, hash tables. */
const HARMLESS_NAMES =
  /^(?:client_body_(?:buffer_size|in_single_buffer|temp_path)|client_header_(?:buffer_size|timeout)|http2_body_preread_size|(?:proxy|fastcgi)_headers_hash_\w+|limit_\w+_log_level|referer_hash_\w+|rewrite_log|ssl_stapling_verify)$/

test('no directive about access, limits, methods, fields, bodies or statuses is without effect', () => {
  const doubtful = [...NO_EFFECT.keys()].filter((name) => PROTECTION.test(name) && !HARMLESS_NAMES.test(name))
  assert.deepEqual(doubtful, [])
})

test('contexts, arguments and defaults are those of nginx', () => {
  const of = (wanted: string) =>
    table.filter(({ name }) => name === wanted).map(({ contexts, args, default: usual }) => [contexts, args, usual])
  assert.deepEqual(of('proxy_buffers'), [[['http', 'server', 'location'], [2, 2], '8 4k|8k']])
  assert.deepEqual(of('error_log').length, 2)
  assert.deepEqual(of('set'), [[['server', 'location', 'if in server', 'if in location'], [2, 2], '']])
  assert.deepEqual(of('svc_app'), [[['server', 'location'], [1, 1], '']])
  assert.deepEqual(of('valid_referers'), [[['server', 'location'], [1, null], '']])
})
