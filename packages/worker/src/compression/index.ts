export { fieldOf } from './coding-choice.ts'
export * from './compress.ts'
export * from './compression-terms.ts'
export { type Encode, encodeWhole, type RealCoding } from './encoders.ts'
