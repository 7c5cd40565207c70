import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLogger, type LogLine } from '../src/index.ts'
import { prettyLine } from '../src/log/logger.ts'

function collect(): { lines: string[]; destination: { write(line: string): void } } {
  const lines: string[] = []
  return { lines, destination: { write: (line) => void lines.push(line) } }
}

test('lines are JSON with an ISO time, the level by name and the base fields', () => {
  const { lines, destination } = collect()
  const logger = createLogger({ level: 'info', format: 'json', base: { proc: 'master' }, destination })
  logger.debug('hidden')
  logger.child({ site: 'shop' }).info({ generation: 2 }, 'reloaded')
  assert.equal(lines.length, 1)
  const line = JSON.parse(lines[0]!)
  assert.match(line.time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  delete line.time
  assert.deepEqual(line, { level: 'info', proc: 'master', site: 'shop', generation: 2, msg: 'reloaded' })
})

test('a listener gets each line as it is written, whatever the format, and a short form of a huge one', () => {
  const { lines, destination } = collect()
  const shown: LogLine[] = []
  const onLine = (line: LogLine) => shown.push(line)
  const logger = createLogger({ level: 'info', format: 'pretty', base: { proc: 'worker' }, destination, onLine })
  logger.debug('hidden')
  logger.warn({ site: 'shop', headers: { cookie: 'a=b' } }, 'first\nsecond')
  logger.error({ site: 'blog', huge: 'x'.repeat(20_000) }, 'y'.repeat(20_000))
  const [small, large] = shown.map(({ text }) => JSON.parse(text))
  assert.deepEqual([small.msg, small.headers.cookie], ['first\nsecond', '***'])
  assert.deepEqual(
    shown.map(({ level, site }) => [level, site]),
    [
      [40, 'shop'],
      [50, 'blog'],
    ],
  )
  assert.deepEqual([large.level, large.proc, large.site, large.msg], ['error', 'worker', 'blog', 'y'.repeat(2048)])
  assert.ok(large.cut_from_chars > 40_000 && (shown[1]?.text.length ?? 0) < 4096)
  assert.equal(lines.length, 2)
  assert.match(lines[1] ?? '', /x{20000}/, 'the log itself has all of it')
})

test('credentials are blanked in header objects and beside them', () => {
  const { lines, destination } = collect()
  const logger = createLogger({ level: 'info', format: 'json', destination })
  logger.info({ headers: { authorization: 'Bearer abc', cookie: 'a=b', 'set-cookie': 'c=d', accept: '*/*' }, token: 'abc' }, 'x')
  logger.info({ req: { headers: { authorization: 'Bearer abc', cookie: 'a=b' } }, user: { password: 'abc' } }, 'x')
  assert.doesNotMatch(lines.join(''), /abc|a=b|c=d/)
  assert.equal(JSON.parse(lines[0]!).headers.accept, '*/*')
})

test('the pretty format shows text, fields and the stack of an error', () => {
  const { lines, destination } = collect()
  const logger = createLogger({ level: 'info', format: 'pretty', base: { proc: 'master' }, destination })
  logger.error({ err: new Error('broken'), site: 'a b' }, 'worker died')
  assert.match(lines[0]!, /^\d\d:\d\d:\d\d ERROR master worker died site="a b"\n {4}Error: broken\n {4,}at /)
})

test('text of others can neither pass for a line of its own nor steer the terminal in the pretty format', () => {
  const { lines, destination } = collect()
  const logger = createLogger({ level: 'info', format: 'pretty', destination })
  logger.info('first\n12:00:00 FATAL master forged\r\u001b[31m\u009b2J\tend')
  assert.match(lines[0]!, /first\n {4}12:00:00 FATAL master forged\\u000d\\u001b\[31m\\u009b2J\tend\n$/)
})

test('neither the fields of a line nor a line that is no JSON steer the terminal in the pretty format', () => {
  const { lines, destination } = collect()
  const logger = createLogger({ level: 'info', format: 'pretty', destination })
  logger.info({ file: '/srv/\u009b2J\u007f', url: '\u202egpj' }, 'seen')
  assert.match(lines[0]!, /seen file="?\/srv\/\\u009b2J\\u007f"? url=\\u202egpj\n$/)
  assert.equal(prettyLine('a dependency\u001b[31m\n'), 'a dependency\\u001b[31m\n')
})
