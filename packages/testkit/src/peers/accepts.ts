import { connect } from 'node:net'
import { waitFor } from '../processes/wait-for.ts'

/** Listen address of a server. */
export type Address = { readonly path: string } | { readonly port: number; readonly host: string }

function connectsOnce(address: Address): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address)
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

/** Waits until something takes connections at an address: the ready sign of servers that print none. */
export async function untilAccepting(what: string, address: Address): Promise<void> {
  await waitFor(`${what} to accept connections`, () => connectsOnce(address))
}
