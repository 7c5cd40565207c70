import type { Machine } from '../model/machine.ts'
import type { Check, Verdict } from '../model/subject.ts'
import { isProxying } from './open-files.ts'

/** Connections that wait for a worker, as the engines ask for. */
const BACKLOG = 1_024
/** Connections to one upstream address that may be open or in TIME_WAIT. */
const MIN_PORTS = 16_384

async function numbers(machine: Machine, name: string): Promise<number[] | undefined> {
  const text = await machine.read(`/proc/sys/net/${name.replaceAll('.', '/')}`)
  const values = text?.trim().split(/\s+/).map(Number)
  return values === undefined || values.some(Number.isNaN) ? undefined : values
}

/** A setting of the kernel, for now and over restarts of the machine. */
function sysctl(name: string, value: string): string {
  return `sysctl -w net.${name}='${value}' && echo 'net.${name} = ${value}' >> /etc/sysctl.d/90-svc.conf`
}

async function listenQueue(machine: Machine): Promise<Verdict> {
  const [limit] = (await numbers(machine, 'core.somaxconn')) ?? []
  if (limit === undefined) return { status: 'unknown', message: 'cannot read net.core.somaxconn' }
  const message = `net.core.somaxconn is ${limit}`
  if (limit >= BACKLOG) return { status: 'ok', message }
  const why = `${message}: in a burst, more than ${limit} new connections per worker are dropped`
  return { status: 'warning', message: why, remedy: sysctl('core.somaxconn', '4096') }
}

async function migration(machine: Machine): Promise<Verdict> {
  const [value] = (await numbers(machine, 'ipv4.tcp_migrate_req')) ?? []
  const effect = 'connections that wait for a worker are reset when it is replaced'
  if (value === undefined)
    return { status: 'warning', message: `this kernel has no net.ipv4.tcp_migrate_req (Linux 5.14): ${effect}` }
  if (value === 1) return { status: 'ok', message: 'net.ipv4.tcp_migrate_req is 1' }
  const message = `net.ipv4.tcp_migrate_req is ${value}: ${effect}`
  return { status: 'warning', message, remedy: sysctl('ipv4.tcp_migrate_req', '1') }
}

async function ephemeralPorts(machine: Machine): Promise<Verdict> {
  const [first, last] = (await numbers(machine, 'ipv4.ip_local_port_range')) ?? []
  if (first === undefined || last === undefined) return { status: 'unknown', message: 'cannot read net.ipv4.ip_local_port_range' }
  const count = last - first + 1
  const message = `${count} ports for connections to upstreams`
  if (count >= MIN_PORTS) return { status: 'ok', message }
  const why = `${message}: one upstream address can have no more connections, those that have ended a minute ago included`
  return { status: 'warning', message: why, remedy: sysctl('ipv4.ip_local_port_range', '15000 60999') }
}

/** Settings of the kernel that limit connections. */
export const networkCheck: Check = {
  name: 'network',
  run: ({ machine, loaded }) => {
    const isNeeded = loaded !== undefined && isProxying(loaded)
    return Promise.all([listenQueue(machine), migration(machine), ...(isNeeded ? [ephemeralPorts(machine)] : [])])
  },
}
