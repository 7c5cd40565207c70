export {
  type ClientCheck,
  type ConfigProblem,
  defaultServer,
  directiveTable,
  EARLY_FAULTS,
  type EngineName,
  formatProblem,
  hasEarlyPage,
  plainHostnames,
  type ServerSpec,
  settingsOfServer,
  type WebSpec,
} from '@svc/vhosts'
export { certificatePlaces, certificateUses } from './certificates/certificate-uses.ts'
export { coversName } from './certificates/load-certificates.ts'
export {
  type CertificateFiles,
  certificateKey,
  type LoadedCertificate,
  readCertificate,
} from './certificates/read-certificate.ts'
export { type ConfigValue, changedValues, configValues } from './config-values.ts'
export * from './diff.ts'
export { configToml } from './generate/config-toml.ts'
export { exampleToml } from './generate/example-toml.ts'
export { schemaJson } from './generate/json-schema.ts'
export { referenceMarkdown } from './generate/reference.ts'
export { type EnvSources, moveSite } from './load/build-sites.ts'
export { type ConfigSource, candidateFiles, findConfigFile } from './load/config-source.ts'
export { addressOfListenName, engineOf, type ListenName } from './load/listen-names.ts'
export { type LoadedConfig, type LoadResult, loadConfig } from './load/load-config.ts'
export type { PluginSet, PluginSpec } from './load/load-plugins.ts'
export { findRunDirectory } from './load/run-directory.ts'
export { deriveRequests } from './moving/derived-requests.ts'
export { readVhosts, reportVhosts, type VhostReport } from './moving/vhost-report.ts'
export { redact } from './redact.ts'
export { type MachineProperties, workerCount } from './schema/computed-defaults.ts'
export { OWN_NAME, socketDirectory } from './schema/directories.ts'
export { type Config, hasApp, type RouteRule, type SiteConfig, type WafRule } from './schema/types.ts'
export { readWafRule } from './schema/waf-rule.ts'
export type { Origin } from './source/document.ts'
export { doAddressesOverlap, type HostPort, parseListenAddress } from './values/addresses.ts'
export { type KeyPath, valueAt } from './values/key-path.ts'
export { readRuleUpstream } from './values/rule-upstream.ts'
export { parseSchedule, type Schedule } from './values/schedule.ts'
export { patternsOf, rulesProblem, tenantRulesProblem } from './values/waf-pattern.ts'
