// The parser half of the toml package: its public entry gives plain data only, the nodes carry the offsets in the text.
declare module 'toml/lib/parser.js' {
  /** A value; `offset` counts UTF-16 units from the start of the text. */
  export type ValueNode =
    | { readonly type: 'Array'; readonly value: readonly ValueNode[]; readonly offset: number }
    | { readonly type: 'InlineTable'; readonly value: readonly EntryNode[]; readonly offset: number }
    | { readonly type: 'String' | 'Integer' | 'Float' | 'Boolean'; readonly value: unknown; readonly offset: number }
  /** `key = value` of an inline table. */
  export interface EntryNode {
    readonly key: readonly string[]
    readonly value: ValueNode
    readonly offset: number
  }
  /** `[a.b]`, `[[a.b]]` or `key = value`. */
  export type StatementNode =
    | { readonly type: 'ObjectPath' | 'ArrayPath'; readonly value: readonly string[]; readonly offset: number }
    | ({ readonly type: 'Assign' } & EntryNode)
  const parser: { parse(text: string): readonly StatementNode[] }
  export default parser
}
