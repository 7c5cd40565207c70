// Builds what runs inside every isolate: one classic script with prelude, registry, router and React, and a V8 snapshot of
// an isolate that has run it. Only esbuild runs in the calling process; the snapshot is made by the bundled Node.js, since
// a snapshot belongs to one version of V8.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = dirname(here)

/** Flags of every process that starts isolates: V8 compares them with those of the snapshot. */
export const isolateFlags = ['--no-node-snapshot']

/** The engine keeps a context only over promises of its own `then`: async functions become generators. */
const lowering = { 'async-await': false, 'async-generator': false, 'for-await': false }

const shared = {
  bundle: true,
  write: false,
  platform: 'neutral',
  mainFields: ['module', 'main'],
  target: 'es2023',
  // Shorter names make the snapshot a fifth smaller. What sites can see gets its name back where it is made public.
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
  define: { 'process.env.NODE_ENV': '"production"' },
}

/** Bundles React apart, because what it takes for globals (see globals.mjs) is not what a site finds. */
async function bundleReact(build) {
  const stubs = join(here, 'react/node-stubs.mjs')
  const result = await build({
    ...shared,
    entryPoints: [join(here, 'react/entry.mjs')],
    format: 'esm',
    conditions: ['bun'],
    alias: { util: stubs, stream: stubs, crypto: stubs },
    inject: [join(here, 'react/globals.mjs')],
  })
  return result.outputFiles[0].text
}

function reactPlugin(code) {
  return {
    name: 'svc-react',
    setup(build) {
      build.onResolve({ filter: /^svc:react$/ }, ({ path }) => ({ path, namespace: 'svc-react' }))
      build.onLoad({ filter: /.*/, namespace: 'svc-react' }, () => ({ contents: code, loader: 'js' }))
    },
  }
}

/** Returns the text of the guest script. */
export async function bundleGuest() {
  const { build } = await import('esbuild')
  const react = await bundleReact(build)
  const result = await build({
    ...shared,
    entryPoints: [join(root, 'src/main.ts')],
    format: 'iife',
    supported: lowering,
    plugins: [reactPlugin(react)],
    banner: { js: '"use strict";' },
  })
  return result.outputFiles[0].text
}

function run(command, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(chunks).toString())
      else reject(new Error(`making the snapshot failed (${signal ?? `exit code ${code}`})`))
    })
  })
}

/** Moves a finished file into place, so that a reader never sees half of one. */
async function replaceFile(path, content) {
  await writeFile(`${path}.tmp`, content)
  await rename(`${path}.tmp`, path)
}

/**
 * Writes `guest.js`, `guest.snapshot` and `guest.json` ({sha256, v8, flags}: what the snapshot was made of) to `outDir`.
 * @param {{ outDir: string, nodeBinary: string }} options nodeBinary: the Node.js that will run the isolates
 */
export async function buildGuest({ outDir, nodeBinary }) {
  await mkdir(outDir, { recursive: true })
  const code = await bundleGuest()
  const script = join(outDir, 'guest.js')
  const snapshot = join(outDir, 'guest.snapshot')
  await rm(join(outDir, 'guest.json'), { force: true })
  await replaceFile(script, code)
  const v8 = await run(nodeBinary, [...isolateFlags, join(here, 'make-snapshot.mjs'), script, `${snapshot}.tmp`])
  await rename(`${snapshot}.tmp`, snapshot)
  const sha256 = createHash('sha256').update(code).digest('hex')
  await replaceFile(join(outDir, 'guest.json'), `${JSON.stringify({ sha256, v8: v8.trim(), flags: isolateFlags }, null, 2)}\n`)
}
