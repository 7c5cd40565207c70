// The caches on disk, apart from the compiler: the host process works on them and never loads the resolver.
export { forgetModules, moduleFilter } from './forget-modules.ts'
export { ImportGraph } from './import-graph.ts'
export { ModuleCache, type ModuleCacheDirs } from './module-cache.ts'
export { type PruneReport, pruneCache } from './prune-cache.ts'
