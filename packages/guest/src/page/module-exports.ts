import { requireModule } from '../registry/registry.ts'
import { RouterError } from '../scope/router-error.ts'

/** Exports of a module of the site. */
export type ModuleExports = Readonly<Record<string, unknown>>

/** A component of a convention file, as React takes it. */
type Component = (props: never) => unknown

/**
 * The default export of a convention file: a function, or what React wraps one into (memo, forwardRef, lazy). When the module
 * cannot be loaded or has no such export, the component throws that, so that the boundaries around it get to see it.
 */
export function componentOf(file: string): Component {
  let component: unknown
  try {
    component = requireModule(file)['default']
  } catch (error) {
    return () => {
      throw error
    }
  }
  if (typeof component === 'function' || (typeof component === 'object' && component !== null && '$$typeof' in component)) {
    return component as Component
  }
  return () => {
    const fault = component === undefined ? 'there is no default export' : 'the default export is not a React component'
    throw new RouterError('ROUTER_BAD_EXPORT', `${file}: ${fault}.`)
  }
}

/** Exports of a component's module; none when it cannot be loaded: rendering it throws the reason where a boundary can show it. */
export function exportsOf(file: string): ModuleExports {
  try {
    return requireModule(file)
  } catch {
    // The same error comes again from `componentOf`.
    return {}
  }
}
