/** Turns a table of texts with the names that each is for into texts by name. */
export function byName(texts: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(texts).flatMap(([text, names]) => names.split(/\s+/).map((name) => [name, text] as const)))
}
