import { chmodSync } from 'node:fs'
import { codeOf } from '@svc/core'
import type { ListenAddress } from '@svc/http'
import { EngineError, type EngineErrorCode } from '../errors/errors.ts'

const codes: Readonly<Record<string, EngineErrorCode>> = {
  EADDRINUSE: 'ENGINE_ADDRESS_IN_USE',
  EADDRNOTAVAIL: 'ENGINE_BAD_ADDRESS',
  EINVAL: 'ENGINE_BAD_ADDRESS',
  ENOTFOUND: 'ENGINE_BAD_ADDRESS',
  ENOENT: 'ENGINE_BAD_ADDRESS',
  EAI_AGAIN: 'ENGINE_BAD_ADDRESS',
  EAFNOSUPPORT: 'ENGINE_BAD_ADDRESS',
  EACCES: 'ENGINE_ADDRESS_DENIED',
}

const reasons: Readonly<Partial<Record<EngineErrorCode, string>>> = {
  ENGINE_ADDRESS_IN_USE: 'another program is listening there',
  ENGINE_BAD_ADDRESS: 'it is not an address of this machine',
  ENGINE_ADDRESS_DENIED: 'this process may not listen there',
}

/** Says why an address cannot be listened on. @param cause the system's error, if any */
export function bindFailure(address: ListenAddress, cause: unknown): EngineError {
  const code = codes[codeOf(cause) ?? ''] ?? 'ENGINE_LISTEN_FAILED'
  const isClosedPath = address.socket !== undefined && code === 'ENGINE_ADDRESS_DENIED'
  const known = isClosedPath ? 'its directory is missing or not accessible to this process' : reasons[code]
  const reason = known ?? 'the system gave no reason'
  const options = cause === undefined ? {} : { cause }
  const place = address.socket === undefined ? `${address.host}, port ${address.port}` : `unix socket ${address.socket}`
  return new EngineError(code, `cannot listen on ${address.name} (${place}): ${reason}`, options)
}

/**
 * Lets every user of the machine connect to a unix socket, as web servers do: its directory decides which users may reach it. Another worker
 * may be binding the same path at this moment: it has taken the file away, and does this for the next one.
 */
export function openToAll(path: string): void {
  try {
    chmodSync(path, 0o666)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}
