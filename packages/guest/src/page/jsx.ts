/** Makes an element; React's `jsx` keeps the props object as it is, getters included. */
export type Jsx = (type: unknown, props: object) => unknown
