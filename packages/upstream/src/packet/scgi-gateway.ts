import type { Gateway } from '../cgi/gateway.ts'
import { packetProtocol } from './packet-protocol.ts'

/** SCGI: a netstring of parameters, the length of the body first. */
export const scgi: Gateway = {
  protocol: packetProtocol('scgi'),
  statesLength: true,
  encode(params) {
    let text = ''
    for (const [name, value] of params) text += `${name}\0${value}\0`
    return text
  },
  begin(params, { length = 0 }) {
    const block = `CONTENT_LENGTH\0${length}\0${params}`
    return `${block.length}:${block},`
  },
  writeBody: (connection, bytes) => connection.write(bytes),
  endOfBody: '',
  abort: '',
}
