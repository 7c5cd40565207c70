import { NetworkMap } from '@svc/http'
import type { GeoSpec, SplitSpec, Template } from '@svc/vhosts'
import { RealIp } from '../request/real-ip.ts'
import { own, type RequestVariable, type VariableInput } from './variable-input.ts'

/** Reads a text with variables. */
type ReadText = (input: VariableInput) => string

/** Compiles a variable of `geo` or `split_clients`; a `set` goes before it. */
export function computedVariable(spec: GeoSpec | SplitSpec, textOf: (template: Template) => ReadText): RequestVariable {
  const compute = spec.kind === 'geo' ? geoReader(spec, textOf) : splitReader(spec, textOf)
  return own((input) => input.variable(spec.variable) ?? compute(input))
}

function geoReader(spec: GeoSpec, textOf: (template: Template) => ReadText): ReadText {
  const networks = new NetworkMap(spec.networks)
  const source = spec.source && textOf(spec.source)
  const proxies = new RealIp({ from: spec.proxies, field: 'x-forwarded-for', isRecursive: spec.isRecursive })
  return (input) => {
    const { client, request } = input.context
    const peer = source === undefined ? client.address : source(input)
    const address =
      spec.proxies.length === 0 ? peer : (proxies.find(peer, { headers: request.headers, proxied: undefined })?.address ?? peer)
    return networks.find(address) ?? networks.find(NO_ADDRESS) ?? spec.fallback
  }
}

/** Stands for texts that are no address, and for clients of unix sockets. */
const NO_ADDRESS = '255.255.255.255'

function splitReader({ source, parts }: SplitSpec, textOf: (template: Template) => ReadText): ReadText {
  const text = textOf(source)
  return (input) => {
    const hash = murmurHash2(Buffer.from(text(input), 'latin1'))
    return parts.find(({ below }) => hash < below)?.value ?? ''
  }
}

const MULTIPLIER = 0x5bd1e995

/** MurmurHash2 of 32 bits with the seed 0, as nginx has it. */
function murmurHash2(bytes: Buffer): number {
  let hash = bytes.length
  let at = 0
  for (; bytes.length - at >= 4; at += 4) {
    let word = Math.imul(bytes.readInt32LE(at), MULTIPLIER)
    word ^= word >>> 24
    hash = Math.imul(hash, MULTIPLIER) ^ Math.imul(word, MULTIPLIER)
  }
  const rest = bytes.length - at
  if (rest > 0) {
    for (let i = rest - 1; i >= 0; i--) hash ^= (bytes[at + i] ?? 0) << (8 * i)
    hash = Math.imul(hash, MULTIPLIER)
  }
  hash ^= hash >>> 13
  hash = Math.imul(hash, MULTIPLIER)
  return (hash ^ (hash >>> 15)) >>> 0
}
