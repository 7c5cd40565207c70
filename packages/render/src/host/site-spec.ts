import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { SiteConfig } from '@svc/config'
import type { HostSpec } from '@svc/protocol'
import type { ThreadBase } from '../contract/thread-messages.ts'
import type { EgressRules } from '../thread/egress/address-policy.ts'
import type { SiteSpec } from './site-runtime.ts'

function rulesFor(site: SiteConfig, { listen }: HostSpec): EgressRules {
  return {
    allow: site.fetch_allow,
    allowLocal: site.fetch_allow_local,
    own: listen.flatMap(({ host, port, socket }) =>
      socket === undefined ? [{ address: host.replace(/^\[|\]$/g, ''), port }] : [],
    ),
  }
}

/** What the threads of all sites of a generation have in common. */
export function threadBase({ config: { render } }: HostSpec, guestDir: string): ThreadBase {
  return { guestDir, timeoutMs: render.timeout_ms, memoryLimitMb: render.memory_limit_mb }
}

/** Derives from a generation how each of its sites is run, by site id. */
export function siteSpecs(generation: HostSpec, guestDir: string): Map<string, SiteSpec> {
  const { render, cache, scaling } = generation.config
  const cacheDirs = {
    modules: generation.moduleDir,
    index: join(cache.dir, 'compile'),
    bytecode: join(cache.dir, 'bytecode'),
  }
  const limits = {
    maxThreads: render.workers === 0 ? availableParallelism() : render.workers,
    concurrency: render.concurrency,
    queueMax: render.queue_max,
    idleMs: render.idle_secs * 1000,
  }
  const apps = generation.sites.filter((site) => site.has_app !== false)
  const specs = apps.map((site): [string, SiteSpec] => [
    site.id,
    {
      config: { id: site.id, root: site.root, public: site.public },
      limits,
      served: { id: site.id, label: site.label, timeoutMs: render.timeout_ms, swrMs: cache.isr.default_swr_ms },
      thread: {
        site: site.id,
        root: site.root,
        mode: site.mode,
        env: site.env,
        rules: rulesFor(site, generation),
        loopMark: { instanceId: scaling.instance_id, token: generation.loopToken },
        cacheDirs,
        ...threadBase(generation, guestDir),
      },
    },
  ])
  return new Map(specs)
}
