export type { ModuleFormat } from './module-kind.ts'
export { SiteCompiler } from './site-compiler.ts'
export { EMPTY_MODULE, SiteResolver } from './site-resolver.ts'
export type { SourcePosition, SourceProblem } from './source-problem.ts'
