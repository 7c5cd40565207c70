// Fetches the packages that npm leaves out when it runs on another Node than the one the service ships.
//
// npm skips an optional dependency whose `engines` exclude npm's own Node. The service never runs on that Node but on
// the bundled one, so exactly those versions are fetched here with `npm pack`, checked against a pinned hash and unpacked.
import { join } from 'node:path'
import { requirePlatform } from './platform.mjs'

/** Packages for the bundled Node 22, with the sha512 of their tarballs in subresource-integrity form. */
const pinned = [
  {
    name: 'isolated-vm',
    version: '6.2.0',
    integrity: 'sha512-UuSlxSHWt2QuJ5WvBhzlIJx2VVZN/a44SqBbEZFKNdvuSyhOvhmyDo8SQ+njVbhnh/njoL/aW0bUTiFYlpweGQ==',
    isFor: () => process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch),
  },
  {
    name: '@uwsjs/linux-x64-22',
    version: '20.51.4',
    integrity: 'sha512-oGfpSkeEV/CCgJpmKNYV8uTvS1jk6TZw4cZ82eR1ZVk9jrJI2sL/wb/Vvw0tqx3GFsprNFLPwVXVS0BMdMyNwg==',
    isFor: () => process.platform === 'linux' && process.arch === 'x64',
  },
]

requirePlatform()
// Not read before the version of Node is known to be able to.
const { fetchPackage, isFetched, modulesDir } = await import('./pinned-package.mjs')

async function fetchMissing(pin) {
  const target = join(modulesDir, pin.name)
  if (!pin.isFor() || (await isFetched(pin, target))) return
  try {
    await fetchPackage(pin, target)
    console.log(`fetched ${pin.name}@${pin.version} for the bundled Node`)
  } catch (error) {
    console.error(`failed to fetch ${pin.name}@${pin.version}: ${error.message}`)
    console.error('check the network or proxy settings of npm and run `npm install` again')
    process.exitCode = 1
  }
}

await Promise.all(pinned.map(fetchMissing))
