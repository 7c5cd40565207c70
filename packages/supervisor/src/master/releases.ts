import type { CloseStack } from '@svc/core'
import type { Overrides } from '../overrides/overrides.ts'
import { deployableSite } from '../releases/deployable-site.ts'
import { ReleaseRecords } from '../releases/release-records.ts'
import { Releases } from '../releases/releases.ts'
import { Unpacking } from '../releases/unpack/unpacking.ts'
import { Uploads } from '../releases/uploads.ts'
import type { Reloader } from '../reload/reloader.ts'
import type { GenerationAccess, MasterDeps, MasterParts } from './parts.ts'
import { type RenderHosts, tryOut } from './render-hosts.ts'

/** Dependencies of the releases of an instance. */
interface ReleaseParts {
  readonly deps: MasterDeps
  readonly access: GenerationAccess
  readonly overrides: Overrides
  readonly stack: CloseStack
}

/** The releases of sites, and the archives that they come from. */
export async function makeReleases(
  { deps, access, overrides, stack }: ReleaseParts,
  reloader: Reloader,
  hosts: RenderHosts,
): Promise<Pick<MasterParts, 'releases' | 'uploads'>> {
  const { clock, logger, options } = deps
  const spec = access.get
  const now = () => clock.now()
  const stateDir = spec().config.server.state_dir
  const unpacking = new Unpacking(options.programs.unpack)
  stack.push('unpacking', () => unpacking.close())
  const releases = new Releases({
    unpacking,
    records: await ReleaseRecords.open(stateDir, logger),
    overrides,
    reloader,
    spec,
    tryOut: (site) => tryOut(hosts, spec(), site, logger),
    now,
    logger,
  })
  await releases.tidy()
  const uploads = await Uploads.open({
    stateDir,
    maxBytes: () => spec().config.deploy.max_bytes,
    site: (id) => deployableSite(spec().sites, id),
    now,
    logger,
  })
  return { releases, uploads }
}
