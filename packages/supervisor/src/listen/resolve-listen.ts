import { once } from 'node:events'
import { createServer } from 'node:net'
import type { HostPort } from '@svc/config'
import { codeOf, messageOf } from '@svc/core'
import type { ListenAddress } from '@svc/protocol'
import { SupervisorError } from '../errors.ts'
import { parseAddress } from './parse-address.ts'

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use',
  EACCES: 'the port needs a privilege (CAP_NET_BIND_SERVICE)',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/**
 * Binds an address for a moment and returns its port. Workers bind with SO_REUSEPORT, under which any program of the same user
 * could share a port unnoticed; a plain bind fails when anybody has it.
 */
async function probe(name: string, address: HostPort): Promise<number> {
  const server = createServer()
  server.listen({ host: address.host, port: address.port, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    const reason = REASONS[codeOf(error) ?? ''] ?? messageOf(error)
    throw new SupervisorError('SUP_LISTEN', `cannot listen on ${name}: ${reason}`, { cause: error })
  }
  const bound = server.address()
  server.close()
  await once(server, 'close')
  return typeof bound === 'object' && bound !== null ? bound.port : address.port
}

/**
 * Turns the addresses of a configuration into real ones. Those in `held` are open already and are taken over as they are, so
 * that port 0 keeps its port over reloads.
 * @throws SUP_LISTEN naming the address
 */
export async function resolveListen(names: readonly string[], held: readonly ListenAddress[]): Promise<ListenAddress[]> {
  const resolved: ListenAddress[] = []
  for (const name of new Set(names)) {
    const known = held.find((address) => address.name === name)
    if (known !== undefined) {
      resolved.push(known)
      continue
    }
    const address = parseAddress(name)
    const isHeld = held.some((other) => other.host === address.host && other.port === address.port)
    resolved.push({ name, host: address.host, port: isHeld ? address.port : await probe(name, address) })
  }
  return resolved
}
