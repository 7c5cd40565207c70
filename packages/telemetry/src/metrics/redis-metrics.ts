import { addMeasured, NumberFamily } from './families.ts'
import type { MetricSet } from './metric-set.ts'

/** Commands of a process to Redis, since it began. */
interface RedisCounts {
  readonly ok: number
  readonly refused: number
  readonly late: number
  readonly unavailable: number
}

/** Adds `svc_redis_commands_total`. `read` returns undefined as long as the process has no connection. */
export function addRedisCommands(metrics: MetricSet, read: () => RedisCounts | undefined): void {
  const help = 'Commands to Redis: answered, refused by it, without an answer in time, or not sent since it is away.'
  const family: NumberFamily = new NumberFamily('counter', { name: 'svc_redis_commands_total', help, labels: ['result'] }, () => {
    const counts = read()
    if (counts === undefined) return
    family.series('ok').value = counts.ok
    family.series('refused').value = counts.refused
    family.series('timeout').value = counts.late
    family.series('unavailable').value = counts.unavailable
  })
  metrics.add(family)
}

/** The instances that share a Redis, as the master of one of them sees them. */
export interface InstanceFigures {
  readonly isRedisUp: boolean
  /** Instances that are alive, with this one. */
  readonly instances: number
  /** Purges that wait for Redis. */
  readonly deferredPurges: number
  readonly commands: RedisCounts
}

/** Adds the metrics of a master with a `redis.url`. */
export function addInstanceMetrics(metrics: MetricSet, read: () => InstanceFigures): void {
  const add = (name: string, help: string, figureOf: (figures: InstanceFigures) => number) =>
    addMeasured(metrics, 'gauge', [name, help], () => figureOf(read()))
  add('svc_redis_up', '1 if Redis answers.', ({ isRedisUp }) => (isRedisUp ? 1 : 0))
  add('svc_instances', 'Instances that share the Redis of this one, with it.', ({ instances }) => instances)
  add('svc_deferred_purges', 'Purges that wait until Redis is back.', ({ deferredPurges }) => deferredPurges)
  addRedisCommands(metrics, () => read().commands)
}
