import { entryOf } from '@svc/core'
import { contentTypeOf, extensionOf, withoutControls } from '@svc/http'
import type { LocationSettings, TypeTable } from '@svc/vhosts'

/** Content-Type by the path of a URL, as nginx goes; "": none. */
export interface MediaTypes {
  /** True if the charset of text is none that the vhost file asks for. */
  readonly addsCharset: boolean
  ofFile(uri: string): string
  /** Of a text from the configuration. */
  ofText(uri: string): string
}

const UNKNOWN_TYPE = contentTypeOf('')

/** The types of this server: `default_type` alone names that of other files and texts. */
function ownTypes(defaultType: string | undefined): MediaTypes {
  const typeOf = (uri: string, otherwise: string) => {
    const type = contentTypeOf(`x.${extensionOf(uri)}`)
    return type === UNKNOWN_TYPE ? otherwise : type
  }
  return {
    addsCharset: true,
    ofFile: (uri) => typeOf(uri, defaultType ?? UNKNOWN_TYPE),
    ofText: (uri) => typeOf(uri, defaultType ?? 'text/plain'),
  }
}

function typesOfTable(table: ReadonlyMap<string, string>, defaultType: string): MediaTypes {
  const typeOf = (uri: string) => {
    const extension = extensionOf(uri)
    return extension === '' ? defaultType : (table.get(extension.toLowerCase()) ?? defaultType)
  }
  return { addsCharset: false, ofFile: typeOf, ofText: typeOf }
}

/** The types of the locations of one generation: locations with the same settings share them. */
export class MediaTypeTables {
  readonly #tables: readonly TypeTable[]
  readonly #known = new Map<string, MediaTypes>()

  constructor(tables: readonly TypeTable[]) {
    this.#tables = tables
  }

  of({ types, defaultType }: Pick<LocationSettings, 'types' | 'defaultType'>): MediaTypes {
    const usual = defaultType === undefined ? undefined : withoutControls(defaultType)
    return entryOf(this.#known, `${types?.join()} ${usual}`, () => {
      if (types === undefined) return ownTypes(usual)
      const lines = types.flatMap((number) => this.#tables[number] ?? [])
      return typesOfTable(new Map(lines.map(([ending, type]) => [ending, withoutControls(type)])), usual ?? '')
    })
  }
}
