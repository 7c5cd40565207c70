import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { startServer, tempSite } from '@svc/testkit'
import { client } from './backend.ts'
import { runDirOf } from './control.ts'

export const page = (text: string) =>
  `export const dynamic = 'force-dynamic'\nexport default function Page() { return <p>${text}</p> }\n`
export const kept = (text: string) => `export const revalidate = 3600\nexport default function Page() { return <p>${text}</p> }\n`

interface OwnSiteOptions {
  /** @default 1 */
  readonly workers?: number
  /** Other sections of the configuration. */
  readonly more?: string
}

/** A server with the site "one", which has its own process, and the site "two". */
export async function openOwnSite(t: TestContext, { workers = 1, more = '' }: OwnSiteOptions = {}) {
  const root = tempSite(t, { 'app/page.tsx': page('hello'), 'app/kept/page.tsx': kept('first') })
  const other = tempSite(t, { 'app/page.tsx': page('neighbour') })
  const sites = [
    `id = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\nprocess = "own"\nenv = { COLOUR = "blue" }\n`,
    `id = "two"\nhostnames = ["two.localhost"]\nroot = "${other}"\nenv = { PASSWORD = "of-two" }\n`,
  ]
  const config = `[server]\nlisten = "127.0.0.1:0"\nworkers = ${workers}\n\n${more}${sites.map((site) => `[[sites]]\n${site}`).join('\n')}`
  const server = await startServer(t, { config })
  return { root, server, runDir: runDirOf(server), get: client(server), two: client(server, 'two.localhost') }
}

/** The file that a unit reads at its start. */
export const fileOf = (runDir: string, site = 'one') => join(runDir, `sites/${site}.json`)
