/** Actions on signals. */
interface SignalActions {
  /** SIGTERM, SIGQUIT or SIGINT: drain and end. */
  stop(signal: NodeJS.Signals): void
  /** The same once more: end at once. */
  cut(signal: NodeJS.Signals): void
  /** SIGHUP. */
  reload(): void
  /** SIGUSR2: write a diagnostic report. */
  diagnose(): void
}

const STOP_SIGNALS: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGQUIT', 'SIGINT']

/** Listens for the signals of a master; the returned function stops listening. */
export function listenForSignals(actions: SignalActions): () => void {
  let isStopping = false
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) {
      actions.cut(signal)
      return
    }
    isStopping = true
    actions.stop(signal)
  }
  const reload = () => actions.reload()
  const diagnose = () => actions.diagnose()
  for (const signal of STOP_SIGNALS) process.on(signal, stop)
  process.on('SIGHUP', reload)
  process.on('SIGUSR2', diagnose)
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, stop)
    process.off('SIGHUP', reload)
    process.off('SIGUSR2', diagnose)
  }
}
