import { isIP } from 'node:net'

/** A host and a port to listen on. `host` is without brackets; port 0 picks a free one. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

const pattern = /^(?:\[([^\]]+)\]|([^[\]:]+)):(\d{1,5})$/

/** Parses `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080`. Undefined when the text is none of these. */
export function parseListenAddress(text: string): HostPort | undefined {
  const match = pattern.exec(text)
  if (match === null) return undefined
  const [, bracketed, plain, digits] = match
  const port = Number(digits)
  if (port > 65_535 || (bracketed !== undefined && isIP(bracketed) !== 6)) return undefined
  return { host: bracketed ?? plain ?? '', port }
}
