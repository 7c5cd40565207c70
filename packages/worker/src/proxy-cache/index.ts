export * from './location-cache.ts'
export * from './worker-proxy-cache.ts'
