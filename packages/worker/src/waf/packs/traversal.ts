import type { PackPatterns } from './pack.ts'

/** Ways out of a directory, files that attackers ask for, and schemes that open files. */
export const traversal: PackPatterns = {
  segments: [
    '(?:^|[\\n\\\\/;:=, \'"&?(])\\.{2,}[\\\\/;]',
    '[\\\\/]\\.{2,}(?:$|[\\n;?&#])',
    '^\\.\\.$',
    '(?:%c0%(?:ae|af|2e|2f|5c)|%c1%(?:9c|1c|af|8s|pc)|%e0%80%(?:ae|af)|%f0%80%80%ae|%uff0e|%u221[56]|0x2e0x2e|%%32%65|\\.%00\\.|%5c\\.\\.)',
  ],
  files: [
    '[\\\\/](?:etc|private/etc|usr/local/etc)[\\\\/]+(?:\\.?[\\\\/])*(?:passwd|shadow|group|gshadow|hosts|issue|motd|fstab|crontab|sudoers|profile|resolv\\.conf|ssh|ssl|nginx|apache2?|httpd|mysql|my\\.cnf|php\\w*|redis|cron\\.\\w+|os-release|environment|kubernetes|security|sub[ug]id|master\\.passwd)',
    '[\\\\/](?:proc[\\\\/](?:self|thread-self|\\d+|version|cpuinfo|net|sched_debug|mounts|cmdline|interrupts|meminfo)|sys[\\\\/](?:class|kernel|devices|block))',
    '[\\\\/](?:var|opt|usr/local)[\\\\/](?:log|run/secrets|lib/mysql|spool/cron|mail|backups)[\\\\/]',
    '(?:^|[\\n\\\\/ =])(?:\\.(?:htaccess|htpasswd|htdigest|env(?:\\.\\w+)?|git(?:[\\\\/](?:config|head|index|objects|logs|refs)|ignore|config)|svn[\\\\/]|hg[\\\\/]|bzr[\\\\/]|ssh[\\\\/]|aws[\\\\/]|docker[\\\\/]|kube[\\\\/]|(?:claude|cursor|continue|aider|roo|zed|cline|kiro|windsurf|rovodev|codex|opencode|plandex|fabric|vscode|idea)[\\\\/]|(?:ai|cursor|aider)ignore|npmrc|pgpass|my\\.cnf|netrc|ds_store|(?:bash|zsh|sh|mysql|psql|python)_history|bashrc|profile))(?:$|[\\n\\\\/?. ])',
    '(?:^|[\\\\/\\n])(?:web-inf|meta-inf)(?:$|[\\\\/\\n])',
    '\\b(?:boot|win|system|php|my|desktop)\\.ini\\b',
    '\\b(?:wp-config\\.(?:php|bak|old|txt)|web\\.config|localsettings\\.php|local\\.xml|configuration\\.php|id_(?:rsa|dsa|ecdsa|ed25519)|authorized_keys|known_hosts|ntuser\\.dat|autoexec\\.bat|config\\.sys|sam\\.bak)',
    '[a-z]:[\\\\/]+(?:windows|winnt|boot|inetpub|users|documents and settings|program files|xampp)',
    '\\b(?:windows|winnt)[\\\\/]+(?:system32|syswow64|repair|win\\.ini|system\\.ini)',
  ],
  schemes: [
    '(?:^|[\\n=,;( \'"])(?:php|phar|expect|glob|zlib|zip|bzip2|compress\\.(?:zlib|bzip2)|ogg|rar|ssh2(?:\\.\\w+)?|file|gopher|dict|jar|netdoc|classpath|view-source|local_file|ldaps?|tftp|smb)://?',
    'data://text',
    '\\bphp://(?:input|filter|stdin|memory|temp|fd)',
  ],
}
