/**
 * A redirect's target as a Location field may carry it: visible ASCII. What is not is percent-encoded, a line break
 * included, so that text of a request cannot add fields.
 */
export function locationOf(url: string): string {
  return url.toWellFormed().replace(/[^\x21-\x7e]+/g, encodeURIComponent)
}
