// Reports why the service cannot run here. Written in syntax that old versions of Node can parse too.
import { existsSync } from 'node:fs'

const OLDEST_NODE = 20
const EXIT_UNAVAILABLE = 69
/** Loader of glibc for the bundled Node.js, by supported CPU. */
const loaders = { x64: '/lib64/ld-linux-x86-64.so.2', arm64: '/lib/ld-linux-aarch64.so.1' }
const remedy = 'use one of these, or a container with one, e.g. of the image debian:stable-slim'

function libcProblem(loader) {
  // Without this the report looks up names in the network.
  process.report.excludeNetwork = true
  const isGlibc = process.report.getReport().header.glibcVersionRuntime !== undefined
  return isGlibc && existsSync(loader) ? undefined : 'Linux without glibc (as Alpine, which has musl)'
}

function platformProblem() {
  const loader = loaders[process.arch]
  if (process.platform !== 'linux') return `${process.platform} on ${process.arch}`
  return loader === undefined ? `Linux on ${process.arch}` : libcProblem(loader)
}

/** Exits with an error and advice if the service cannot be installed or built here. */
export function requirePlatform() {
  const platform = platformProblem()
  const isOld = Number(process.versions.node.split('.')[0]) < OLDEST_NODE
  if (platform === undefined && !isOld) return
  const sentence =
    platform === undefined
      ? `Node.js ${process.versions.node} is too old to install or build with: use ${OLDEST_NODE} or newer`
      : `${platform} is not supported: it runs on Linux with glibc on x64 and arm64; ${remedy}`
  console.error(`svc: ${sentence}`)
  process.exit(EXIT_UNAVAILABLE)
}
