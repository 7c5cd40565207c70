import { dirname, join } from 'node:path'

/** Inputs of a unit file. All paths are absolute. */
interface UnitFileInputs {
  /** Directory that the product is installed in. */
  readonly installation: string
  readonly user: string
  readonly configFile: string
  /** The platform file beside it, if there is one. */
  readonly platformFile?: string | undefined
  /** Of the server. */
  readonly directories: { readonly run: string; readonly state: string; readonly cache: string }
  /** Log files that the server writes. */
  readonly logFiles: readonly string[]
  /** Seconds that a stop may take. */
  readonly drainSeconds: number
  /** Id of a site with a process of its own; undefined: the unit of the server. */
  readonly site: string | undefined
}

/** Directories that systemd creates. */
const MADE: Readonly<Record<keyof UnitFileInputs['directories'], readonly [setting: string, path: string]>> = {
  run: ['RuntimeDirectory', '/run/svc'],
  state: ['StateDirectory', '/var/lib/svc'],
  cache: ['CacheDirectory', '/var/cache/svc'],
}
const LOGS = '/var/log/svc'
/** Time to save state and to end processes after the last request. */
const STOP_MARGIN_SECONDS = 15

/** More than the three attempts that a worker has to start. */
const START_SECONDS = 120
/** A process whose event loop stands still for this long is restarted. */
const WATCHDOG_SECONDS = 60

/**
 * Not here, because something needs them: MemoryDenyWriteExecute (V8 writes machine code), ProcSubset (the boot id and the routes are read
 * from /proc), PrivateUsers (ports below 1024). RestrictAddressFamilies has AF_NETLINK for the list of network interfaces.
 */
const HARDENING = [
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=CAP_NET_BIND_SERVICE',
  'AmbientCapabilities=CAP_NET_BIND_SERVICE',
  'ProtectSystem=strict',
  // Sites may lie in home directories.
  'ProtectHome=read-only',
  'ProtectClock=yes',
  'ProtectControlGroups=yes',
  'ProtectHostname=yes',
  'ProtectKernelLogs=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelTunables=yes',
  'ProtectProc=invisible',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'PrivateMounts=yes',
  'RemoveIPC=yes',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'LockPersonality=yes',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service',
  'SystemCallFilter=~@privileged @resources',
  // setpriv(1), which starts the scan processes, gives up its capabilities.
  'SystemCallFilter=capset',
  'SystemCallErrorNumber=EPERM',
  'UMask=0077',
  'LimitNOFILE=524288',
]

/** A word of a command line in a unit file; a percent sign or a dollar would be a specifier or a variable. */
function word(text: string): string {
  const plain = text.replaceAll('%', '%%').replaceAll('$', '$$$$')
  return /^[\w@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replaceAll(/["\\]/g, '\\$&')}"`
}

function directoryLines({ directories }: UnitFileInputs): string[] {
  const names = Object.keys(MADE) as (keyof typeof MADE)[]
  const lines = names.map((name) => {
    const [setting, path] = MADE[name]
    return directories[name] === path ? `${setting}=svc` : `ReadWritePaths=${word(directories[name])}`
  })
  return [...lines, 'RuntimeDirectoryPreserve=yes']
}

/** The unit of a site writes no files: its lines go to the journal. */
function logLines({ logFiles, site }: UnitFileInputs): string[] {
  if (site !== undefined) return []
  const others = new Set(logFiles.map((file) => dirname(file)).filter((dir) => dir !== LOGS && !dir.startsWith(`${LOGS}/`)))
  return ['LogsDirectory=svc', ...Array.from(others, (dir) => `ReadWritePaths=${word(dir)}`)]
}

function commandOf({ installation, configFile, platformFile, site }: UnitFileInputs): string {
  const platform = platformFile === undefined ? [] : ['--platform', platformFile]
  const rest = site === undefined ? ['--config', configFile, ...platform] : ['--site', site]
  return [join(installation, 'bin/node'), join(installation, 'dist/cli.js'), 'serve', ...rest].map(word).join(' ')
}

/** Makes the unit file of the server, or of a site with a process of its own. */
export function unitFile(inputs: UnitFileInputs): string {
  const { site, user, directories, drainSeconds, installation } = inputs
  const isServer = site === undefined
  return [
    '[Unit]',
    `Description=${isServer ? 'svc web application server' : `svc site ${site}`}`,
    isServer ? 'Wants=network-online.target' : 'Wants=svc.service',
    `After=network-online.target${isServer ? '' : ' svc.service'}`,
    // A site's process waits for its server as long as it takes.
    ...(isServer ? [] : ['StartLimitIntervalSec=0']),
    '',
    '[Service]',
    'Type=notify',
    'NotifyAccess=all',
    `User=${user}`,
    `ExecStart=${commandOf(inputs)}`,
    'ExecReload=/bin/kill -HUP $MAINPID',
    // A site must not read the configuration file: it has the secrets of other sites.
    ...(isServer
      ? []
      : [`Environment=${word(`SVC_SERVER__RUN_DIR=${directories.run}`)}`, `InaccessiblePaths=-${word(inputs.configFile)}`]),
    'CPUSchedulingPolicy=batch',
    'KillMode=mixed',
    `TimeoutStartSec=${START_SECONDS}`,
    `TimeoutStopSec=${drainSeconds + STOP_MARGIN_SECONDS}`,
    `WatchdogSec=${WATCHDOG_SECONDS}`,
    'Restart=on-failure',
    `RestartSec=${isServer ? '1' : '2'}`,
    'RestartPreventExitStatus=64 78',
    `WorkingDirectory=${word(installation)}`,
    ...directoryLines(inputs),
    ...logLines(inputs),
    ...HARDENING,
    '',
    '[Install]',
    'WantedBy=multi-user.target',
  ].join('\n')
}
