import { sendHttp1 } from './contract-client.ts'
import { engineContract } from './engine-contract.ts'
import { engineReadyContract, leavingClientContract, type StartReadySubject } from './engine-ready-contract.ts'
import { startUws } from './start-engine.ts'

engineContract('uws', async (t, handler, limits) => {
  const { port, problems } = await startUws(t, handler, limits)
  return { problems, send: (request) => sendHttp1(port, request) }
})

const startReady: StartReadySubject = async (t, handler, ready) => {
  const { port, problems } = await startUws(t, handler, { ready })
  return { problems, send: (request) => sendHttp1(port, request) }
}

engineReadyContract('uws', startReady)
leavingClientContract(startReady)
