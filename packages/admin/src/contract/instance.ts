import type {
  ConfigValuePage,
  ConfigValueQuery,
  ConfigVerdict,
  Override,
  ReloadPreview,
  ReloadReport,
  StatusReport,
} from '@svc/protocol'

/** The instance as a whole. All reject if the master is unreachable, or with its error. */
export interface Instance {
  status(): Promise<StatusReport>
  /** Puts the configuration of the files into service. Resolves also when that fails: the report has the errors. */
  reload(): Promise<ReloadReport>
  /** The effective configuration, secrets as `***`. */
  config(): Promise<object>
  /** The values in service with their sources, a page of them. */
  values(query: ConfigValueQuery): Promise<ConfigValuePage>
  /** The changes that a reload would make now, or its errors. Changes nothing. */
  preview(): Promise<ReloadPreview>
  /** Values that were set at run time, in place of those of the configuration. */
  overrides(): Promise<readonly Override[]>
  /** Validates a text as the content of the config file. Changes nothing. @throws SUP_CONFIG_CHECK */
  check(toml: string): Promise<ConfigVerdict>
}
