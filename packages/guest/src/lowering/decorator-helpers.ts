/** Helpers for TypeScript's decorators (`experimentalDecorators`). */
type Decorator = (target: object, key?: PropertyKey, descriptor?: unknown) => unknown

function decorate(
  decorators: readonly Decorator[],
  target: object,
  key?: PropertyKey,
  descriptor?: PropertyDescriptor | null,
): unknown {
  const isMember = key !== undefined
  let result: unknown = isMember ? (descriptor === null ? Object.getOwnPropertyDescriptor(target, key) : descriptor) : target
  for (const decorator of decorators.toReversed()) {
    const answer = isMember ? decorator(target, key, result) : decorator(result as object)
    result = answer || result
  }
  if (isMember && result) Object.defineProperty(target, key, result as PropertyDescriptor)
  return result
}

/** `Reflect.metadata` of a polyfill that the site may load. */
type MetadataFactory = (key: string, value: unknown) => Decorator

export const decoratorHelpers = {
  decorate,
  decorateParam:
    (index: number, decorator: (target: object, key: PropertyKey | undefined, index: number) => unknown): Decorator =>
    (target, key) =>
      decorator(target, key, index),
  decorateMetadata(key: string, value: unknown): Decorator | undefined {
    const metadata = (Reflect as { metadata?: MetadataFactory }).metadata
    return typeof metadata === 'function' ? metadata(key, value) : undefined
  },
}
