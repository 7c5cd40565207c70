// Runs alone: it waits for many limits.
import type { TestContext } from 'node:test'
import { sendHttp1 } from './contract-client.ts'
import { engineContract } from './engine-contract.ts'
import { plainHttp1 } from './engine-contract-types.ts'
import { engineReadyContract, leavingClientContract, type StartReadySubject } from './engine-ready-contract.ts'
import { type StartOptions, startUws } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

interface Variant {
  readonly name: string
  readonly facts: typeof plainHttp1
  readonly hasTls: boolean
  options(t: TestContext): StartOptions
}

const variants: readonly Variant[] = [
  { name: 'uws', facts: plainHttp1, hasTls: false, options: () => ({}) },
  {
    name: 'uws with TLS',
    facts: { ...plainHttp1, scheme: 'https' },
    hasTls: true,
    options: (t) => ({ tls: anyCertificate(t) }),
  },
]

for (const { name, facts, hasTls, options } of variants) {
  engineContract(
    name,
    async (t, handler, limits) => {
      const { port, problems } = await startUws(t, handler, { ...options(t), ...limits })
      return { problems, send: (request) => sendHttp1(port, request, hasTls) }
    },
    facts,
  )

  const startReady: StartReadySubject = async (t, handler, ready) => {
    const { port, problems } = await startUws(t, handler, { ...options(t), ready })
    return { problems, send: (request) => sendHttp1(port, request, hasTls) }
  }
  engineReadyContract(name, startReady, facts)
  leavingClientContract(startReady)
}
