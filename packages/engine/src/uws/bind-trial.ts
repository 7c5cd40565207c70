import { createServer } from 'node:net'
import type { ListenAddress } from '@svc/http'
import type { EngineError } from '../errors/errors.ts'
import { bindFailure } from '../listener/bind-failure.ts'

/** Finds out why uWebSockets.js, which does not tell, could not listen: by trying the same with a socket that does. */
export async function triedToBind(address: ListenAddress): Promise<EngineError> {
  return bindFailure(address, await tryToListen(address))
}

function tryToListen(address: ListenAddress): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    // Exclusive: in a cluster worker the address is bound here and not in the primary process.
    const where = address.socket === undefined ? { host: address.host, port: address.port } : { path: address.socket }
    server.listen({ ...where, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}
