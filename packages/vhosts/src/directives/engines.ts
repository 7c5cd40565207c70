import { rule } from './rule.ts'

/** `http2`: the TLS addresses of a server are served by engine node. */
export const http2 = rule('http2', {
  in: ['main', 'server'],
  args: 1,
  parse: (call) => {
    const isOn = call.flag(0)
    if (isOn === false) call.notice('"http2 off" has no effect here: clients choose HTTP/2; "svc_engine uws" has HTTP/1.1 alone')
    return isOn === undefined ? undefined : { isOn, call }
  },
})

/** `svc_engine`: the engine of all addresses of a server. */
export const svcEngine = rule('svc_engine', {
  in: ['server'],
  args: 1,
  parse: (call) => {
    const engine = call.oneOf(0, ['uws', 'node'] as const)
    return engine === undefined ? undefined : { engine, call }
  },
})
