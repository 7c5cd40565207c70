import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import type { Cleanup } from '../processes/temp-dir.ts'

const HEAD_BYTES = 12
const TYPE_A = 1
const [NO_ERROR, NO_SUCH_NAME] = [0, 3]

/** A name server of a test: knows IPv4 addresses of names, and no others. */
export interface DnsPeer {
  /** "host:port" in the form of `resolver`. */
  readonly address: string
  /** Addresses by name; tests change it. A name without an entry does not exist. */
  readonly names: Map<string, readonly string[]>
  /** Life of answers, in seconds. */
  ttlSeconds: number
  /** True: it says nothing. */
  isSilent: boolean
  /** Questions for an IPv4 address so far. */
  questions: number
}

/** The name in a question, and where it ends. */
function readName(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = HEAD_BYTES
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 }
}

function addressRecord(address: string, ttlSeconds: number): Buffer {
  const record = Buffer.alloc(16)
  // The name of the question.
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(TYPE_A, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt32BE(ttlSeconds, 6)
  record.writeUInt16BE(4, 10)
  for (const [place, part] of address.split('.').entries()) record[12 + place] = Number(part)
  return record
}

function answerTo(message: Buffer, peer: DnsPeer): Buffer {
  const { name, end } = readName(message)
  const isForAddress = message.readUInt16BE(end) === TYPE_A
  if (isForAddress) peer.questions++
  const known = peer.names.get(name)
  const records = isForAddress ? (known ?? []).map((address) => addressRecord(address, peer.ttlSeconds)) : []
  const head = Buffer.from(message.subarray(0, HEAD_BYTES))
  head.writeUInt16BE(0x8180 | (known === undefined ? NO_SUCH_NAME : NO_ERROR), 2)
  head.writeUInt16BE(records.length, 6)
  // No further records, whatever the question had.
  head.fill(0, 8)
  return Buffer.concat([head, message.subarray(HEAD_BYTES, end + 4), ...records])
}

/** Starts a name server on loopback. */
export async function startDns(t: Cleanup, names: Readonly<Record<string, readonly string[]>>): Promise<DnsPeer> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  const { port } = socket.address()
  const known = new Map(Object.entries(names))
  const peer: DnsPeer = { address: `127.0.0.1:${port}`, names: known, ttlSeconds: 60, isSilent: false, questions: 0 }
  socket.on('message', (message: Buffer, from: RemoteInfo) => {
    if (!peer.isSilent) socket.send(answerTo(message, peer), from.port, from.address)
  })
  return peer
}
