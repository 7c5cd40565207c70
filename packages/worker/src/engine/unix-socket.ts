import { chmodSync } from 'node:fs'

/** Lets every user of the machine connect to a unix socket, as web servers do: its directory says who may reach it. */
export function openToAll(path: string): void {
  chmodSync(path, 0o666)
}
