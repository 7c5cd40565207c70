const names: ReadonlySet<string> = new Set(['forwarded', 'x-real-ip', 'x-original-url', 'x-rewrite-url'])
const prefixes = ['x-forwarded-', 'x-svc-', 'x-middleware-', 'x-nextjs-'] as const

/** Returns true if a field (lower-case name) speaks for a proxy or for this server, and is believed only from a trusted peer. */
export function isTrustedOnlyField(name: string): boolean {
  return names.has(name) || (name.startsWith('x-') && prefixes.some((prefix) => name.startsWith(prefix)))
}
