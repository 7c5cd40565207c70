import './context/install.ts'
import type { GuestApi, GuestSettings } from './contract/isolate.ts'
import { installHost, setGuestSettings } from './host/host.ts'
import { settleCall } from './host/host-calls.ts'
import { installLoweringHelpers } from './lowering/helpers.ts'
import { installPrelude } from './prelude/install.ts'
import { installFromAsync, installMemoryGuards } from './prelude/late-builtins.ts'
import { setEnvironment } from './prelude/node/process.ts'
import { startPerformanceClock } from './prelude/time/performance.ts'
import { fireTimers } from './prelude/time/timers.ts'
import { registerReact } from './react/react-builtins.ts'
import { registerNodeBuiltins } from './registry/node-builtins.ts'
import { defineModule, evictModules } from './registry/registry.ts'
import {
  abortRequest,
  beginRequest,
  defineRoute,
  forgetRoutes,
  holdRequest,
  resumeRequest,
  takeBodyChunk,
} from './request/requests.ts'
import { installRouter } from './router/install.ts'

const api: GuestApi = {
  install(callbacks) {
    // V8 adds its newest built-ins to each context after the snapshot: what replaces or removes them comes later still.
    installMemoryGuards()
    installFromAsync()
    installHost(callbacks)
    startPerformanceClock()
  },
  configure(settingsJson) {
    const settings = JSON.parse(settingsJson) as GuestSettings
    setGuestSettings(settings)
    setEnvironment(settings.env)
  },
  define: (id, format, dependenciesJson, source) => defineModule(id, format, JSON.parse(dependenciesJson), source),
  defineRoute: (routeJson) => defineRoute(JSON.parse(routeJson)),
  forgetRoutes,
  evict: (idsJson) => evictModules(JSON.parse(idsJson)),
  begin: beginRequest,
  bodyChunk: takeBodyChunk,
  abort: abortRequest,
  resume: resumeRequest,
  hold: holdRequest,
  fire: fireTimers,
  settle: settleCall,
}

installLoweringHelpers()
installPrelude()
registerReact()
registerNodeBuiltins()
installRouter()

// The thread takes it from here and deletes the name before any code of the site runs.
Object.defineProperty(globalThis, '__svc', { value: Object.freeze(api), writable: false, enumerable: false, configurable: true })
