export { runSiteUnit } from './site-unit.ts'
