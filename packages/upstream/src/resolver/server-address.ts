/** Address on which a server listens. */
export type ServerAddress =
  | { readonly kind: 'port'; readonly host: string; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }

/** Reads "host:port", "[::1]:port" or "unix:/path". Undefined: it is none of them. */
export function parseServerAddress(address: string): ServerAddress | undefined {
  if (address.startsWith('unix:')) return address.length > 5 ? { kind: 'unix', path: address.slice(5) } : undefined
  const match = /^(?:\[([^\]]+)\]|([^:/\s]+)):(\d{1,5})$/.exec(address)
  const host = match?.[1] ?? match?.[2]
  const port = Number(match?.[3])
  return host === undefined || port < 1 || port > 65_535 ? undefined : { kind: 'port', host, port }
}
