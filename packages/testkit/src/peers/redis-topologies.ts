import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Child } from '../processes/child.ts'
import { type Cleanup, tempDir } from '../processes/temp-dir.ts'
import { waitFor } from '../processes/wait-for.ts'
import { untilAccepting } from './accepts.ts'

const HOST = '127.0.0.1'
const SLOTS = 16_384

/** The programs of Redis. */
interface RedisPrograms {
  readonly server: string
  readonly cli: string
}

/** A Redis that listens on a port. */
interface RedisNode {
  readonly child: Child
  readonly port: number
}

/** Sends a command to a Redis, and returns its reply as text. */
export function redisCli({ cli }: RedisPrograms, port: number, ...args: readonly string[]): string {
  return execFileSync(cli, ['-h', HOST, '-p', String(port), ...args], { encoding: 'utf8' }).trim()
}

/** Three masters of a cluster that have the slots. */
export async function startRedisCluster(t: Cleanup, programs: RedisPrograms): Promise<{ nodes: RedisNode[]; url: string }> {
  const ports = await freePorts(6)
  const nodes = await Promise.all(
    [0, 1, 2].map(async (i) => {
      const [port = 0, busPort = 0] = [ports[i], ports[i + 3]]
      const files = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort)]
      const rules = ['--cluster-node-timeout', '1000', '--cluster-require-full-coverage', 'no']
      return startNode(t, programs, port, [...files, ...rules])
    }),
  )
  const of = (i: number) => ports[i] ?? 0
  for (const [i, { port }] of nodes.entries()) {
    const [from, to] = [i, i + 1].map((part) => Math.floor((SLOTS * part) / nodes.length))
    redisCli(programs, port, 'CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))
    redisCli(programs, port, 'CLUSTER', 'ADDSLOTSRANGE', String(from), String((to ?? 0) - 1))
  }
  for (const i of [1, 2]) redisCli(programs, of(0), 'CLUSTER', 'MEET', HOST, String(of(i)), String(of(i + 3)))
  await waitFor('the nodes of the cluster know all slots', () =>
    nodes.every(({ port }) =>
      /cluster_slots_ok:16384\s[\s\S]*cluster_known_nodes:3/.test(redisCli(programs, port, 'CLUSTER', 'INFO')),
    ),
  )
  return { nodes, url: nodes.map(({ port }) => `redis://${HOST}:${port}`).join(',') }
}

/** A Redis with a replica, and a sentinel that makes the replica the master when the master is lost. */
export async function startRedisSentinel(
  t: Cleanup,
  programs: RedisPrograms,
): Promise<{ master: RedisNode; replica: RedisNode; url: string }> {
  const [masterPort = 0, replicaPort = 0, port = 0] = await freePorts(3)
  const master = await startNode(t, programs, masterPort, ['--repl-diskless-sync-delay', '0'])
  const replica = await startNode(t, programs, replicaPort, ['--replicaof', HOST, String(masterPort)])
  await waitFor('the replica is in step', () => redisCli(programs, replicaPort, 'INFO').includes('master_link_status:up'))
  const dir = tempDir(t, 'sentinel')
  const settings = [
    `port ${port}`,
    `bind ${HOST}`,
    `dir ${dir}`,
    `sentinel monitor main ${HOST} ${masterPort} 1`,
    'sentinel down-after-milliseconds main 300',
    'sentinel failover-timeout main 2000',
  ]
  writeFileSync(join(dir, 'sentinel.conf'), `${settings.join('\n')}\n`)
  new Child(t, programs.server, [join(dir, 'sentinel.conf'), '--sentinel'])
  await untilAccepting('the sentinel', { host: HOST, port })
  await waitFor('the sentinel knows the replica', () =>
    redisCli(programs, port, 'SENTINEL', 'MASTER', 'main').includes('num-slaves\n1'),
  )
  return { master, replica, url: `redis-sentinel://${HOST}:${port}/main` }
}

/** A Redis that takes TLS connections only. `certificate` has PEM files. */
export async function startTlsRedis(
  t: Cleanup,
  programs: RedisPrograms,
  { cert, key }: { readonly cert: string; readonly key: string },
  args: readonly string[] = [],
): Promise<RedisNode> {
  const [port = 0] = await freePorts(1)
  const files = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-ca-cert-file', cert, '--tls-auth-clients', 'no']
  const child = new Child(t, programs.server, [...basics(t), '--port', '0', '--tls-port', String(port), ...files, ...args])
  await untilAccepting('redis-server', { host: HOST, port })
  return { child, port }
}

/** A directory of its own, since a node of a cluster and a replica write files there. */
function basics(t: Cleanup): string[] {
  return ['--bind', HOST, '--save', '', '--appendonly', 'no', '--dir', tempDir(t, 'redis')]
}

async function startNode(t: Cleanup, { server }: RedisPrograms, port: number, args: readonly string[]): Promise<RedisNode> {
  const child = new Child(t, server, [...basics(t), '--port', String(port), ...args])
  await untilAccepting('redis-server', { host: HOST, port })
  return { child, port }
}

/** Ports that were free a moment ago: Redis takes none of its own choice. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, HOST, resolve))
      return server
    }),
  )
  const ports = servers.map((server) => {
    const address = server.address()
    return typeof address === 'object' ? (address?.port ?? 0) : 0
  })
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
