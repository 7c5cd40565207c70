/** A look at one thing that a rule watches. */
export interface Reading {
  /** Name of the thing, where the rule watches several; "": it watches one. */
  readonly subject: string
  /** Id of the site that it is about. */
  readonly site?: string
  /** Null: there is none at the moment. */
  readonly value: number | null
  /** The condition of the alert holds. */
  readonly isTrue: boolean
}

/** The rule of an alert, judged. */
export interface Rule {
  readonly source: 'built_in' | 'configured'
  readonly name: string
  /** Identifies the condition among those that an alert of this name had before a reload. */
  readonly condition: string
  /** Milliseconds that the condition must hold. */
  readonly forMs: number
  /** Of the value; "": none. */
  readonly unit: string
  readonly hint: string
  /** One for each thing that the rule watches. Things without a problem may be left out. Undefined: they are unknown at the moment. */
  readonly readings: readonly Reading[] | undefined
}
