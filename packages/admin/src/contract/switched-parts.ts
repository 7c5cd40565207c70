import type { PluginOrder, PluginStatus, TaskOrder, TaskRun, TaskStatus } from '@svc/protocol'

/** The requests that are made on a schedule. All reject if the master is unreachable, or with its error. */
export interface Tasks {
  list(): Promise<readonly TaskStatus[]>
  /** The last runs of a task, the newest first. @throws SUP_UNKNOWN_TASK */
  runs(name: string): Promise<readonly TaskRun[]>
  /** Begins a run. @throws SUP_UNKNOWN_TASK, SUP_TASK_RUNNING */
  run(name: string): Promise<TaskRun>
  /** Resolves when the schedule follows. @throws SUP_UNKNOWN_TASK, SUP_OVERRIDE */
  setEnabled(order: TaskOrder): Promise<void>
}

/** The operator's plugins. Both reject if the master is unreachable, or with its error. */
export interface Plugins {
  list(): Promise<readonly PluginStatus[]>
  /** Resolves when every worker follows. @throws SUP_UNKNOWN_PLUGIN, SUP_OVERRIDE */
  setEnabled(order: PluginOrder): Promise<void>
}
