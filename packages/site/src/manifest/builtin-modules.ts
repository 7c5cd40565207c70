/**
 * Specifiers of the modules that the server provides to a site. The resolver maps each to `builtin:<specifier>` without looking at
 * the disk, and the isolate has the module.
 */
export const builtinModules: readonly string[] = [
  'react',
  'react/jsx-runtime',
  'react/jsx-dev-runtime',
  'react/compiler-runtime',
  'react-dom',
  'react-dom/client',
  ...['', '.edge', '.browser', '.node', '.bun'].map((build) => `react-dom/server${build}`),
  'server-only',
  'client-only',
  ...['navigation', 'headers', 'cache', 'server', 'link', 'image', 'script'].flatMap((name) => [`svc/${name}`, `next/${name}`]),
  'node:async_hooks',
  'async_hooks',
  'node:buffer',
  'buffer',
  'node:events',
  'events',
  'node:path',
  'path',
  'node:url',
  'url',
  'node:util',
  'util',
  'node:process',
  'process',
]
