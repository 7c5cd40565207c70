/** Outcome of a stage for a request. */
export type StageResult = 'answered' | 'next'
