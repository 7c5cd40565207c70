// The start of each program in dist/: loads its scripts, which script-form.mjs has made of modules, and keeps their compiled code once
// they have run, with the functions that were called. A start of the service compiles most of what it runs otherwise: a quarter of its
// processor time. The build writes a copy of this module for each program, with its name and the version of its build.
/**
 * The limit of the heap counts from the start of the process. As long as its flag is set, V8 refuses the compiled code that Node.js has
 * of its own modules: a fifth of the time that a short program takes.
 */
const HEAP_LIMIT = '--max-old-space-size='
if (process.execArgv.some((flag) => flag.startsWith(HEAP_LIMIT)))
  process.getBuiltinModule('node:v8').setFlagsFromString(`${HEAP_LIMIT}0`)

const { fsyncSync, mkdirSync, openSync, readFileSync, closeSync, renameSync, unlinkSync, writeFileSync } =
  process.getBuiltinModule('node:fs')
const { Script } = process.getBuiltinModule('node:vm')
const { createRequire } = process.getBuiltinModule('node:module')
const { fileURLToPath } = process.getBuiltinModule('node:url')
const { isModuleNamespaceObject } = process.getBuiltinModule('node:util').types
const { threadId } = process.getBuiltinModule('node:worker_threads')

/** The master is a command that runs other functions than the rest: it keeps its own. */
const program = process.argv[2] === 'serve' ? '__PROGRAM__-serve' : '__PROGRAM__'
const version = '__VERSION__'
const directory = fileURLToPath(new URL('.', import.meta.url))
/** A build empties it. Without it nothing is kept. */
const cacheDirectory = process.env.NODE_COMPILE_CACHE
const require = createRequire(import.meta.url)
const loaded = new Map()
/** Scripts whose compiled code was not there, or not of this version of V8. */
const compiled = []

/**
 * Where V8 notes the flags that the code depends on. A worker sets some after its start; code is read with those of the start, so
 * it is kept with them.
 */
const FLAGS = { start: 12, end: 16 }
const flagsAtStart = new Script('0').createCachedData().subarray(FLAGS.start, FLAGS.end)

function cachedCode(file) {
  try {
    return readFileSync(file)
  } catch {
    // Not kept yet, or not readable for this user: it is compiled.
    return undefined
  }
}

function run(name, path) {
  const file = `${directory}${path}`
  const { href: url } = new URL(path, import.meta.url)
  const cacheFile = cacheDirectory === undefined ? undefined : `${cacheDirectory}/${program}-${version}-${name}`
  const cachedData = cacheFile === undefined ? undefined : cachedCode(cacheFile)
  // The bundles are ASCII.
  const script = new Script(readFileSync(file, 'latin1'), { filename: url, cachedData })
  if (cacheFile !== undefined && (cachedData === undefined || script.cachedDataRejected)) compiled.push({ script, cacheFile })
  const meta = { url, filename: file, resolve: (specifier) => import.meta.resolve(specifier) }
  return script.runInThisContext()({ ...given, __meta: meta })
}

function load(name) {
  if (!loaded.has(name)) loaded.set(name, run(name, `chunks/${name.replace(/js$/, 'cjs')}`))
  return loaded.get(name)
}

/** A default import of a package: of one in CommonJS form it is the package itself. */
function defaultOf(module) {
  return isModuleNamespaceObject(module) ? module.default : module
}

/** The names that script-form.mjs writes, with those of one script. */
const given = {
  require,
  __load: load,
  __builtin: process.getBuiltinModule,
  __import: (specifier) => import(specifier),
  __default: defaultOf,
}

function keep({ script, cacheFile }) {
  const data = script.createCachedData()
  flagsAtStart.copy(data, FLAGS.start)
  const partial = `${cacheFile}.${process.pid}-${threadId}`
  try {
    mkdirSync(cacheDirectory, { recursive: true })
    const fd = openSync(partial, 'w', 0o644)
    try {
      writeFileSync(fd, data)
      // V8 checks the length of the data, not each byte: after a power failure the file must be whole or not there.
      fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    renameSync(partial, cacheFile)
  } catch {
    // The directory is not writable, or the disk is full: only speed is lost.
    try {
      unlinkSync(partial)
    } catch {
      // It was never made.
    }
  }
}

function keepCompiledCode() {
  for (const one of compiled.splice(0)) keep(one)
}

// For programs that are killed in the end: see keepCompiledCode in packages/core.
globalThis[Symbol.for('svc.keepCompiledCode')] = keepCompiledCode
process.on('exit', keepCompiledCode)

export default run('main', '__MAIN__').default
