import { installRouter } from './router/install.ts'

/**
 * What is built on the port: each registers its runners and built-in modules. Called once while the snapshot is made, so
 * nothing here may call the host.
 */
export const extensions: readonly (() => void)[] = [installRouter]
