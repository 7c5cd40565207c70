export { startUws } from './start-engine.ts'
