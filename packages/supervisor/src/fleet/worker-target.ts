import { type GenerationSpec, type HostEndpoint, type PackedGeneration, packGeneration } from '@svc/protocol'

/** The target for every worker: a generation, and the render hosts for it. */
export interface WorkerTarget {
  readonly spec: GenerationSpec
  readonly hosts: readonly HostEndpoint[]
}

/** A target as workers receive it. */
export interface PackedTarget {
  readonly spec: PackedGeneration
  readonly hosts: readonly HostEndpoint[]
}

/** Packs each generation once for all workers. */
export class PackedTargets {
  readonly #packed = new WeakMap<GenerationSpec, Promise<PackedGeneration>>()

  async of({ spec, hosts }: WorkerTarget): Promise<PackedTarget> {
    const packed = this.#packed.get(spec) ?? packGeneration(spec)
    this.#packed.set(spec, packed)
    return { spec: await packed, hosts }
  }
}
