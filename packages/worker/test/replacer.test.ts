import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Replacer } from '../src/vhost/replacer.ts'

const pairs = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([needle, text]) => ({ needle: Buffer.from(needle), text: Buffer.from(text) }))

/** The body in pieces of so many bytes, replaced. */
function replaced(body: string, size: number, texts: Readonly<Record<string, string>>, isOnce = false): string {
  const replacer = new Replacer(pairs(texts), isOnce)
  const pieces: Buffer[] = []
  for (let at = 0; at < body.length; at += size) pieces.push(replacer.push(Buffer.from(body.slice(at, at + size))))
  return Buffer.concat([...pieces, replacer.end()]).toString()
}

test('the pieces of a body do not change what is replaced in it', () => {
  const texts = { aab: '1', ab: '2', abcd: '3', 'bc ': '4', end: '' }
  const body = 'aaab aabcd ABcd bc foo aab ab aab aB eNd the end'
  for (const isOnce of [false, true]) {
    const whole = replaced(body, body.length, texts, isOnce)
    for (let size = 1; size < body.length; size++) assert.equal(replaced(body, size, texts, isOnce), whole, `${size} bytes`)
  }
  assert.equal(replaced(body, 7, texts), 'a1 1cd 2cd 4foo 1 2 1 2  the ')
  assert.equal(replaced(body, 7, texts, true), 'a1 a2cd 3 4foo aab ab aab aB  the end')
})

test('no more is held back than may be the beginning of a text', () => {
  const replacer = new Replacer(pairs({ abcdef: 'x', ab: 'y' }), true)
  assert.equal(replacer.push(Buffer.alloc(1000, 'z')).length, 995)
  assert.equal(replacer.push(Buffer.from('abcdef..')).toString(), 'zzzzzx')
  assert.equal(replacer.push(Buffer.from('ab!')).toString(), '..y!')
  assert.equal(replacer.push(Buffer.from('ab!')).toString(), 'ab!')
})
