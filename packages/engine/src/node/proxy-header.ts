import type { Socket } from 'node:net'
import { type ConnectionFacts, canonicalAddress } from '@svc/http'
import type { FirstBytes } from './first-bytes.ts'

/** Longest line of version 1, with its line break. */
const MAX_LINE = 107
const LINE_START = Buffer.from('PROXY ')
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
/** Of version 2: the signature, the command, the family and the length. */
const HEAD_BYTES = 16
/** Of version 2 with its extensions, as in nginx. */
const MAX_HEADER = 4_096
const PROXY_COMMAND = 1
/** Family and transport: TCP over IPv4, TCP over IPv6. */
const TCP4 = 0x11
const TCP6 = 0x21
const PORT = /^(?:0|[1-9]\d{0,4})$/

type Proxied = NonNullable<ConnectionFacts['proxied']>

/** A header of the PROXY protocol: the peer of the proxy; "broken": it is none. */
type ProxyHeader = Proxied | 'broken'

const broken: FirstBytes<ProxyHeader> = { value: 'broken', rest: Buffer.alloc(0) }

/**
 * Reads a header of the PROXY protocol, versions 1 and 2 (haproxy.org/download/2.8/doc/proxy-protocol.txt, section 2).
 * @param bytes of a connection, from its first on
 * @returns undefined: more bytes are needed
 */
export function parseProxyHeader(bytes: Buffer): FirstBytes<ProxyHeader> | undefined {
  if (startsLike(bytes, SIGNATURE)) return bytes.byteLength < HEAD_BYTES ? undefined : binaryHeader(bytes)
  if (startsLike(bytes, LINE_START)) return lineHeader(bytes)
  return broken
}

/** True if the bytes begin with those of a mark, as far as they have come. */
function startsLike(bytes: Buffer, mark: Buffer): boolean {
  const length = Math.min(bytes.byteLength, mark.byteLength)
  return bytes.subarray(0, length).equals(mark.subarray(0, length))
}

function lineHeader(bytes: Buffer): FirstBytes<ProxyHeader> | undefined {
  const end = bytes.subarray(0, MAX_LINE).indexOf('\r\n')
  if (end === -1) return bytes.byteLength < MAX_LINE ? undefined : broken
  const [, family, address = '', server = '', port = '', serverPort = '', ...more] = bytes.toString('latin1', 0, end).split(' ')
  const rest = bytes.subarray(end + 2)
  if (family === 'UNKNOWN') return { value: 'unnamed', rest }
  if ((family !== 'TCP4' && family !== 'TCP6') || more.length > 0) return broken
  return { value: peerOf(address, server, portOf(port), portOf(serverPort)), rest }
}

function binaryHeader(bytes: Buffer): FirstBytes<ProxyHeader> | undefined {
  const [version, command] = [bytes.readUInt8(12) >> 4, bytes.readUInt8(12) & 0xf]
  const family = bytes.readUInt8(13)
  const end = HEAD_BYTES + bytes.readUInt16BE(14)
  if (version !== 2 || command > PROXY_COMMAND || end > MAX_HEADER) return broken
  if (bytes.byteLength < end) return undefined
  const rest = bytes.subarray(end)
  const size = family === TCP4 ? 4 : family === TCP6 ? 16 : undefined
  if (command !== PROXY_COMMAND || size === undefined) return { value: 'unnamed', rest }
  const ports = HEAD_BYTES + 2 * size
  if (end < ports + 4) return broken
  const [address, server] = [HEAD_BYTES, HEAD_BYTES + size].map((at) => addressOf(bytes.subarray(at, at + size)))
  return { value: peerOf(address ?? '', server ?? '', bytes.readUInt16BE(ports), bytes.readUInt16BE(ports + 2)), rest }
}

function addressOf(bytes: Buffer): string {
  if (bytes.byteLength === 4) return bytes.join('.')
  return bytes.toString('hex').replace(/(.{4})(?=.)/g, '$1:')
}

function portOf(text: string): number {
  return PORT.test(text) ? Number(text) : Number.NaN
}

function peerOf(address: string, serverAddress: string, port: number, serverPort: number): ProxyHeader {
  const [peer, server] = [canonicalAddress(address), canonicalAddress(serverAddress)]
  if (peer === undefined || server === undefined || !(port <= 65_535) || !(serverPort <= 65_535)) return 'broken'
  return { address: peer, port, serverAddress: server, serverPort }
}

const peers = new WeakMap<Socket, Proxied>()

/** Notes the peer that a proxy named, before anything else reads from its connection. */
export function noteProxied(socket: Socket, peer: Proxied): void {
  peers.set(socket, peer)
}

/** @param socket the connection itself, below TLS. @returns undefined: there was no header */
export function proxiedPeerOf(socket: Socket): Proxied | undefined {
  return peers.get(socket)
}
