// Fetches the public test suite for HTTP caches. It is no dependency, since it depends on npm itself; only files of it that
// import nothing from elsewhere are used.
import { join } from 'node:path'
import { fetchPackage, isFetched, modulesDir } from './pinned-package.mjs'

const suite = {
  name: 'http-cache-tests',
  version: '0.4.5',
  integrity: 'sha512-DjuwN9nUZXLTW+wav1LRESCZNVxl8SshwOy4z1pxuWbWt5/ay6sM9QQ1lebBaDO6P1IMBoK6mdf+PuVP/QNL8A==',
}

/** Resolves with the directory of the suite; rejects when it cannot be fetched. */
export async function fetchSuite() {
  const target = join(modulesDir, '.cache', suite.name)
  if (!(await isFetched(suite, target))) await fetchPackage(suite, target)
  return target
}
