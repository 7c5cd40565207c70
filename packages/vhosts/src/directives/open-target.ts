import type { Template } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { isSaidByClient } from '../variables/variable-table.ts'
import type { DirectiveCall } from './directive-call.ts'

/** Notices an address that the client chooses: any that this machine can reach. */
export function noticeOpen(call: DirectiveCall, host: Template): void {
  const said = host.flatMap((piece) => (typeof piece !== 'string' && isSaidByClient(piece.variable) ? [piece.variable] : []))
  const [name] = said
  if (name === undefined) return
  const message = `"$${name}" lets the client choose the server that "${call.name}" connects to, any that is reachable; restrict it with a map`
  call.notice(message, `${call.name} ${formatPlace(call.place)}`)
}
