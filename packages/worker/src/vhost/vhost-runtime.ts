import { Pacer, RecentWeakMap, systemClock } from '@svc/core'
import type { ServerSpec } from '@svc/vhosts'
import { WorkerError } from '../errors/errors.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { FileHandler } from '../static/index.ts'
import { type CompiledServer, compileServer } from './compiled-server.ts'
import type { LocationHandlers } from './location-handler.ts'
import type { WorkerLimits } from './location-limits.ts'
import { MediaTypeTables } from './media-types.ts'
import { FileAuth } from './passwords/file-auth.ts'
import { PasswordCheck } from './passwords/password-check.ts'
import { PasswordThread } from './passwords/password-thread.ts'
import type { VhostTools } from './phase-run.ts'
import { StubStatus } from './stub-status.ts'
import { Subrequests } from './subrequest-context.ts'
import { Templates } from './templates.ts'
import { WebFiles } from './web-files.ts'

/** The servers of one generation. */
export class VhostRuntime {
  readonly tools: VhostTools
  readonly #servers: ReadonlyMap<ServerSpec, CompiledServer>

  constructor(tools: VhostTools, servers: ReadonlyMap<ServerSpec, CompiledServer>) {
    this.tools = tools
    this.#servers = servers
  }

  /** @throws WORKER_NOT_PREPARED for a server of another generation */
  server(spec: ServerSpec): CompiledServer {
    return this.#servers.get(spec) ?? notPrepared()
  }
}

/** Dependencies of the servers of vhost files. */
interface VhostOptions {
  /** Program of the thread that checks passwords. */
  readonly passwordThread: URL
  readonly limits: WorkerLimits
  /** Reads the metrics of all workers, for `stub_status`. */
  readonly metrics: () => Promise<string>
  readonly onProblem: (error: Error) => void
}

/** The servers of all generations that have requests. */
export class VhostRuntimes {
  /** Known facts of files and passwords, which no reload changes. */
  readonly #shared: Omit<VhostTools, 'templates'>
  readonly #runtimes = new RecentWeakMap<ServingGeneration, VhostRuntime>()

  constructor({ passwordThread, limits, metrics, onProblem }: VhostOptions) {
    this.#shared = {
      limits,
      stubStatus: new StubStatus(metrics, systemClock),
      subrequests: new Subrequests(),
      onProblem,
      files: new WebFiles(onProblem),
      fileHandler: new FileHandler({ onProblem }),
      basicAuth: new FileAuth(new PasswordCheck(new PasswordThread(passwordThread), systemClock)),
    }
  }

  /** Compiles the servers of a generation, with the handlers of their locations. Does not block the process. @throws the fault of a server */
  async prepare(generation: ServingGeneration, handlers: LocationHandlers): Promise<void> {
    const { servers, limitZones, typeTables } = generation.spec.web
    const templates = new Templates(generation.spec.web)
    const types = new MediaTypeTables(typeTables)
    const zones = new Map(limitZones.map((zone) => [zone.name, zone]))
    const tools = { templates, handlers, files: this.#shared.files, types, zones, realIps: new Map() }
    const compiled = new Map<ServerSpec, CompiledServer>()
    const pacer = new Pacer()
    for (const spec of servers) {
      compiled.set(spec, compileServer(spec, tools))
      if (pacer.isDue) await pacer.rest()
    }
    this.#runtimes.set(generation, new VhostRuntime({ ...this.#shared, templates }, compiled))
  }

  /** @throws WORKER_NOT_PREPARED */
  of(generation: ServingGeneration): VhostRuntime {
    return this.#runtimes.get(generation) ?? notPrepared()
  }
}

function notPrepared(): never {
  throw new WorkerError('WORKER_NOT_PREPARED', 'the servers of this generation were not prepared')
}
