export * from './contract/emitted-error.ts'
export * from './contract/isolate.ts'
export * from './contract/log-rate.ts'
