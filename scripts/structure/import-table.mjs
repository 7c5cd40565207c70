/**
 * The packages that each package may import. A package on the list of types is imported with `import type` alone: the importer
 * does not run its code. A package on the list of late ones is imported with `import()` alone: most runs of the importer do without
 * it. docs/architecture.md explains the table.
 */
export const importTable = {
  core: { code: [] },
  http: { code: ['core'] },
  telemetry: { code: ['core'] },
  redis: { code: ['core'] },
  auth: { code: ['core', 'http'] },
  cache: { code: ['core', 'http', 'telemetry'] },
  site: { code: ['core', 'http'] },
  vhosts: { code: ['core', 'http'] },
  config: { code: ['core', 'http', 'vhosts'] },
  protocol: { code: ['core'], types: ['config', 'http', 'cache'] },
  engine: { code: ['core', 'http', 'telemetry'] },
  upstream: { code: ['core', 'http', 'telemetry'] },
  compile: { code: ['core', 'site'] },
  guest: { code: ['core'], types: ['site'] },
  render: { code: ['core', 'http', 'telemetry', 'protocol', 'site', 'compile', 'guest', 'cache'], types: ['config'] },
  admin: { code: ['core', 'http', 'protocol', 'auth', 'telemetry'] },
  // It runs in browsers.
  panel: { code: [], types: ['protocol'] },
  worker: {
    code: [
      'core',
      'http',
      'telemetry',
      'auth',
      'cache',
      'site',
      'vhosts',
      'config',
      'protocol',
      'engine',
      'upstream',
      'admin',
      'redis',
    ],
  },
  processes: { code: ['core', 'config', 'telemetry', 'protocol', 'cache'] },
  supervisor: { code: ['core', 'config', 'http', 'telemetry', 'protocol', 'auth', 'site', 'cache', 'processes', 'redis'] },
  'site-unit': { code: ['core', 'config', 'telemetry', 'protocol', 'cache', 'processes'] },
  // A command loads what it needs: the code of the server takes as much time as the rest of a start.
  cli: { code: ['core', 'protocol', 'http'], late: ['config', 'auth', 'site', 'admin', 'redis', 'supervisor', 'site-unit'] },
}
