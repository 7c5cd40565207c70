import type { Gateway, Param } from '../cgi/gateway.ts'
import { packetProtocol } from './packet-protocol.ts'

/** Longest block of parameters: its length has 16 bits. */
const MAX_PARAMS = 0xffff

/** A number of 16 bits, the low byte first. */
function word(value: number): string {
  return String.fromCharCode(value & 0xff, value >> 8)
}

/** A longer part makes the whole too long. */
function encode(params: readonly Param[]): string {
  let text = ''
  for (const [name, value] of params) text += word(name.length) + name + word(value.length) + value
  return text
}

/** The uwsgi protocol. @param modifiers `uwsgi_modifier1` and `uwsgi_modifier2`, and `uwsgi_string` behind the parameters */
export function uwsgi({ modifier1, modifier2, string }: { modifier1: number; modifier2: number; string: string }): Gateway {
  return {
    protocol: packetProtocol('uwsgi'),
    statesLength: false,
    encode,
    begin(params) {
      const block = params + string
      if (block.length > MAX_PARAMS) return undefined
      return String.fromCharCode(modifier1) + word(block.length) + String.fromCharCode(modifier2) + block
    },
    writeBody: (connection, bytes) => connection.write(bytes),
    endOfBody: '',
    abort: '',
  }
}
