// Entry of the thread that checks passwords whose form is made to be slow.
import { parentPort } from 'node:worker_threads'
import { slowCheck } from './slow-check.ts'

parentPort?.on('message', ({ id, password, stored }: { id: number; password: Uint8Array; stored: string }) => {
  parentPort?.postMessage({ id, isRight: checked(password, stored) })
})

function checked(password: Uint8Array, stored: string): boolean {
  try {
    return slowCheck(password, stored)
  } catch {
    // Not in the form that it claims to be in: no password fits.
    return false
  }
}
