/** Query of a URL as a page gets it: a name that occurs more than once has a list. */
export type SearchParams = Record<string, string | string[]>

/** Makes the `searchParams` object of a page. Names are own properties, whatever they are called. */
export function searchParamsOf(query: URLSearchParams): SearchParams {
  const params: SearchParams = Object.create(null)
  for (const [name, value] of query) {
    const known = params[name]
    if (known === undefined) params[name] = value
    else if (Array.isArray(known)) known.push(value)
    else params[name] = [known, value]
  }
  return { ...params }
}
