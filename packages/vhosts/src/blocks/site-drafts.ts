import { svcLabel, svcProcess, svcTenant } from '../directives/serving.ts'
import type { ServerNameSpec } from '../spec/spec.ts'
import { formatPlace, type Place } from '../syntax/config-problem.ts'
import { decodeBytes } from '../syntax/source-file.ts'
import type { VhostProblems } from '../syntax/vhost-problems.ts'
import type { AppDraft } from './locations.ts'
import type { ServerDraft } from './server.ts'

/** A site that vhost files make, before its directory has been looked at. */
export interface SiteDraft {
  readonly id: string
  readonly label: string
  readonly hostnames: readonly string[]
  /** Directory of its application; undefined: it has none. */
  readonly app: string | undefined
  /** Directory of its files where all requests share one; "" otherwise. */
  readonly files: string
  readonly process: 'in-process' | 'own'
  readonly tenant: string | undefined
  /** Place of its application, or of its server. */
  readonly place: Place
}

/** Exact names and `*.suffix` that a name of `server_name` stands for: none for a pattern or `prefix.*`. */
export function plainHostnames(spec: ServerNameSpec): string[] {
  if (spec.kind === 'pattern' || spec.name === '' || spec.name === '_' || spec.name.endsWith('.*')) return []
  const name = decodeBytes(spec.name)
  return name.startsWith('.') ? [name.slice(1), `*${name}`] : [name]
}

/** A setting that the server blocks of one site must agree on; not all of them need to have it. */
function agreed<Value>(
  drafts: readonly ServerDraft[],
  directive: string,
  read: (draft: ServerDraft) => Value | undefined,
): Value | undefined {
  let first: { readonly value: Value; readonly draft: ServerDraft } | undefined
  for (const draft of drafts) {
    const value = read(draft)
    if (value === undefined) continue
    first ??= { value, draft }
    if (value !== first.value) {
      const hint = `it is the same site as at ${formatPlace(first.draft.call.place)}; use svc_site to separate them`
      draft.call.fail(`"${directive}" differs between the server blocks of "${draft.spec.site}"`, undefined, hint)
    }
  }
  return first?.value
}

function filesOf(drafts: readonly ServerDraft[]): string {
  const dirs = new Set(
    drafts.flatMap(({ spec }) => (spec.fallback.files === undefined ? [] : [JSON.stringify(spec.fallback.files.dir)])),
  )
  const dir = drafts.find(({ spec }) => spec.fallback.files !== undefined)?.spec.fallback.files?.dir
  const [only] = dir ?? []
  return dirs.size === 1 && dir?.length === 1 && typeof only === 'string' ? decodeBytes(only) : ''
}

function locationSite(app: AppDraft, base: Omit<SiteDraft, 'id' | 'label' | 'app' | 'files' | 'place'>): SiteDraft {
  return { ...base, id: app.id, label: app.id, app: app.dir, files: '', place: app.call.place }
}

/** Makes the sites of server blocks: blocks with one id are one site. */
export function siteDrafts(servers: readonly ServerDraft[]): SiteDraft[] {
  const groups = Map.groupBy(servers, ({ spec }) => spec.site)
  return [...groups].flatMap(([id, drafts]) => {
    const app = agreed(drafts, 'svc_app', (draft) => draft.app?.dir)
    const label = agreed(drafts, 'svc_label', ({ level }) => level.value(svcLabel)) ?? id
    const process = agreed(drafts, 'svc_process', ({ level }) => level.value(svcProcess)) ?? 'in-process'
    const tenant = agreed(drafts, 'svc_tenant', ({ level }) => level.value(svcTenant))
    const hostnames = [...new Set(drafts.flatMap(({ spec }) => spec.names.flatMap(plainHostnames)))]
    const place = drafts.find((draft) => draft.app !== undefined)?.app?.call.place ?? drafts[0]?.call.place
    if (place === undefined) return []
    const base = { hostnames, process, tenant }
    const own: SiteDraft = { ...base, id, label, app, files: filesOf(drafts), place }
    return [own, ...drafts.flatMap((draft) => draft.locationApps.map((location) => locationSite(location, base)))]
  })
}

/** A site of the config file. */
export interface TakenSite {
  readonly id: string
  readonly label: string
  readonly place: Place
}

/** Checks that no two sites have one id or label. */
export function checkSiteNames(drafts: readonly SiteDraft[], taken: readonly TakenSite[], problems: VhostProblems): void {
  const ids = new Map(taken.map(({ id, place }) => [id, place]))
  const labels = new Map(taken.map(({ label, place }) => [label, place]))
  for (const { id, label, place } of drafts) {
    const sameId = ids.get(id)
    const sameLabel = labels.get(label)
    if (sameId !== undefined) {
      problems.add(place, `site id "${id}" is already taken at ${formatPlace(sameId)}`, 'set another id with svc_site')
    } else if (sameLabel !== undefined) {
      problems.add(place, `label "${label}" is already taken at ${formatPlace(sameLabel)}`, 'set another label with svc_label')
    }
    ids.set(id, place)
    labels.set(label, place)
  }
}
