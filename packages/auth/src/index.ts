export * from './loopback.ts'
