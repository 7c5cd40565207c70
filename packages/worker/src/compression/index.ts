export * from './compress-complete.ts'
export * from './compress-stream.ts'
