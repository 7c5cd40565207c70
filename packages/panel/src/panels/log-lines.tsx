import { Status } from '../components/status.tsx'

/** A line as its process wrote it. */
export interface Line {
  readonly time?: string
  readonly level?: string
  readonly proc?: string
  readonly site?: string
  readonly msg?: string
}

const tones = { trace: 'idle', debug: 'idle', info: 'good', warn: 'warning', error: 'bad', fatal: 'bad' } as const
/** Fields that have columns, or say nothing to a reader. */
const COLUMNS = new Set(['time', 'level', 'proc', 'site', 'msg', 'pid', 'hostname', 'v', 'instance'])
const MAX_FACTS = 6
const MAX_CHARS = 60

export function Level({ level }: { readonly level: string | undefined }) {
  return <Status tone={tones[level as keyof typeof tones] ?? 'idle'}>{level ?? 'none'}</Status>
}

/** The other fields of a line: "alert=disk_space value=9". */
export function factsOf(line: Line): string {
  const fields = Object.entries(line).filter(([name, value]) => !COLUMNS.has(name) && value !== null && typeof value !== 'object')
  return fields
    .slice(0, MAX_FACTS)
    .map(([name, value]) => `${name}=${String(value).slice(0, MAX_CHARS)}`)
    .join(' ')
}
