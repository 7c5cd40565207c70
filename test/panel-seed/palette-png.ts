import { crc32, deflateSync, inflateSync } from 'node:zlib'

const MAX_COLOURS = 256
const SIGNATURE = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const PALETTE_TYPE = 3
/** Of a pixel. */
const BYTES = 3

/** Pixels in rows, three bytes each: red, green, blue. */
interface Pixels {
  readonly width: number
  readonly height: number
  readonly data: Uint8Array
}

function chunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.byteLength, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

const colourAt = (data: Uint8Array, at: number): number =>
  ((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0)

function distance(one: number, other: number): number {
  const [red, green, blue] = [16, 8, 0].map((shift) => ((one >> shift) & 255) - ((other >> shift) & 255))
  return (red ?? 0) ** 2 + (green ?? 0) ** 2 + (blue ?? 0) ** 2
}

/** The most frequent colours. */
function paletteOf({ data }: Pixels): number[] {
  const counts = new Map<number, number>()
  for (let at = 0; at < data.length; at += 3) {
    const colour = colourAt(data, at)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const byCount = [...counts].sort(([, one], [, other]) => other - one)
  return byCount.slice(0, MAX_COLOURS).map(([colour]) => colour)
}

/** The neighbour that predicts a byte best (PNG, section 9.4). */
function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner
  const [toLeft, toAbove, toCorner] = [left, above, corner].map((one) => Math.abs(guess - one))
  if ((toLeft ?? 0) <= (toAbove ?? 0) && (toLeft ?? 0) <= (toCorner ?? 0)) return left
  return (toAbove ?? 0) <= (toCorner ?? 0) ? above : corner
}

/** Undoes the filter of a row in place. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array): void {
  for (let x = 0; x < row.length; x++) {
    const left = row[x - BYTES] ?? 0
    const up = above[x] ?? 0
    const guesses = [0, left, up, (left + up) >> 1, paeth(left, up, above[x - BYTES] ?? 0)]
    row[x] = (row[x] ?? 0) + (guesses[filter] ?? 0)
  }
}

/** Reads a PNG as browsers write screenshots: eight bits of red, green and blue, not interlaced. */
export function readPng(png: Buffer): Pixels {
  const parts: Buffer[] = []
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const rows = inflateSync(Buffer.concat(parts))
  const data = new Uint8Array(width * height * BYTES)
  let above = new Uint8Array(width * BYTES)
  for (let y = 0; y < height; y++) {
    const from = y * (width * BYTES + 1)
    const row = data.subarray(y * width * BYTES, (y + 1) * width * BYTES)
    row.set(rows.subarray(from + 1, from + 1 + width * BYTES))
    unfilter(rows[from] ?? 0, row, above)
    above = row
  }
  return { width, height, data }
}

/** A PNG of at most 256 colours (PNG, third edition): a third of the bytes of one with all of them. */
export function palettePng(pixels: Pixels): Buffer {
  const { width, height, data } = pixels
  const palette = paletteOf(pixels)
  const indices = new Map(palette.map((colour, index) => [colour, index]))
  const indexOf = (colour: number): number => {
    const known = indices.get(colour)
    if (known !== undefined) return known
    const nearest = palette.reduce(
      (best, one, index) => (distance(one, colour) < distance(palette[best] ?? 0, colour) ? index : best),
      0,
    )
    indices.set(colour, nearest)
    return nearest
  }
  // Each row begins with its filter: none.
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexOf(colourAt(data, (y * width + x) * 3))
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, PALETTE_TYPE], 8)
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  const content = deflateSync(rows, { level: 9 })
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', content),
    chunk('IEND', Buffer.alloc(0)),
  ])
}
