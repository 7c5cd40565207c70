export * from './compress-complete.ts'
export * from './compress-stream.ts'
export { type Encode, encodeWhole, type RealCoding } from './encoders.ts'
