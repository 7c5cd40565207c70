import type { UpstreamProtocol } from '../http/http-connections.ts'
import { CgiReader } from './cgi-reader.ts'

/** A protocol whose connections serve one request: its parameters in one packet, then its body. */
export function packetProtocol(name: 'uwsgi' | 'scgi'): UpstreamProtocol {
  return { name, maxIdle: 0, trustedIdleMs: 0, makeReaders: () => (events) => new CgiReader(events) }
}
