import { hostname } from 'node:os'
import type { ReadingTools } from '../directives/directive-call.ts'
import { accessLog, logFormat } from '../directives/logging.ts'
import { serverName } from '../directives/serving.ts'
import type { AccessLogSpec, Template } from '../spec/spec.ts'
import { formatPlace } from '../syntax/config-problem.ts'
import { decodeBytes } from '../syntax/source-file.ts'
import { shown } from '../syntax/vhost-problems.ts'
import type { Level } from './level.ts'

const serverLog: AccessLogSpec = { path: '', format: undefined, condition: undefined }

/** The logs of a level. One `off` switches off those of its level. */
export function accessLogsOf(level: Level): readonly AccessLogSpec[] {
  const targets = level.nearest(accessLog)
  if (targets.length === 0) return [serverLog]
  const formats = level.nearest(logFormat)
  const logs: AccessLogSpec[] = []
  for (const target of targets) {
    if (target === 'off') return []
    const { call, condition } = target
    const path = pathOf(target.path, level)
    if (path === '/dev/null') continue
    const format = formats.find(({ name }) => name === target.format)
    if (format === undefined && target.format !== 'combined') {
      const place = call.argPlace(1)
      const message = `unknown log format "${shown(target.format)}"`
      call.tools.problems.addOnce(`log format ${formatPlace(place)}`, place, message, 'define it with log_format')
      continue
    }
    logs.push({ path, format: format && { escape: format.escape, text: format.text }, condition })
  }
  return logs
}

/** Reports formats that have one name. */
export function checkFormats(main: Level, tools: ReadingTools): void {
  const seen = new Set<string>()
  for (const format of main.own(logFormat)) {
    if (seen.has(format.name)) tools.origins.get(format)?.fail(`duplicate "log_format" name "${shown(format.name)}"`, 0)
    seen.add(format.name)
  }
}

/** As characters. The name of a server does not depend on the request. */
function pathOf(path: Template, level: Level): string {
  const [first] = level.nearest(serverName).flat()
  const values: Readonly<Record<string, string>> = { server_name: first?.text ?? '', hostname: hostname() }
  // A name may have a slash only where it is a pattern.
  const piece = (variable: string) => (values[variable] ?? '').replaceAll('/', '_')
  return decodeBytes(path.map((each) => (typeof each === 'string' ? each : piece(each.variable))).join(''))
}
