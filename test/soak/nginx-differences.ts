import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { type Cleanup, findProgram, svcCommand, tempDir, writeFiles } from '@svc/testkit'
import { type Case, Differential, nginxConfiguration, titleOf } from '../nginx/differential.ts'
import { Choice } from '../nginx/random-choice.ts'
import { randomRequest } from '../nginx/random-request.ts'
import { randomFiles, randomPreamble, randomServer } from '../nginx/random-server.ts'
import { repeat, type SoakPart, type SoakRun } from './soak-part.ts'

const SERVERS_PER_FILE = 12
const REQUESTS_PER_FILE = 240
/** Differences of a round that are printed: one cause often makes many. */
const MOST_SHOWN = 8

const users = `user:{SHA}${createHash('sha1').update('pw').digest('base64')}\n`
const files = { ...randomFiles, users }
/** In place of the addresses of a `Setting`, for checks that open none. */
const PLACES: Readonly<Record<string, string>> = { '{on0}': '127.0.0.1:8080', '{echo}': '127.0.0.1:8081' }

/** Says whether the two programs accept files. */
class Checker {
  readonly #dir: string
  readonly #nginx: string

  constructor(t: Cleanup, nginx: string) {
    this.#dir = tempDir(t, 'nginx-differences')
    this.#nginx = nginx
    writeFiles(join(this.#dir, 'www'), files)
  }

  isValidForNginx(server: string): boolean {
    writeFiles(this.#dir, nginxConfiguration(this.#text([server])))
    const prefix = join(this.#dir, 'nginx')
    return spawnSync(this.#nginx, ['-t', '-q', '-p', prefix, '-e', 'stderr', '-c', join(prefix, 'nginx.conf')]).status === 0
  }

  /** Problems that the product finds, by the number of the server. */
  problems(servers: readonly string[]): Map<number, string> {
    writeFiles(this.#dir, {
      'vhosts.conf': this.#text(servers),
      'svc.config.toml': `[server]\nvhosts = ["${this.#dir}/vhosts.conf"]\nstate_dir = "${this.#dir}/state"\n[cache]\ndir = "${this.#dir}/cache"\n`,
    })
    const { stderr } = spawnSync(svcCommand, ['config', 'check', '--config', join(this.#dir, 'svc.config.toml')], {
      encoding: 'utf8',
    })
    const before = randomPreamble.split('\n').length - 1
    const found = stderr.matchAll(/vhosts\.conf:(\d+):\d+: (.*)/g)
    return new Map(Array.from(found, ([, line, problem = '']) => [Number(line) - before - 1, problem]))
  }

  #text(servers: readonly string[]): string {
    const text = `${randomPreamble}${servers.join('\n')}\n`.replaceAll('{dir}', join(this.#dir, 'www'))
    return Object.entries(PLACES).reduce((written, [name, place]) => written.replaceAll(name, place), text)
  }
}

/** Counts of a run. */
interface Tally {
  requests: number
  differences: number
  refusals: number
}

function acceptedServers(choice: Choice, checker: Checker, run: SoakRun, tally: Tally): string[] {
  const servers = Array.from({ length: SERVERS_PER_FILE }, (_, index) => {
    for (;;) {
      // On one line: its number in a problem is that of the server.
      const server = randomServer(choice, index).replaceAll('\n', ' ')
      if (checker.isValidForNginx(server)) return server
    }
  })
  const problems = checker.problems(servers)
  for (const [index, problem] of problems) {
    tally.refusals++
    run.report(`nginx accepts what this server rejects: ${problem}\n  ${servers[index]}`)
  }
  return servers.filter((_, index) => !problems.has(index))
}

/** The lines of an error that say what differs, and the answers behind it. */
function changesOf(message: string): string {
  const lines = message.split('\n').filter((line) => /^[+-] |^nginx: |^uws: |^node: /.test(line))
  return lines.length === 0 ? message : lines.map((line) => line.slice(0, 1000)).join('\n')
}

async function differencesOf(differential: Differential, requests: readonly Case[]): Promise<string[]> {
  const differences: string[] = []
  for (const request of requests) {
    try {
      await differential.compareOne(request)
    } catch (error) {
      differences.push(`${titleOf(request)}\n${error instanceof Error ? changesOf(error.message) : error}`)
    }
  }
  return differences
}

/** Random vhost files and random requests, answered by nginx and by this server with both engines. */
export const nginxDifferences: SoakPart = {
  about: 'random vhost files answer random requests as with nginx',
  rounds: 40,
  async run(run) {
    const nginx = findProgram('nginx')
    assert.ok(nginx, 'there is no nginx here: apt-get install nginx-light')
    const checker = new Checker(run.cleanup, nginx)
    const choice = new Choice(run.random)
    const tally: Tally = { requests: 0, differences: 0, refusals: 0 }
    const done = await repeat(run, async () => {
      const servers = acceptedServers(choice, checker, run, tally)
      const undone: (() => unknown)[] = []
      const cleanup = { after: (task?: unknown) => void (typeof task === 'function' && undone.push(() => task())) }
      try {
        const differential = await Differential.run(cleanup, nginx, { conf: `${randomPreamble}${servers.join('\n')}\n`, files })
        const requests = Array.from({ length: REQUESTS_PER_FILE }, () => randomRequest(choice, SERVERS_PER_FILE))
        const differences = await differencesOf(differential, requests)
        tally.requests += requests.length
        tally.differences += differences.length
        for (const difference of differences.slice(0, MOST_SHOWN)) {
          const [, number] = /\bs(\d+)\.test/.exec(difference) ?? []
          const server = servers.find((text) => text.includes(`s${number}.test`) || text.includes(`s${number}\\.test`))
          run.report(`${difference}\n  ${server ?? 'the default server'}`)
        }
      } finally {
        for (const undo of undone) await undo()
      }
      return `${tally.requests} requests, ${tally.differences} differences, ${tally.refusals} servers rejected`
    })
    run.report(
      `${tally.requests} requests to ${done * SERVERS_PER_FILE} servers: ${tally.differences} differences, ${tally.refusals} servers rejected`,
    )
    assert.deepEqual([tally.differences, tally.refusals], [0, 0])
    return done
  },
}
