// Makes a snapshot of an isolate that has run the guest script, and tries it. Runs in a process of its own: a fault of
// `createSnapshot` ends the process.
//
//   node --no-node-snapshot make-snapshot.mjs <guest.js> <out>      prints the version of V8
import { readFile, writeFile } from 'node:fs/promises'
import ivm from 'isolated-vm'

const [scriptPath, outPath] = process.argv.slice(2)
const code = await readFile(scriptPath, 'utf8')

/** An isolate from the snapshot must define the API, answer a request and know React. */
async function smokeTest(snapshot) {
  const isolate = new ivm.Isolate({ memoryLimit: 64, snapshot })
  try {
    const context = await isolate.createContext()
    const emitted = []
    const install = `
      const callbacks = { emit: $0, call: $1, setTimer: $1, clearTimer: $1, log: $1, randomBytes: $1 }
      __svc.install(callbacks)
      __svc.configure('{"site":"smoke","mode":"production","env":{}}')
      __svc.define('/smoke.js', 'esm', '{"react":"builtin:react"}', (load, exports) => {
        exports.config = { react: typeof load('react').createElement, url: new URL('/b?c', 'http://a').href }
      })
      __svc.begin(1, 'inspect', '', '{"modules":["/smoke.js"]}')`
    const emit = new ivm.Callback((_number, _kind, json) => void emitted.push(json))
    await context.evalClosure(install, [emit, new ivm.Callback(() => undefined)], { timeout: 5000 })
    const facts = JSON.parse(emitted[0])
    const { react, url } = facts.modules?.['/smoke.js']?.config ?? {}
    if (react !== 'function' || url !== 'http://a/b?c') throw new Error(`the snapshot does not work: ${emitted[0]}`)
  } finally {
    isolate.dispose()
  }
}

const snapshot = ivm.Isolate.createSnapshot([{ code, filename: 'guest.js' }])
await smokeTest(snapshot)
await writeFile(outPath, Buffer.from(snapshot.copy()))
process.stdout.write(process.versions.v8)
