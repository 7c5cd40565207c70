import ipaddr from 'ipaddr.js'
import { canonical, effectiveAddress, parseAddress } from './address-forms.ts'

/** An address with a port that the server itself listens on. */
interface OwnAddress {
  readonly address: string
  readonly port: number
}

/** Addresses that a site's `fetch` may reach beside public ones. */
export interface EgressRules {
  /** Host names, `*.suffix`, addresses, CIDRs or `host:port`, as configured. */
  readonly allow: readonly string[]
  /** Every local and private address too. */
  readonly allowLocal: boolean
  /** Listen addresses of this server. It may listen on addresses that no interface has yet. */
  readonly own: readonly OwnAddress[]
}

/** One connection that a site asks for: the name it used and the very address that would be connected to. */
export interface EgressTarget {
  /** Lower case, without brackets. */
  readonly hostname: string
  readonly address: string
  readonly port: number
}

interface Permission {
  readonly isAllowed: true
  /** The operator allows this target, wherever it leads. */
  readonly isListed: boolean
}

interface Refusal {
  readonly isAllowed: false
  readonly reason: string
}

/** The answer to a connection that a site asks for. */
type EgressVerdict = Permission | Refusal

/** Says what kind of address it is: "unicast" for public ones, else the name of its range. */
function addressRange(address: string): string {
  const parsed = parseAddress(address)
  return parsed === undefined ? 'invalid' : effectiveAddress(parsed).range()
}

function isSame(a: string, b: string): boolean {
  const [first, second] = [parseAddress(a), parseAddress(b)]
  return first === undefined || second === undefined ? a === b : canonical(first) === canonical(second)
}

function isInCidr(address: string, cidr: string): boolean {
  const [range, bits] = ipaddr.parseCIDR(cidr)
  const parsed = parseAddress(address)
  if (parsed === undefined) return false
  return [parsed, effectiveAddress(parsed)].some((one) => one.kind() === range.kind() && one.match(range, bits))
}

function splitPort(entry: string): { host: string; port: number | undefined } {
  const match = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(entry)
  if (match === null) return { host: entry, port: undefined }
  return { host: match[1] ?? match[2] ?? entry, port: match[3] === undefined ? undefined : Number(match[3]) }
}

function matchesEntry(entry: string, { hostname, address, port }: EgressTarget): boolean {
  if (entry.includes('/')) return ipaddr.isValidCIDR(entry) && isInCidr(address, entry)
  const { host, port: onlyPort } = splitPort(entry.toLowerCase())
  if (onlyPort !== undefined && onlyPort !== port) return false
  if (host.startsWith('*.')) return hostname.endsWith(host.slice(1))
  return host === hostname || isSame(host, address)
}

/**
 * Decides whether a site may connect to an address. Public addresses are free but for those of this machine and those that this
 * server listens on; all others need an entry in `fetch_allow` or `allowLocal`.
 * @param isOfMachine says whether an address is one of this machine
 */
export function checkEgress(target: EgressTarget, rules: EgressRules, isOfMachine: (address: string) => boolean): EgressVerdict {
  const { address, port } = target
  const range = addressRange(address)
  if (range === 'invalid') return { isAllowed: false, reason: `invalid address ${address}` }
  if (rules.allowLocal || rules.allow.some((entry) => matchesEntry(entry, target))) return { isAllowed: true, isListed: true }
  if (rules.own.some((own) => own.port === port && isSame(own.address, address))) return refusal(target, 'this server itself')
  if (range !== 'unicast') return refusal(target, `not a public address (${range})`)
  return isOfMachine(address) ? machineRefusal(target) : { isAllowed: true, isListed: false }
}

/** Returns the refusal of a target on this machine. */
export function machineRefusal(target: EgressTarget): Refusal {
  return refusal(target, 'an address of this machine')
}

function refusal({ hostname, address }: EgressTarget, reason: string): Refusal {
  const shown = hostname === address ? address : `${hostname} (${address})`
  return { isAllowed: false, reason: `${shown} is ${reason}; fetch_allow may list it` }
}
