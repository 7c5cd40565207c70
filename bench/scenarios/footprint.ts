import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { memoryBytes } from '../lib/process-tree.ts'
import type { ServerProcess } from '../lib/server-process.ts'
import { figure, type Row } from '../lib/table.ts'
import { type BenchSite, rowsSite, startSvc, workDir, writeConfig } from '../peers/svc.ts'

const MIB = 1024 * 1024

/** Copies the site, so that each is a site of its own, with its own files and isolates. */
function copies(count: number): BenchSite[] {
  return Array.from({ length: count }, (_, index) => {
    const root = join(workDir, 'copies', `site-${index}`)
    mkdirSync(root, { recursive: true })
    cpSync(rowsSite, root, { recursive: true })
    return { id: `site-${index}`, root }
  })
}

async function firstPage(server: ServerProcess, site: string): Promise<number> {
  const { request } = await import('node:http')
  const startedAt = performance.now()
  await new Promise<void>((resolve, reject) => {
    const outgoing = request(`${server.url}/`, { headers: { host: `${site}.localhost` } }, (response) => {
      response.resume()
      response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`))))
    })
    outgoing.on('error', reject)
    outgoing.end()
  })
  return performance.now() - startedAt
}

/** Time from exec to the ready line, on both cores, with 1, 10 and 100 sites; and the first page of a cold site. */
export async function startToReady(): Promise<Row[]> {
  const rows: Row[] = []
  const sites = copies(100)
  for (const count of [1, 10, 100]) {
    const config = writeConfig(`ready-${count}`, sites.slice(0, count))
    const times: number[] = []
    let coldMs = 0
    for (let round = 0; round < 5; round++) {
      const server = await startSvc(config, 2)
      times.push(server.startedInMs)
      coldMs = await firstPage(server, 'site-0')
      await server.stop()
    }
    times.sort((a, b) => a - b)
    rows.push({
      scenario: 'start to ready (warm disk cache)',
      server: `svc, ${count} sites`,
      figures: { 'ready ms (median of 5)': figure(times[2] ?? 0), 'first page ms': figure(coldMs) },
    })
  }
  return rows
}

/** Memory (PSS of all processes) that a site costs: configured but never requested, and after a first page. */
export async function memoryPerSite(): Promise<Row[]> {
  const sites = copies(100)
  const idle: number[] = []
  for (const count of [1, 100]) {
    const server = await startSvc(writeConfig(`memory-${count}`, sites.slice(0, count)), 2)
    idle.push(memoryBytes(server.pid))
    await server.stop()
  }
  const server = await startSvc(writeConfig('memory-active', sites), 2)
  const before = memoryBytes(server.pid)
  const active = 20
  for (let index = 0; index < active; index++) await firstPage(server, `site-${index}`)
  const perActive = (memoryBytes(server.pid) - before) / active
  await server.stop()
  const perIdle = ((idle[1] ?? 0) - (idle[0] ?? 0)) / 99
  return [
    {
      scenario: 'memory',
      server: 'svc',
      figures: {
        'whole service, 1 site, MiB': figure((idle[0] ?? 0) / MIB),
        'per idle site, MiB': figure(perIdle / MIB),
        'per active site, MiB': figure(perActive / MIB),
      },
    },
  ]
}

/** A reload of 1,000 sites, as the server itself reports it. */
export async function reloadThousand(): Promise<Row[]> {
  const { execFileSync } = await import('node:child_process')
  const sites = Array.from({ length: 1000 }, (_, index) => ({ id: `site-${index}`, root: rowsSite }))
  const config = writeConfig('reload-1000', sites)
  const server = await startSvc(config, 2)
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const startedAt = performance.now()
    execFileSync(join(rowsSite, '../../../bin/svc'), ['reload', '--config', config], { stdio: 'ignore' })
    times.push(performance.now() - startedAt)
  }
  await server.stop()
  times.sort((a, b) => a - b)
  const figures = {
    'start ms': figure(server.startedInMs),
    '`svc reload` ms (median of 5, with the command itself)': figure(times[2] ?? 0),
  }
  return [{ scenario: 'reload with 1,000 sites', server: 'svc', figures }]
}
