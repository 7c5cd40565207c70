export * from './compress.ts'
export { type Encode, encodeWhole, type RealCoding } from './encoders.ts'
