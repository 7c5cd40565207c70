// Entry of the thread that checks passwords whose form is made to be slow.
/// <reference path="./apache-md5.d.ts" />
import { createHash, timingSafeEqual } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import apacheMd5 from 'apache-md5'
import { compareSync } from 'bcryptjs'
import { encrypt } from 'unixcrypt'

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

/** Checks a password against a stored form that is made to be slow: bcrypt, MD5 of Apache and of Unix, SHA-crypt. */
export function slowCheck(password: Uint8Array, stored: string): boolean {
  const bytes = Buffer.from(password)
  if (/^\$2[abxy]\$/.test(stored)) return compareSync(bytes.toString('utf8'), stored.replace(/^\$2[xy]/, '$2b'))
  if (/^\$(?:apr1|1)\$/.test(stored)) return areEqual(apacheMd5(bytes.toString('latin1'), stored), stored)
  if (/^\$[56]\$/.test(stored)) return areEqual(encrypt(bytes.toString('utf8'), stored.slice(0, stored.lastIndexOf('$'))), stored)
  return false
}

function areEqual(a: string, b: string): boolean {
  const [first, second] = [a, b].map((text) => createHash('sha256').update(text).digest())
  return first !== undefined && second !== undefined && timingSafeEqual(first, second)
}
