import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestGate } from '../src/exchange/request-gate.ts'

interface Sample {
  readonly name: string
  readonly method?: string
  readonly target?: string
  readonly fields: readonly (readonly [name: string, value: string])[]
}

const host = ['host', 'a.test'] as const
const agent = ['user-agent', 'x'] as const

const samples: readonly Sample[] = [
  { name: 'no fields', fields: [] },
  { name: 'plain', fields: [host] },
  { name: 'another target', target: '/b?c', fields: [host] },
  { name: 'a bad target', target: '/%zz', fields: [host] },
  { name: 'a path that is not normal', target: '/x/../%61', fields: [host] },
  { name: 'another method', method: 'POST', fields: [host] },
  { name: 'a bad method', method: 'G(T', fields: [host] },
  { name: 'another host', fields: [['host', 'B.test:80']] },
  { name: 'a bad host', fields: [['host', 'a b']] },
  { name: 'two hosts', fields: [host, host] },
  { name: 'one more field', fields: [host, agent] },
  { name: 'another order', fields: [agent, host] },
  { name: 'a bad value', fields: [host, ['user-agent', 'x\u0000']] },
  { name: 'a bad name', fields: [host, ['user agent', 'x']] },
  { name: 'a body', method: 'POST', fields: [host, agent, ['content-length', '5']] },
  { name: 'two lengths', method: 'POST', fields: [host, agent, ['content-length', '5'], ['content-length', '5']] },
  { name: 'chunks', method: 'POST', fields: [host, agent, ['transfer-encoding', 'chunked']] },
  { name: 'both', method: 'POST', fields: [host, agent, ['content-length', '5'], ['transfer-encoding', 'chunked']] },
  { name: 'close', fields: [host, agent, ['connection', 'close']] },
  { name: 'keep-alive', fields: [host, agent, ['connection', 'keep-alive']] },
  { name: 'a tag', fields: [host, agent, ['if-none-match', '"a"']] },
  { name: 'another tag', fields: [host, agent, ['if-none-match', '"b"'], ['accept-encoding', 'br']] },
  { name: 'two codings', fields: [host, ['accept-encoding', 'br'], ['accept-encoding', 'gzip']] },
  { name: 'a cookie', fields: [host, agent, ['cookie', 'a=b']] },
  { name: 'a range', fields: [host, agent, ['range', 'bytes=0-1']] },
  { name: 'credentials', fields: [host, agent, ['authorization', 'x']] },
]

/** Verdict of a gate on a request. */
function look(gate: RequestGate, { method = 'GET', target = '/', fields }: Sample) {
  const fault = gate.enter(method, target, {
    forEach(visit) {
      for (const [name, value] of fields) visit(name, value)
    },
  })
  if (fault !== undefined) return { fault }
  const { parsed, contentLength, isChunked, declaresNoBody, wantsClose, acceptEncoding, ifNoneMatch, hasCookie, isSpecial } = gate
  const lengths = { contentLength, isChunked, declaresNoBody, wantsClose }
  const reads = { acceptEncoding, ifNoneMatch, hasCookie, isSpecial }
  return { host: gate.host, parsed, ...lengths, ...reads, list: gate.fieldList() }
}

test('earlier requests change nothing', () => {
  const alone = samples.map((sample) => look(new RequestGate(), sample))
  assert.ok(alone.filter((seen) => 'fault' in seen).length >= 8)
  for (const first of samples) {
    for (const second of samples) {
      for (const [index, third] of samples.entries()) {
        const gate = new RequestGate()
        look(gate, first)
        look(gate, second)
        const seen = look(gate, third)
        assert.deepEqual(seen, alone[index], `${first.name}, ${second.name}, then ${third.name}`)
      }
    }
  }
})

test('the fields of a request stay as they are while others come', () => {
  const gate = new RequestGate()
  const kept = samples.flatMap((sample) => {
    const seen = look(gate, sample)
    return 'fault' in seen ? [] : [{ fields: gate.fields, copy: [...gate.fields] }]
  })
  for (const sample of samples) look(gate, sample)
  for (const { fields, copy } of kept) assert.deepEqual(fields, copy)
})
