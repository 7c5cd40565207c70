// Sends a body through a buffer whose file may not grow as long, and says what became of it.
//
//   full-disk-program.ts <directory> <all|untaken> <blocking|later>
import { randomBytes } from 'node:crypto'
import { BodyBlocks } from '../src/bodies/body-blocks.ts'
import { BodyBuffer } from '../src/bodies/body-buffer.ts'
import { SpoolFile } from '../src/bodies/body-file.ts'

const BYTES = 2 * 1024 * 1024
const [dir = '', keeps, writing] = process.argv.slice(2)
const errors: string[] = []
let room = Promise.withResolvers<void>()
const bytes = randomBytes(BYTES)
const got: Buffer[] = []

const buffer = new BodyBuffer({
  blocks: new BodyBlocks(),
  keeps: keeps === 'all' ? 'all' : 'untaken',
  memoryBytes: 0,
  maxBytes: Number.POSITIVE_INFINITY,
  openFile: () => SpoolFile.open(dir, writing === 'blocking'),
  onNotStored(error) {
    errors.push((error as NodeJS.ErrnoException).code ?? '')
    isReading = true
    queueMicrotask(read)
  },
  onRoom: () => room.resolve(),
})
let isReading = false
const cursor = buffer.reader(0, { ready: read })

function read(): void {
  while (isReading) {
    const part = cursor.take()
    if (part === 'later') return
    if (part === 'end' || part instanceof Error) {
      isReading = false
      const isWhole = part === 'end' && Buffer.concat(got).equals(bytes)
      process.stdout.write(`${JSON.stringify({ isWhole, errors })}\n`)
      return
    }
    got.push(Buffer.from(part.bytes))
    buffer.blocks.give(part.block)
    cursor.took(part.bytes.byteLength, true)
  }
}

for (let from = 0; from < BYTES; from += 100_000) {
  room = Promise.withResolvers()
  const takesMore = buffer.add(bytes.subarray(from, from + 100_000))
  if (!takesMore) await room.promise
}
buffer.end()
