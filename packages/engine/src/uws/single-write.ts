/** Longest body that goes out in one call: it fits in the library's cork buffer together with a usual head. */
export const MAX_SINGLE_BYTES = 12 * 1024
