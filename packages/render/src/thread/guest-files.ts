import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RenderError } from '../errors/errors.ts'

/** The guest as it was built: one script, and a V8 snapshot in which it has run. */
export interface GuestFiles {
  readonly script: string
  /** undefined: it was made by another V8 or for another script. An isolate then starts by running the script. */
  readonly snapshot: Uint8Array | undefined
}

/** Name of the guest's script in stack traces, as its snapshot was made with. */
export const GUEST_SCRIPT_NAME = 'guest.js'

/** Bundled programs have the guest beside them; from source it lies where the build puts it. */
export function guestDir(): string {
  const beside = fileURLToPath(new URL('.', import.meta.url))
  const candidates = [beside, join(beside, '..'), join(beside, '../../../../dist')]
  const found = candidates.find((dir) => existsSync(join(dir, GUEST_SCRIPT_NAME)))
  if (found === undefined) throw new RenderError('RENDER_GUEST', `guest.js is in none of ${candidates.join(', ')}: run the build`)
  return found
}

/**
 * Reads the guest's files.
 * @throws RENDER_GUEST when the script is missing
 */
export function readGuestFiles(dir = guestDir()): GuestFiles {
  const script = readFileSync(join(dir, GUEST_SCRIPT_NAME), 'utf8')
  return { script, snapshot: matchingSnapshot(dir, script) }
}

function matchingSnapshot(dir: string, script: string): Uint8Array | undefined {
  const facts = join(dir, 'guest.json')
  const file = join(dir, 'guest.snapshot')
  if (!existsSync(facts) || !existsSync(file)) return undefined
  const made = JSON.parse(readFileSync(facts, 'utf8')) as { readonly v8?: string; readonly sha256?: string }
  return made.v8 === process.versions.v8 && made.sha256 === hash('sha256', script, 'hex') ? readFileSync(file) : undefined
}
