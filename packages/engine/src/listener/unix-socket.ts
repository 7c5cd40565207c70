import { chmodSync } from 'node:fs'
import { codeOf } from '@svc/core'

/**
 * Lets every user of the machine connect to a unix socket, as web servers do: its directory says who may reach it. Another worker
 * may be binding the same path at this moment: it has taken the file away, and does this for the next one.
 */
export function openToAll(path: string): void {
  try {
    chmodSync(path, 0o666)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
