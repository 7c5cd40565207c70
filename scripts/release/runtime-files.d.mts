export function runtimeFiles(root: string): { readonly source: string; readonly target: string }[]
