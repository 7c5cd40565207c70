export * from './errors.ts'
export * from './static-files.ts'
