export * from './errors/errors.ts'
export * from './redis-client.ts'
export * from './redis-url.ts'
