/** Resolves with the directory of the suite; rejects when it cannot be fetched. */
export function fetchSuite(): Promise<string>
