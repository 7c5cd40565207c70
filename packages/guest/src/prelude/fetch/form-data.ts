import { Blob, File } from './blob.ts'

type FormDataValue = string | File

function toValue(value: unknown, filename?: unknown): FormDataValue {
  if (!(value instanceof Blob)) return String(value).toWellFormed()
  if (value instanceof File && filename === undefined) return value
  const name = filename === undefined ? 'blob' : String(filename)
  return new File([value], name, { type: value.type, ...(value instanceof File ? { lastModified: value.lastModified } : {}) })
}

/** XHR standard `FormData`. */
export class FormData {
  #entries: [name: string, value: FormDataValue][] = []

  append(name: unknown, value: unknown, filename?: unknown): void {
    this.#entries.push([String(name).toWellFormed(), toValue(value, filename)])
  }

  set(name: unknown, value: unknown, filename?: unknown): void {
    const key = String(name).toWellFormed()
    const entry: [string, FormDataValue] = [key, toValue(value, filename)]
    const at = this.#entries.findIndex(([known]) => known === key)
    if (at < 0) {
      this.#entries.push(entry)
      return
    }
    this.#entries[at] = entry
    this.#entries = this.#entries.filter(([known], index) => index <= at || known !== key)
  }

  delete(name: unknown): void {
    this.#entries = this.#entries.filter(([known]) => known !== String(name))
  }

  get(name: unknown): FormDataValue | null {
    return this.#entries.find(([known]) => known === String(name))?.[1] ?? null
  }

  getAll(name: unknown): FormDataValue[] {
    return this.#entries.filter(([known]) => known === String(name)).map(([, value]) => value)
  }

  has(name: unknown): boolean {
    return this.#entries.some(([known]) => known === String(name))
  }

  forEach(each: (value: FormDataValue, name: string, data: FormData) => void, self?: unknown): void {
    for (const [name, value] of this) each.call(self, value, name, this)
  }

  *entries(): IterableIterator<[string, FormDataValue]> {
    for (const [name, value] of this.#entries) yield [name, value]
  }

  *keys(): IterableIterator<string> {
    for (const [name] of this.#entries) yield name
  }

  *values(): IterableIterator<FormDataValue> {
    for (const [, value] of this.#entries) yield value
  }

  [Symbol.iterator](): IterableIterator<[string, FormDataValue]> {
    return this.entries()
  }

  get [Symbol.toStringTag](): string {
    return 'FormData'
  }
}
