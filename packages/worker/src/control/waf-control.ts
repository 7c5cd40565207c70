import type { Waf, WafProbe, WafVerdict } from '@svc/admin'
import type { RpcPeer } from '@svc/core'
import { HttpError, parseTarget } from '@svc/http'
import type { masterMethods, workerMethods } from '@svc/protocol'
import type { ServingGeneration } from '../generation/serving-generation.ts'
import { readBody } from '../waf/body-text.ts'
import type { Firewall } from '../waf/firewall.ts'
import { RequestForms } from '../waf/request-forms.ts'

interface WafParts {
  readonly master: Pick<RpcPeer<typeof workerMethods, typeof masterMethods>, 'call'>
  readonly generation: () => ServingGeneration
  /** Undefined: it is not in use. */
  readonly firewall: () => Firewall | undefined
}

const ANSWER = { timeoutMs: 5_000 } as const
/** A new generation is prepared in every process. */
const WORK = { timeoutMs: 90_000 } as const

/** The firewall for endpoints: rules are read here, where they are in service, and changed by the master. */
export function wafOf({ master, generation, firewall }: WafParts): Waf {
  const config = () => generation().config.waf
  return {
    mode: () => config().mode,
    packs: () => config().packs,
    rules: () => config().rules,
    test: (probe) => verdictOf(firewall(), generation(), probe),
    events: (query) => master.call('wafEvents', query, ANSWER),
    setMode: (order) => master.call('setWafMode', order, WORK),
    setRule: (order) => master.call('setWafRule', order, WORK),
    removeRule: (order) => master.call('removeWafRule', order, WORK),
  }
}

const passed: WafVerdict = { action: 'pass', rule: null, matched: false }

/** @throws HTTP_MISUSE if the target is none */
function verdictOf(firewall: Firewall | undefined, generation: ServingGeneration, probe: WafProbe): WafVerdict {
  const target = parseTarget(probe.target)
  if (typeof target === 'string') throw new HttpError('HTTP_MISUSE', `${probe.target} is not the target of a request: ${target}`)
  if (firewall === undefined) return passed
  const { method, headers, address, body } = probe
  const field = (name: string) => headers.find(([one]) => one === name)?.[1] ?? ''
  const { rawPath, path, query } = target
  const site = generation.siteOf(field('host'))?.config.id ?? ''
  const forms = new RequestForms({ method, rawPath, path, query, headers, address, site })
  const { matches, open } = firewall.inspectHead(forms)
  const found = [...matches]
  if (!matches.some(({ action, rate }) => action === 'block' && rate === undefined)) {
    if (body !== undefined) forms.body = readBody(Buffer.from(body), field('content-type'))
    found.push(...firewall.inspectBody(forms, open))
  }
  const first = found.find(({ action }) => action === 'block') ?? found[0]
  return first === undefined ? passed : { action: first.action, rule: first.rule, matched: true }
}
