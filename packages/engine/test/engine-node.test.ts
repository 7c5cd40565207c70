// Starts first: it waits for many limits.
import type { TestContext } from 'node:test'
import { sendHttp1, sendHttp2 } from './contract-client.ts'
import { engineContract } from './engine-contract.ts'
import { type ContractRequest, type ContractResponse, plainHttp1 } from './engine-contract-types.ts'
import { engineReadyContract, leavingClientContract, type StartReadySubject } from './engine-ready-contract.ts'
import { type StartOptions, startEngine } from './start-engine.ts'
import { anyCertificate } from './test-certificates.ts'

interface Variant {
  readonly name: string
  readonly facts: typeof plainHttp1
  options(t: TestContext): StartOptions
  send(port: number, request: ContractRequest): Promise<ContractResponse>
}

const variants: readonly Variant[] = [
  { name: 'node, HTTP/1.1', facts: plainHttp1, options: () => ({}), send: (port, request) => sendHttp1(port, request) },
  {
    name: 'node, HTTP/1.1 with TLS',
    facts: { ...plainHttp1, scheme: 'https' },
    options: (t) => ({ tls: anyCertificate(t) }),
    send: (port, request) => sendHttp1(port, request, true),
  },
  {
    name: 'node, HTTP/2',
    facts: { scheme: 'https', httpVersion: '2', hasConnectionFields: false },
    options: (t) => ({ tls: anyCertificate(t) }),
    send: sendHttp2,
  },
]

for (const { name, facts, options, send } of variants) {
  engineContract(
    name,
    async (t, handler, limits) => {
      const { port, problems } = await startEngine(t, 'node', handler, { ...options(t), ...limits })
      return { problems, send: (request) => send(port, request) }
    },
    facts,
  )

  const startReady: StartReadySubject = async (t, handler, ready) => {
    const { port, problems } = await startEngine(t, 'node', handler, { ...options(t), ready })
    return { problems, send: (request) => send(port, request) }
  }
  engineReadyContract(name, startReady, facts)
  leavingClientContract(startReady)
}
