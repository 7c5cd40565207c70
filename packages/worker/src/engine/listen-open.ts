import { chmod } from 'node:fs/promises'
import type { ListenAddress } from '@svc/protocol'
import type { Engine } from './engine.ts'

/** Who may connect to a unix socket is the business of its directory, as in nginx. */
const OPEN_TO_ALL = 0o666

/**
 * Has an engine listen on an address and lets every user of the machine connect to it, which a unix socket does not do by itself.
 * @throws what `Engine.listen` throws
 */
export async function listenOpen(engine: Engine, address: ListenAddress): Promise<void> {
  await engine.listen(address)
  if (address.socket !== undefined) await chmod(address.socket, OPEN_TO_ALL)
}
