import * as z from 'zod'
import { admin, endpoints } from './admin.ts'
import { cache, redis } from './cache.ts'
import { environment } from './fields.ts'
import { health, logging, metrics, obs, telemetry } from './observability.ts'
import { rateLimit, waf } from './protection.ts'
import { deploy, render, scaling } from './scaling.ts'
import { server, tls } from './server.ts'
import { apps, plugins, routeRules, sites, tasks } from './sites.ts'

/** The whole configuration file. The only home of keys, defaults and descriptions. */
export const configSchema = z
  .strictObject({
    server,
    cache,
    render,
    deploy,
    redis,
    scaling,
    rate_limit: rateLimit,
    metrics,
    health,
    telemetry,
    logging,
    admin,
    endpoints,
    env: environment()
      .default({})
      .describe('Environment variables of all sites. Variables of the operating system take precedence.'),
    plugins,
    tls,
    waf,
    obs,
    sites,
    apps,
    route_rules: routeRules().describe('Rules for all sites. They come before the rules of a site.'),
    tasks,
  })
  .describe('Configuration of svc.')

/** The configuration as the file states it, defaults filled in, nothing computed yet. */
export type ParsedConfig = z.output<typeof configSchema>
