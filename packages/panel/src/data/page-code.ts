import type { ComponentType } from 'preact'

/** Gets the code of a page. */
export type PageLoad = () => Promise<{ readonly default: ComponentType }>

/** The code of pages: that of one that was open before is drawn at once. */
export class PageCode {
  readonly #loaded = new Map<PageLoad, ComponentType>()

  /** Resolves with the component, which `known` has from then on. Rejects if the code is not there. */
  async load(get: PageLoad): Promise<ComponentType> {
    const { default: Page } = await get()
    this.#loaded.set(get, Page)
    return Page
  }

  known(get: PageLoad): ComponentType | undefined {
    return this.#loaded.get(get)
  }
}
