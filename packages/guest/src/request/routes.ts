import type { Route } from '@svc/site'

const routes = new Map<string, Route>()

/** Defines or replaces a route. */
export function defineRoute(route: Route): void {
  routes.set(route.id, route)
}

export function forgetRoutes(): void {
  routes.clear()
}

/** Returns a route by id. */
export function routeOf(id: string): Route | undefined {
  return routes.get(id)
}
