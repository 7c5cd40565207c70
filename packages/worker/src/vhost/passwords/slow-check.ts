/// <reference path="./apache-md5.d.ts" />
import { createHash, timingSafeEqual } from 'node:crypto'
import apacheMd5 from 'apache-md5'
import { compareSync } from 'bcryptjs'
import { encrypt } from 'unixcrypt'

/** Checks a password against a stored form that is made to be slow: bcrypt, MD5 of Apache and of Unix, SHA-crypt. */
export function slowCheck(password: Uint8Array, stored: string): boolean {
  const bytes = Buffer.from(password)
  if (/^\$2[abxy]\$/.test(stored)) return compareSync(bytes.toString('utf8'), stored.replace(/^\$2[xy]/, '$2b'))
  if (/^\$(?:apr1|1)\$/.test(stored)) return areEqual(apacheMd5(bytes.toString('latin1'), stored), stored)
  if (/^\$[56]\$/.test(stored)) return areEqual(encrypt(bytes.toString('utf8'), saltOf(stored)), stored)
  return false
}

/** True if a stored password is in a form that can be checked. */
export function isKnownForm(stored: string): boolean {
  return /^\$(?:2[abxy]|apr1|1|5|6)\$/.test(stored)
}

function saltOf(stored: string): string {
  return stored.slice(0, stored.lastIndexOf('$'))
}

function areEqual(a: string, b: string): boolean {
  const [first, second] = [a, b].map((text) => createHash('sha256').update(text).digest())
  return first !== undefined && second !== undefined && timingSafeEqual(first, second)
}
