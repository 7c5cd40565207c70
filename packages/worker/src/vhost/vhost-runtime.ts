import { Pacer, RecentWeakMap, systemClock } from '@svc/core'
import type { LocationSettings, ServerSpec } from '@svc/vhosts'
import { WorkerError } from '../errors/errors.ts'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { FileAnswerer } from '../static/index.ts'
import type { LocationHandlers } from './compiled-server.ts'
import { type CompiledServer, compileServer } from './compiled-server.ts'
import type { LocationHandler } from './location-handler.ts'
import { FileAuth } from './passwords/file-auth.ts'
import { PasswordCheck } from './passwords/password-check.ts'
import { PasswordThread } from './passwords/password-thread.ts'
import type { VhostTools } from './phase-run.ts'
import { Templates } from './templates.ts'
import { WebFiles } from './web-files.ts'

/** State shared by the servers of all generations. */
interface VhostParts {
  readonly basicAuth: FileAuth
  readonly handlersFor: (generation: ServingGeneration) => LocationHandlers
  readonly onProblem: (error: Error) => void
}

/** The servers of one generation, compiled when they are prepared or first used. */
export class VhostRuntime {
  readonly tools: VhostTools
  readonly #specs: readonly ServerSpec[]
  readonly #handlersFor: () => LocationHandlers
  /** Made at the first request that needs them: making them takes the upstreams over from the generation before. */
  #handlers: LocationHandlers | undefined
  readonly #contents = new WeakMap<LocationSettings, LocationHandler>()
  readonly #servers = new RecentWeakMap<ServerSpec, CompiledServer>()

  constructor(generation: ServingGeneration, parts: VhostParts, files: SharedFiles) {
    this.#specs = generation.spec.web.servers
    this.#handlersFor = () => parts.handlersFor(generation)
    this.tools = { templates: new Templates(generation.spec.web.maps), basicAuth: parts.basicAuth, ...files }
  }

  /** Makes the content for settings that belong to no server. */
  handlerOf(settings: LocationSettings): LocationHandler {
    let handler = this.#contents.get(settings)
    if (handler === undefined) {
      handler = this.#contentHandlers.make(settings)
      this.#contents.set(settings, handler)
    }
    return handler
  }

  server(spec: ServerSpec): CompiledServer {
    let server = this.#servers.get(spec)
    if (server === undefined) {
      server = compileServer(spec, this.tools.templates, { make: (settings) => this.#contentHandlers.make(settings) })
      this.#servers.set(spec, server)
    }
    return server
  }

  /** Compiles all servers. Does not block the process. @throws the fault of a server */
  async prepare(): Promise<void> {
    const pacer = new Pacer()
    for (const spec of this.#specs) {
      this.server(spec)
      if (pacer.isDue) await pacer.rest()
    }
  }

  get #contentHandlers(): LocationHandlers {
    this.#handlers ??= this.#handlersFor()
    return this.#handlers
  }
}

/** Known facts of files, which no reload changes. */
type SharedFiles = Pick<VhostTools, 'files' | 'answerer'>

/** The servers of all generations that have requests. */
export class VhostRuntimes {
  readonly #parts: VhostParts
  readonly #files: SharedFiles
  readonly #runtimes = new RecentWeakMap<ServingGeneration, VhostRuntime>()

  constructor(parts: VhostParts) {
    this.#parts = parts
    const { onProblem } = parts
    this.#files = { files: new WebFiles(onProblem), answerer: new FileAnswerer({ onProblem }) }
  }

  /** Compiles the servers of a generation that is about to take over. */
  prepare(generation: ServingGeneration): Promise<void> {
    return this.of(generation).prepare()
  }

  of(generation: ServingGeneration): VhostRuntime {
    let runtime = this.#runtimes.get(generation)
    if (runtime === undefined) {
      runtime = new VhostRuntime(generation, this.#parts, this.#files)
      this.#runtimes.set(generation, runtime)
    }
    return runtime
  }
}

/** Dependencies of the servers of vhost files. */
interface VhostOptions extends Omit<VhostParts, 'basicAuth'> {
  /** Program of the thread that checks passwords. */
  readonly passwordThread: URL
}

/** Makes the servers of all generations. */
export function createVhosts({ passwordThread, ...parts }: VhostOptions): VhostRuntimes {
  const basicAuth = new FileAuth(new PasswordCheck(new PasswordThread(passwordThread), systemClock))
  return new VhostRuntimes({ ...parts, basicAuth })
}

/** Answers 502 for content that this server cannot make. */
export const noHandlers: LocationHandlers = {
  make: ({ content }) => ({
    handle(exchange) {
      exchange.context.reportFailure(new WorkerError('WORKER_NO_CONTENT', `no handler for content "${content.kind}"`), 502)
      exchange.fail(502)
    },
  }),
}
