import { type Comparison, compare } from '../lib/compare.ts'
import type { Row } from '../lib/table.ts'
import { rowsSite, startSvc, writeConfig } from '../peers/svc.ts'
import { BROWSER_FIELDS } from './l0.ts'

const CONNECTIONS = 32
const HOST = 'rows.localhost'

const ALL_PACKS = `[waf.packs]\n${['traversal', 'sqli', 'xss', 'scanner', 'protocol'].map((name) => `${name} = "block"\n`).join('')}`
const TRAVERSAL = '[waf.packs]\ntraversal = "block"\n'

function rules(conditions: readonly string[]): string {
  return conditions.map((when, at) => `[[waf.rules]]\nid = "r${at}"\naction = "block"\nwhen = { ${when} }\n`).join('')
}

/** Rules that no request of the load matches, on what L0 tells apart. */
const pathConditions = [
  ...[
    'wp-login',
    'xmlrpc',
    'phpmyadmin',
    'cgi-bin',
    'actuator',
    'vendor/phpunit',
    'solr',
    'console',
    'backup',
    'server-status',
  ].map((name) => `path = "(?i)^/${name}"`),
  ...['\\\\.(env|git|svn)(/|$)', '\\\\.(bak|old|orig|swp)$'].map((pattern) => `path = "${pattern}"`),
  ...['(?i)union.*select', '(?i)<script', 'cmd=', '(?i)base64_decode', '\\\\.\\\\./'].map((pattern) => `query = "${pattern}"`),
  ...['TRACE', 'CONNECT', 'PROPFIND'].map((name) => `method = "^${name}$"`),
]
/** The same number of rules, five of them on fields: L0 stores nothing. */
const fieldConditions = [
  ...pathConditions.slice(0, 15),
  'user_agent = "(?i)(badbot|scrapy|httpclient)"',
  'user_agent = "^$"',
  'header = { referer = "(?i)casino|poker" }',
  'header = { x-forwarded-host = "." }',
  'header = { cookie = "(?i)admin=true" }',
]

function compareGuarded(
  comparison: Pick<Comparison, 'scenario'>,
  extra: string,
  guards: Readonly<Record<string, string>>,
  seconds: number,
): Promise<Row[]> {
  const sites = [{ id: 'rows', root: rowsSite }]
  const contenders = Object.entries(guards).map(([name, waf], at) => ({
    name,
    host: HOST,
    start: () => startSvc(writeConfig(`waf-${at}`, sites, `${extra}${waf}`)),
  }))
  const request = { path: '/kept', headers: BROWSER_FIELDS, seconds, connections: CONNECTIONS }
  return compare({ ...comparison, ...request, contenders })
}

/** A stored page of 100 rows for a browser, past L0. */
export function isrGuarded(seconds: number): Promise<Row[]> {
  const guards = { 'no firewall': '', 'all packs': ALL_PACKS, '20 rules': rules(fieldConditions) }
  return compareGuarded({ scenario: 'stored page, firewall' }, '[cache.l0]\nenabled = false\n', guards, seconds)
}

/** The same page with L0 on, which the pack `traversal` and rules on path, query and method leave in use. */
export function l0Guarded(seconds: number): Promise<Row[]> {
  const guards = {
    'no firewall': '',
    'pack traversal': TRAVERSAL,
    '20 rules on path, query, method': rules(pathConditions),
    'all packs': ALL_PACKS,
  }
  return compareGuarded({ scenario: 'L0 hit, firewall' }, '', guards, seconds)
}
