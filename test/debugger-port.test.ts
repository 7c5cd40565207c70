import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fetchHttp, PROCESS_WAIT_MS, startServer, tempSite, waitFor } from '@svc/testkit'

/** The programs of the processes below one with their command lines. */
function commandsBelow(pid: number): { readonly pid: number; readonly command: readonly string[] }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .flatMap((name) => [{ pid: Number(name), command: commandOf(name) }, ...commandsBelow(Number(name))])
}

function parentOf(name: string): number | undefined {
  return Number(/^PPid:\t(\d+)$/m.exec(fileOf(name, 'status'))?.[1])
}

function commandOf(name: string): string[] {
  return fileOf(name, 'cmdline').split('\0')
}

/** A file of a process, "" if it has ended. */
function fileOf(name: string, file: string): string {
  try {
    return readFileSync(`/proc/${name}/${file}`, 'latin1')
  } catch {
    return ''
  }
}

/** Sockets that listen on ports that Node takes for its debugger, one after the other. */
function debuggerPorts(): string[] {
  const listening = readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1)
  return listening.filter((line) => {
    const [, , local = '', , state] = line.split(/\s+/)
    const port = Number.parseInt(local.split(':')[1] ?? '', 16)
    return state === '0A' && port >= 9_229 && port <= 9_260
  })
}

test('SIGUSR1 opens no port of the debugger, in no process below the master and at no time of its life', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': 'export default () => <p>page</p>' })
  const site = `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`
  const server = await startServer(t, { config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 1\n${site}` })
  assert.equal((await fetchHttp(server.url, { host: 'one.localhost' })).status, 200)
  const before = debuggerPorts().length
  const master = server.child.process.pid ?? 0
  const processes = commandsBelow(master)
  const programs = processes.map(({ command }) => /([\w-]+)\.js$/.exec(command.find((one) => one.endsWith('.js')) ?? '')?.[1])
  for (const name of ['worker', 'render-host']) assert.ok(programs.includes(name), `${name}: ${programs}`)
  for (const [index, { command }] of processes.entries()) assert.ok(command.includes('--disable-sigusr1'), `${programs[index]}`)
  const pids = [master, ...processes.map(({ pid }) => pid)]
  for (const pid of pids) process.kill(pid, 'SIGUSR1')
  await waitFor('the master to open its files', () => server.child.stderr.includes('reopened the log files'), PROCESS_WAIT_MS)
  assert.equal((await fetchHttp(server.url, { host: 'one.localhost' })).status, 200)
  assert.equal(debuggerPorts().length, before)
  const left = new Set(commandsBelow(master).map(({ pid }) => pid))
  for (const [index, { pid }] of processes.entries()) {
    if (programs[index] !== 'site-scan') assert.ok(left.has(pid), `${programs[index]} goes on`)
  }
})
