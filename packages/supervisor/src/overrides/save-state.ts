import { messageOf, replaceFile } from '@svc/core'
import { SupervisorError } from '@svc/processes'

/** Replaces a file of the state directory; it then outlives a loss of power. @throws SUP_STATE */
export async function saveState(file: string, value: object): Promise<void> {
  try {
    await replaceFile(file, `${JSON.stringify(value, null, 2)}\n`, true)
  } catch (error) {
    throw new SupervisorError('SUP_STATE', { file, why: messageOf(error) }, { cause: error })
  }
}
