import * as z from 'zod'
import { filePath } from './fields.ts'

/** `[plugins]`. */
export const plugins = z
  .strictObject({
    directory: filePath()
      .optional()
      .describe('Directory of plugin modules. Without it, no plugin is loaded.')
      .meta({ examples: ['plugins'] }),
  })
  .prefault({})
  .describe('Plugins.')
