// Compiled modules and their caches on disk, apart from the compiler: render hosts work on them and never load the resolver.
export type { CompiledSource } from './compile-source.ts'
export { type CompiledModule, ResolvedModule } from './compiled-module.ts'
export { CompileError } from './errors.ts'
export { forgetModules, moduleFilter } from './forget-modules.ts'
export { ImportGraph } from './import-graph.ts'
export { formatSource, ModuleCache, type ModuleCacheDirs, StoredSource } from './module-cache.ts'
export { hasBytecode, scriptOf } from './module-kind.ts'
export { type PruneReport, pruneCache } from './prune-cache.ts'
