import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Config, SiteConfig, WafRule } from '@svc/config'
import { codeOf, Gate } from '@svc/core'
import { LinearPattern } from '@svc/http'
import type { GenerationSpec, ReloadReport, WafRuleOrder } from '@svc/protocol'
import { createLogger } from '@svc/telemetry'
import { tempDir } from '@svc/testkit'
import { removeWafRule, setWafMode, setWafRule } from '../src/master/waf.ts'
import { Overrides } from '../src/overrides/overrides.ts'
import type { Overridable } from '../src/overrides/setting.ts'

const sites = [
  { id: 'shop', tenant: 'acme' },
  { id: 'blog', tenant: 'acme' },
  { id: 'news', tenant: 'globex' },
] as unknown as readonly SiteConfig[]

const ofFile: WafRule = { id: 'of-file', action: 'block', when: { path: '^/b' } }

/** A master's firewall with real overrides, on a configuration with one rule. */
class Firewall {
  spec: GenerationSpec
  overrides!: Overrides
  /** Lines of the log. */
  readonly log: Record<string, unknown>[] = []
  readonly wafChanges = new Gate(1)
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
    const config = { env: {}, sites: [], tasks: [], waf: { mode: 'block', packs: {}, rules: [ofFile] } } as unknown as Config
    this.spec = { config, sites, web: { upstreams: [] } } as unknown as GenerationSpec
  }

  /** Starts with the overrides that a directory has. */
  static async start(dir: string): Promise<Firewall> {
    const firewall = new Firewall(dir)
    const logger = createLogger({
      level: 'info',
      format: 'json',
      base: {},
      destination: { write: (line) => void firewall.log.push(JSON.parse(line)) },
    })
    firewall.overrides = await Overrides.open({ stateDir: dir, logger, now: () => 0, variables: {} })
    firewall.spec = await firewall.overrides.apply({ ...firewall.spec, secretNames: [] })
    await firewall.overrides.settle(firewall.spec)
    return firewall
  }

  get rules(): string[] {
    return this.spec.config.waf.rules.map(({ id }) => id)
  }

  get parts(): Parameters<typeof setWafRule>[0] {
    const { overrides, wafChanges, change } = this
    return { overrides, wafChanges, spec: () => this.spec, reloader: { change } as Parameters<typeof setWafRule>[0]['reloader'] }
  }

  readonly change = async (edit: <T extends Overridable>(served: T) => Promise<T>): Promise<ReloadReport> => {
    this.spec = await edit(this.spec)
    return { ok: true, errors: [], generation: 1, changed: {}, needs_restart: [], took_ms: 0 }
  }

  add(id: string, rule: Partial<WafRule> = {}, order: Partial<WafRuleOrder> = {}): Promise<undefined> {
    const whole = { id, action: 'block', when: { path: `^/${id}$` }, ...rule }
    return setWafRule(this.parts, { id, rule: whole, isNew: true, username: 'alice', ...order })
  }

  file(): Record<string, unknown> {
    return JSON.parse(readFileSync(join(this.#dir, 'overrides.json'), 'utf8'))
  }
}

const start = (t: TestContext) => Firewall.start(tempDir(t, 'waf-rules'))
const limited = (why: RegExp) => ({ code: 'SUP_RULE_LIMIT', status: 409, message: why })

test('a change compiles each of its patterns once, and a reload after it none', async (t) => {
  const inSlices = t.mock.method(LinearPattern, 'compileInSlices')
  const firewall = await start(t)
  const loaded = { ...firewall.spec, secretNames: [] }
  await firewall.add('once', { site: 'shop', when: { path: '^/once$', method: 'ONCE' } }, { isOfTenant: true })
  const sources = () => inSlices.mock.calls.map(({ arguments: [source] }) => source)
  assert.deepEqual(sources(), ['^/once$', 'ONCE'])
  const reloaded = await firewall.overrides.apply(loaded)
  assert.equal(reloaded.config.waf.rules.length, 2)
  assert.deepEqual(sources(), ['^/once$', 'ONCE'])
})

test('a tenant adds 50 rules for its sites and no more, however many it sends at once', async (t) => {
  const firewall = await start(t)
  const orders = Array.from({ length: 60 }, (_, at) =>
    firewall.add(`r${at}`, { site: at % 2 === 0 ? 'shop' : 'blog' }, { isOfTenant: true }),
  )
  const results = await Promise.allSettled(orders)
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [codeOf(result.reason)] : []))
  assert.deepEqual(refused, Array(10).fill('SUP_RULE_LIMIT'))
  assert.equal(firewall.rules.length, 51)
  await assert.rejects(firewall.add('more', { site: 'blog' }, { isOfTenant: true }), limited(/more than 50 rules; remove others/))

  await firewall.add('of-other', { site: 'news' }, { isOfTenant: true })
  await firewall.add('of-operator', { site: 'shop' })
  const replaced = firewall.add('r1', { site: 'blog', action: 'monitor' }, { isOfTenant: true, isNew: false })
  await assert.rejects(replaced, limited(/more than 50 rules/))
  for (const id of ['r0', 'r2']) await removeWafRule(firewall.parts, { id, username: 'tom' })
  await firewall.add('more', { site: 'blog' }, { isOfTenant: true })
})

test('patterns and the memory for them are limited for each tenant', async (t) => {
  const firewall = await start(t)
  const add = (id: string, when: WafRule['when']) => firewall.add(id, { site: 'shop', when }, { isOfTenant: true })
  const fieldsOf = (id: string) => ({
    header: Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`x-${at}`, `${id}x${at}`])),
  })
  for (const id of ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']) await add(id, fieldsOf(id))
  await add('the-same', fieldsOf('p0'))
  await add('four', { path: '1', query: '2', method: '3', body: '4' })
  await assert.rejects(add('five', { user_agent: '5' }), limited(/more than 100 different patterns/))
  const largeOf = (id: string) => ({
    header: Object.fromEntries(Array.from({ length: 14 }, (_, at) => [`x-${at}`, `(a|b)*a(a|b){10}c${id}${at}`])),
  })
  await firewall.add('large', { site: 'news', when: largeOf('1') }, { isOfTenant: true })
  const tooLarge = firewall.add('larger', { site: 'news', when: largeOf('2') }, { isOfTenant: true })
  await assert.rejects(tooLarge, limited(/too much memory/))
})

test('a rule and the mode end by a reset, and a removed rule of the file comes back', async (t) => {
  const firewall = await start(t)
  const { overrides, change } = firewall
  await firewall.add('added')
  await setWafMode(firewall.parts, { mode: 'off', username: 'root' })
  await removeWafRule(firewall.parts, { id: 'of-file', username: 'root' })
  assert.deepEqual([firewall.rules, firewall.spec.config.waf.mode], [['added'], 'off'])
  for (const key of ['waf.rules.added', 'waf.mode', 'waf.rules.of-file']) await overrides.reset(key, change)
  assert.deepEqual([firewall.rules, firewall.spec.config.waf.mode], [['of-file'], 'block'])
  assert.deepEqual(firewall.file(), {})
  await assert.rejects(overrides.reset('waf.rules.added', change), { code: 'SUP_NO_OVERRIDE' })
})

test('entries of the state file that are no rules or no mode end with a line of the log, and the others hold', async (t) => {
  const dir = tempDir(t, 'waf-state')
  const entry = { at: '1970-01-01T00:00:00.000Z', username: 'alice' }
  const rule = (id: string, when: object) => ({ ...entry, value: { id, action: 'block', when } })
  const entries = {
    'waf.rules.good': rule('good', { path: '^/good$' }),
    'waf.rules.wrong': rule('wrong', { path: '(' }),
    'waf.rules.bomb': rule('bomb', { body: '(a|b)*a(a|b){20}c' }),
    'waf.rules.other': rule('another', { path: 'x' }),
    'waf.rules.text': { ...entry, value: 'no rule' },
    'waf.mode': { ...entry, value: 'loud', base: 'block' },
  }
  writeFileSync(join(dir, 'overrides.json'), JSON.stringify(entries))
  const firewall = await Firewall.start(dir)
  assert.deepEqual([firewall.rules, firewall.spec.config.waf.mode], [['of-file', 'good'], 'block'])
  const reasons = Object.fromEntries(firewall.log.map(({ key, reason }) => [key, reason]))
  assert.match(String(reasons['waf.rules.wrong']), /when\.path: the pattern cannot be used: missing closing/)
  assert.match(String(reasons['waf.rules.bomb']), /when\.body: the pattern cannot be used: it needs too much memory/)
  assert.match(String(reasons['waf.rules.other']), /is stored as waf\.rules\.another/)
  assert.match(String(reasons['waf.rules.text']), /rule text is wrong/)
  assert.match(String(reasons['waf.mode']), /must be "off", "monitor" or "block"/)
  assert.deepEqual(Object.keys(firewall.file()), ['waf.rules.good'])
})
