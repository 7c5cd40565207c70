export * from './file-handler.ts'
export * from './file-source.ts'
export * from './static-files.ts'
export type { StaticResource } from './variant.ts'
