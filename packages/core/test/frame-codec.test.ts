import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrameDecoder, FrameEncoder } from '../src/channel/frame-codec.ts'

const MAX_BYTES = 16 * 1024 * 1024

type Body = Uint8Array | string | undefined
const frames: readonly (readonly [head: object, bytes: Body])[] = [
  [{ t: 'a' }, undefined],
  [{ t: 'b', text: 'ä€😀\ud800' }, 'short ä€😀'],
  [{ t: 'c' }, Buffer.alloc(3_000, 'c')],
  [{ t: 'd' }, `${'one byte '.repeat(2_000)}`],
  [{ t: 'e' }, `${'two bytes … '.repeat(9_000)}`],
  [{ t: 'f', long: 'x'.repeat(300_000) }, Buffer.alloc(700_000, 'f')],
  [{ t: 'g' }, Buffer.alloc(2_000_000, 'g')],
  [{ t: 'h' }, ''],
]

/** Collects what an encoder writes; memory is given back to it when `release` is called. */
class Output {
  readonly parts: Buffer[] = []
  #sent: (() => void)[] = []

  write(data: Uint8Array | string, sent?: () => void): void {
    this.parts.push(typeof data === 'string' ? Buffer.from(data) : Buffer.from(data))
    if (sent !== undefined) this.#sent.push(sent)
  }

  release(): void {
    for (const sent of this.#sent.splice(0)) sent()
  }
}

function plain(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : Buffer.from(bytes).toString()
}

function expected(): { head: unknown; text: string }[] {
  return frames.map(([head, bytes]) => ({ head: JSON.parse(JSON.stringify(head)), text: Buffer.from(bytes ?? '').toString() }))
}

/** Cuts the stream into reads of a size, each in the same memory when it is lent. */
function decode(stream: Buffer, size: number, isLent: boolean): { head: unknown; text: string }[] {
  const decoder = new FrameDecoder(MAX_BYTES)
  const found: { head: unknown; text: string }[] = []
  const kept: { head: unknown; bytes: Uint8Array | undefined }[] = []
  const memory = Buffer.alloc(size)
  for (let at = 0; at < stream.byteLength; at += size) {
    const piece = stream.subarray(at, at + size)
    const data = isLent ? memory.subarray(0, piece.copy(memory)) : Buffer.from(piece)
    decoder.push(data, isLent, ({ head, bytes, isLent: isFrameLent = false }) => {
      assert.equal(isFrameLent, isLent)
      if (isLent) found.push({ head, text: plain(bytes) })
      else kept.push({ head, bytes })
    })
    if (isLent) memory.fill(0)
  }
  // Frames that are not lent stay as they are.
  return isLent ? found : kept.map(({ head, bytes }) => ({ head, text: plain(bytes) }))
}

function encoded(): Buffer {
  const output = new Output()
  const encoder = new FrameEncoder(output)
  for (const [head, bytes] of frames) encoder.add(head, bytes)
  encoder.flush()
  return Buffer.concat(output.parts)
}

test('a frame over the limit or with a head that is not JSON is refused, however it is cut', () => {
  const tooLong = Buffer.alloc(8)
  tooLong.writeUInt32LE(MAX_BYTES, 4)
  const notJson = Buffer.from('\x03\0\0\0\0\0\0\0{"a')
  for (const size of [1, 8, 100]) {
    assert.throws(() => decode(tooLong, size, false), { code: 'CORE_PROTOCOL' })
    assert.throws(() => decode(notJson, size, true), SyntaxError)
  }
})

test('frames come out as they went in, wherever the stream is cut', () => {
  const stream = encoded()
  for (const size of [7, 8, 9, 1_000, 65_536, 262_144, stream.byteLength]) {
    assert.deepEqual(decode(stream, size, false), expected())
    assert.deepEqual(decode(stream, size, true), expected())
  }
})

test('memory of frames is used again only when it was written', () => {
  const written: { data: Uint8Array; sent: (() => void) | undefined }[] = []
  const encoder = new FrameEncoder({ write: (data, sent) => void written.push({ data: data as Uint8Array, sent }) })
  const send = (text: string) => {
    encoder.add({}, text)
    encoder.flush()
  }
  send('first')
  send('second')
  const [first, second] = written
  assert.match(plain(first?.data), /first$/)
  first?.sent?.()
  send('third')
  assert.match(plain(second?.data), /second$/)
  for (const { sent } of written.slice(1)) sent?.()
  send('fourth')
  assert.match(plain(written.at(-1)?.data), /fourth$/)
  assert.equal(written.at(-1)?.data.byteOffset, first?.data.byteOffset)
})
