import type { HeaderList } from '@svc/http'
import { formatterOf, type LogNames, type LogWriter, serverLog } from '@svc/telemetry'
import type { AccessLogSpec, LocationSettings, Template } from '@svc/vhosts'
import type { FormattedLogs, HitLogs, LoggedRequest, LogLine, RequestEnd } from '../request/formatted-logs.ts'
import type { MediaTypes } from './media-types.ts'
import type { Templates } from './templates.ts'
import { type HitRead, maybeMissing, type RequestVariable, type VariableInput } from './variable-input.ts'

/** Logs of a location, ready to be written. */
export interface CompiledLogs {
  /** Those with the usual lines, for all requests. */
  readonly plain: LogNames
  /** The others; undefined: there are none. */
  readonly formatted: readonly CompiledLog[] | undefined
  /** False: requests that L0 answered could not be logged. */
  readonly areForHits: boolean
  /** See `VariableInput`. */
  readonly isCharsetAdded: boolean
}

type Piece = string | { readonly name: string; readonly variable: RequestVariable }

/** A log with a format or a condition of its own. */
interface CompiledLog {
  readonly path: string
  readonly condition: readonly Piece[] | undefined
  readonly format: { readonly write: LogWriter; readonly pieces: readonly Piece[] } | undefined
}

/** Compiles the logs of a location. */
export function compileLogs(
  { accessLogs: specs, content }: LocationSettings,
  types: MediaTypes,
  templates: Templates,
): CompiledLogs {
  const isCharsetAdded = content.kind === 'files' && types.addsCharset
  const isPlain = ({ format, condition }: AccessLogSpec) => format === undefined && condition === undefined
  const paths = specs.filter(isPlain).map(({ path }) => path)
  const plain = paths.length === 1 && paths[0] === '' ? serverLog : [...new Set(paths)]
  if (paths.length === specs.length) return { plain, formatted: undefined, areForHits: true, isCharsetAdded }
  const pieces = (template: Template) => piecesOf(template, templates)
  const compiled = specs
    .filter((spec) => !isPlain(spec))
    .map(({ path, format, condition }) => ({
      path,
      condition: condition && pieces(condition),
      format: format && { write: formatterOf(format.escape), pieces: pieces(format.text) },
    }))
  const read = compiled.flatMap(({ condition, format }) => [...(condition ?? []), ...(format?.pieces ?? [])])
  const areForHits = read.every((piece) => typeof piece === 'string' || piece.variable.ofHit !== undefined)
  return { plain, formatted: compiled, areForHits, isCharsetAdded }
}

function piecesOf(template: Template, templates: Templates): readonly Piece[] {
  return template.map((piece) =>
    typeof piece === 'string' ? piece : { name: piece.variable, variable: templates.readerOf(piece.variable) },
  )
}

/** A request whose end is yet to come. */
type LoggedState = Omit<VariableInput, 'end'> & { end: RequestEnd | undefined }

/** The logs of one request. */
export class LocationLogs implements FormattedLogs {
  readonly #logs: readonly CompiledLog[]
  readonly #isCharsetAdded: boolean
  readonly #state: LoggedState

  constructor({ formatted = [], isCharsetAdded }: CompiledLogs, state: LoggedState) {
    this.#logs = formatted
    this.#isCharsetAdded = isCharsetAdded
    this.#state = state
  }

  linesOf(end: RequestEnd): readonly LogLine[] {
    const state = this.#state
    state.end = end
    this.#show(end.headers)
    return this.#logs.flatMap(({ path, condition, format }) => {
      const read = (piece: Piece) => (typeof piece === 'string' ? piece : piece.variable.read(state))
      if (condition !== undefined && !isSet(condition.map(read).join(''))) return []
      const isMissing = ({ name, variable }: Exclude<Piece, string>) => variable.isMissing?.(state) ?? maybeMissing(name)
      return [{ path, text: format && textOf(format, { read, isMissing }) }]
    })
  }

  ofHits(headers: HeaderList): HitLogs {
    this.#show(headers)
    const bind = (pieces: readonly Piece[]) => pieces.map((piece) => this.#bound(piece))
    const logs = this.#logs.map(({ path, condition, format }) => ({
      path,
      condition: condition && bind(condition),
      format: format && { write: format.write, pieces: bind(format.pieces) },
    }))
    return new LogsOfHits(logs)
  }

  #show(headers: HeaderList): void {
    this.#state.sentHeaders = headers
    this.#state.isCharsetAdded = this.#isCharsetAdded
  }

  #bound(piece: Piece): BoundPiece {
    if (typeof piece === 'string') return piece
    const { name, variable } = piece
    const isMaybeMissing = variable.isMissing?.(this.#state) ?? maybeMissing(name)
    return { isMaybeMissing, read: variable.ofHit?.(this.#state) ?? (() => '') }
  }
}

type BoundPiece = string | { readonly isMaybeMissing: boolean; readonly read: HitRead }

interface BoundLog {
  readonly path: string
  readonly condition: readonly BoundPiece[] | undefined
  readonly format: { readonly write: LogWriter; readonly pieces: readonly BoundPiece[] } | undefined
}

class LogsOfHits implements HitLogs {
  readonly #logs: readonly BoundLog[]

  constructor(logs: readonly BoundLog[]) {
    this.#logs = logs
  }

  linesOf(context: LoggedRequest, end: RequestEnd): readonly LogLine[] {
    const input = { context, end }
    return this.#logs.flatMap(({ path, condition, format }) => {
      const read = (piece: BoundPiece) => (typeof piece === 'string' ? piece : piece.read(input))
      if (condition !== undefined && !isSet(condition.map(read).join(''))) return []
      return [{ path, text: format && textOf(format, { read, isMissing: (piece) => piece.isMaybeMissing }) }]
    })
  }
}

interface PieceReader<One> {
  read(piece: One): string
  /** True if an empty value says that there is none. */
  isMissing(piece: Exclude<One, string>): boolean
}

function textOf<One>(
  { write, pieces }: { readonly write: LogWriter; readonly pieces: readonly One[] },
  { read, isMissing }: PieceReader<One>,
): string {
  let text = ''
  for (const piece of pieces) {
    const value = read(piece)
    if (typeof piece === 'string') text += value
    else text += value === '' && isMissing(piece as Exclude<One, string>) ? write.missing : write.value(value)
  }
  return write.line(text)
}

/** As with nginx: a value that is neither empty nor "0". */
function isSet(value: string): boolean {
  return value !== '' && value !== '0'
}
