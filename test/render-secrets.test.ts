import assert from 'node:assert/strict'
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { test } from 'node:test'
import { fetchHttp, startServer, tempSite } from '@svc/testkit'

const SECRET = 'one-secret-of-tokens-that-is-in-no-other-text'
const HASH = '$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$oneHashThatIsInNoOtherTextAtAll0123456789abc'
const CHUNK_BYTES = 1024 * 1024

/** True if the memory of a process holds a text. */
function holds(pid: number, text: string): boolean {
  const wanted = Buffer.from(text)
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    return readFileSync(`/proc/${pid}/maps`, 'utf8')
      .split('\n')
      .some((line) => {
        const [, from = '', to = ''] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? []
        return from !== '' && regionHolds(memory, BigInt(`0x${from}`), BigInt(`0x${to}`), wanted)
      })
  } finally {
    closeSync(memory)
  }
}

function isReadable(pid: number): boolean {
  try {
    closeSync(openSync(`/proc/${pid}/mem`, 'r'))
    return true
  } catch {
    return false
  }
}

function regionHolds(memory: number, from: bigint, to: bigint, wanted: Buffer): boolean {
  const chunk = Buffer.alloc(CHUNK_BYTES + wanted.byteLength)
  for (let at = from; at < to; at += BigInt(CHUNK_BYTES)) {
    const bytes = Number(to - at > BigInt(chunk.byteLength) ? BigInt(chunk.byteLength) : to - at)
    try {
      if (chunk.subarray(0, readSync(memory, chunk, 0, bytes, at)).includes(wanted)) return true
    } catch {
      // The region is gone, or the kernel does not let it be read.
    }
  }
  return false
}

/** The processes below one, with the name of their program. */
function processesBelow(pid: number): { readonly pid: number; readonly program: string }[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid)
  return children.flatMap((name) => {
    const program = /([\w-]+)\.js\0/.exec(readFileSync(`/proc/${name}/cmdline`, 'latin1'))?.[1] ?? ''
    return [{ pid: Number(name), program }, ...processesBelow(Number(name))]
  })
}

function parentOf(name: string): number | undefined {
  try {
    return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1])
  } catch {
    // It has ended.
    return undefined
  }
}

test('no process that runs or reads code of sites holds the secret of tokens, or a hash of a password', async (t) => {
  const root = tempSite(t, { 'app/page.tsx': 'export default () => <p>page</p>' })
  const user = `[[admin.users]]\nusername = "ann"\npassword_hash = "${HASH}"\nrole = "super_admin"\n`
  const site = `[[sites]]\nid = "one"\nhostnames = ["one.localhost"]\nroot = "${root}"\n`
  const server = await startServer(t, {
    config: `[server]\nlisten = "127.0.0.1:0"\nworkers = 1\n[admin]\nenabled = true\njwt_secret = "${SECRET}"\n${user}${site}`,
  })
  assert.equal((await fetchHttp(server.url, { host: 'one.localhost' })).status, 200)
  const processes = processesBelow(server.child.process.pid ?? 0)
  const found = (program: string) => processes.filter((one) => one.program === program)
  const [worker] = found('worker')
  // The kernel decides (kernel.yama.ptrace_scope): it lets root, and by default the ancestors of a process, read its memory.
  if (worker !== undefined && !isReadable(worker.pid)) return t.skip('needs the right to read the memory of the processes')
  assert.ok(worker !== undefined && holds(worker.pid, SECRET), 'a worker does: it verifies tokens')
  const hosts = [...found('render-host'), ...found('site-scan')]
  assert.ok(hosts.length >= 1, JSON.stringify(processes))
  for (const { pid, program } of hosts) {
    for (const text of [SECRET, HASH]) assert.equal(holds(pid, text), false, `${program} ${text}`)
  }
})
