import { createServer } from 'node:net'
import { codeOf } from '@svc/core'
import type { ListenAddress } from '@svc/protocol'
import { EngineError, type EngineErrorCode } from '../errors.ts'

const codes: Readonly<Record<string, EngineErrorCode>> = {
  EADDRINUSE: 'ENGINE_ADDRESS_IN_USE',
  EADDRNOTAVAIL: 'ENGINE_BAD_ADDRESS',
  EINVAL: 'ENGINE_BAD_ADDRESS',
  ENOTFOUND: 'ENGINE_BAD_ADDRESS',
  EAI_AGAIN: 'ENGINE_BAD_ADDRESS',
  EAFNOSUPPORT: 'ENGINE_BAD_ADDRESS',
  EACCES: 'ENGINE_ADDRESS_DENIED',
}

const reasons: Readonly<Partial<Record<EngineErrorCode, string>>> = {
  ENGINE_ADDRESS_IN_USE: 'another program listens there',
  ENGINE_BAD_ADDRESS: 'it is not an address of this machine',
  ENGINE_ADDRESS_DENIED: 'this process may not listen on that port',
}

/** Finds out why uWebSockets.js, which does not tell, could not listen: by trying the same with a socket that does. */
export async function bindFailure(address: ListenAddress): Promise<EngineError> {
  const cause = await tryToListen(address)
  const code = codes[codeOf(cause) ?? ''] ?? 'ENGINE_LISTEN_FAILED'
  const reason = reasons[code] ?? 'the system did not say why'
  const options = cause === undefined ? {} : { cause }
  return new EngineError(code, `cannot listen on ${address.name} (${address.host}, port ${address.port}): ${reason}`, options)
}

function tryToListen(address: ListenAddress): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    // Exclusive: in a cluster worker the port is bound here and not in the primary process.
    server.listen({ host: address.host, port: address.port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
