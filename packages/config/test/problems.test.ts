import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadText, problemLines } from './load-text.ts'

interface Case {
  readonly name: string
  readonly toml: string
  readonly problems: readonly string[]
}

const site = (keys: string) => `[[sites]]\nid = "a"\nhostnames = ["a.org"]\nroot = "site"\n${keys}\n`

const hash = '$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2g'

const cases: readonly Case[] = [
  {
    name: 'says what a key may be that takes several kinds of values',
    toml: site('maintenance = "yes"'),
    problems: ['svc.config.toml:5:1: sites[0].maintenance: expected true or false or a table, got a string'],
  },
  {
    name: 'names the key of a table in place of a plain value',
    toml: site('maintenance = { mesage = "back at noon", retry_after_secs = 0 }'),
    problems: [
      'svc.config.toml:5:17: sites[0].maintenance.mesage: unknown key (did you mean "message"?)',
      'svc.config.toml:5:42: sites[0].maintenance.retry_after_secs: must be at least 1',
    ],
  },
  {
    name: 'names the place of a syntax error',
    toml: '[server]\nlisten = \n',
    problems: ['svc.config.toml:2:10: unexpected end of line, expected a value'],
  },
  {
    name: 'names the place of a key that is set twice',
    toml: '[server]\nworkers = 1\nworkers = 2\n',
    problems: ["svc.config.toml:3:1: Cannot redefine existing key 'server.workers'"],
  },
  {
    name: 'suggests the nearest key of the section for an unknown one',
    toml: '[server]\n  wokers = 1\n[scaling]\nsession_afinity = "none"\n',
    problems: [
      'svc.config.toml:2:3: server.wokers: unknown key (did you mean "workers"?)',
      'svc.config.toml:4:1: scaling.session_afinity: unknown key (did you mean "session_affinity"?)',
    ],
  },
  {
    name: 'suggests the section of a key that stands in the wrong one',
    toml: 'listen_tls = "x"\n[server]\ndefault_ttl_ms = 1\n',
    problems: [
      'svc.config.toml:1:1: listen_tls: unknown key (did you mean "server.listen_tls"?)',
      'svc.config.toml:3:1: server.default_ttl_ms: unknown key (did you mean "cache.isr.default_ttl_ms"?)',
    ],
  },
  {
    name: 'says nothing about a key that resembles none',
    toml: 'zzzzzzz = 1\n',
    problems: ['svc.config.toml:1:1: zzzzzzz: unknown key'],
  },
  {
    name: 'reports wrong types and values with their places',
    toml: 'server = { workers = "four", engine = "uwss", max_body_bytes = 1.5, loopback_trust = 1 }\ncache.isr.max_entries = -1\nwaf = 3\ntelemetry.sample_rate = nan\n',
    problems: [
      'svc.config.toml:1:12: server.workers: expected a number, got a string',
      'svc.config.toml:1:30: server.engine: expected "uws" or "node", got "uwss" (did you mean "uws"?)',
      'svc.config.toml:1:47: server.max_body_bytes: expected a whole number, got a float',
      'svc.config.toml:1:69: server.loopback_trust: expected true or false, got an integer',
      'svc.config.toml:2:1: cache.isr.max_entries: must be at least 0',
      'svc.config.toml:3:1: waf: expected a table, got an integer',
      'svc.config.toml:4:1: telemetry.sample_rate: expected a number, got nan',
    ],
  },
  {
    name: 'reports the element of a list over several lines',
    toml: '[server]\ntrusted_proxies = [\n  "10.0.0.0/8",\n  "10.0.0.0/33",\n  "::1/129", "fe80::/10", "host",\n]\n',
    problems: [
      'svc.config.toml:4:3: server.trusted_proxies[1]: expected an address or a CIDR such as "10.0.0.0/8"',
      'svc.config.toml:5:3: server.trusted_proxies[2]: expected an address or a CIDR such as "10.0.0.0/8"',
      'svc.config.toml:5:27: server.trusted_proxies[4]: expected an address or a CIDR such as "10.0.0.0/8"',
    ],
  },
  {
    name: 'refuses malformed addresses, paths, names and URLs',
    toml: [
      '[server]\nlisten = "8080"\nlisten_tls = "[::1]:99999"',
      '[health]\npath = "health"\n[telemetry]\notlp_endpoint = "collector:4317"\nsample_rate = 2\n[redis]\nurl = "http://x"',
      '[scaling]\nsession_cookie_name = "a b"',
    ].join('\n'),
    problems: [
      'svc.config.toml:2:1: server.listen: expected host:port such as "127.0.0.1:8080" or "[::1]:8080"',
      'svc.config.toml:3:1: server.listen_tls: expected host:port such as "127.0.0.1:8080" or "[::1]:8080"',
      'svc.config.toml:5:1: health.path: expected an absolute URL path such as "/__svc/health"',
      'svc.config.toml:7:1: telemetry.otlp_endpoint: expected an http or https URL',
      'svc.config.toml:8:1: telemetry.sample_rate: must be at most 1',
      'svc.config.toml:10:1: redis.url: expected redis://, rediss://, unix:///path, redis-sentinel://host,host/name or a comma-separated list of cluster nodes',
      'svc.config.toml:12:1: scaling.session_cookie_name: expected a cookie name (RFC 6265 section 4.1.1)',
    ],
  },
  {
    name: 'points at the table where a required key is missing',
    toml: '\n[[sites]]\nid = "a"\n\n[[tasks]]\nname = "t"\nschedule = "* * *"\nhandler = "GET /"\n',
    problems: [
      'svc.config.toml:2:1: sites[0].hostnames: is required',
      'svc.config.toml:2:1: sites[0].root: is required',
      'svc.config.toml:7:1: tasks[0].schedule: expected a cron expression of 5 or 6 fields',
      'svc.config.toml:8:1: tasks[0].handler: expected "http::GET /path"',
    ],
  },
  {
    name: 'refuses schedules that cannot be read or name no time, and tasks without a host where there is no site',
    toml: '[[tasks]]\nname = "a"\nschedule = "61 * * * *"\nhandler = "http::GET /"\nhost = "a.org"\n[[tasks]]\nname = "b"\nschedule = "0 0 31 2 *"\nhandler = "http::GET /"\n',
    problems: [
      'svc.config.toml:3:1: tasks[0].schedule: Invalid value for minute: 61',
      'svc.config.toml:6:1: tasks[1].host: is required, since there is no site',
      'svc.config.toml:8:1: tasks[1].schedule: names no time that will come',
    ],
  },
  {
    name: 'refuses a name that would be dropped',
    toml: `${site('')}[env]\n"__proto__" = "x"\n[[obs.alerts]]\nname = "a"\nmetric = "m"\nabove = 1\nlabels = { __proto__ = "x" }\n`,
    problems: [
      'svc.config.toml:7:1: env.__proto__: is no possible name',
      'svc.config.toml:12:12: obs.alerts[0].labels.__proto__: is no possible name',
    ],
  },
  {
    name: 'refuses site ids, host names, environment names and fetch targets that are none',
    toml: '[[sites]]\nid = "A b"\nlabel = ".x"\nhostnames = ["ok.org", "a..org", "*", "http://x"]\nroot = "site"\nfetch_allow = ["10.0.0.0/8", "db.local:5432", "a b"]\n[sites.env]\n"A-B" = "1"\nN = 1\n',
    problems: [
      'svc.config.toml:2:1: sites[0].id: expected 1 to 63 characters of a-z, 0-9, ".", "_" and "-", the first a letter or digit',
      'svc.config.toml:3:1: sites[0].label: expected 1 to 63 characters of a-z, 0-9, ".", "_" and "-", the first a letter or digit',
      'svc.config.toml:4:24: sites[0].hostnames[1]: expected a host name such as "example.org" or "*.example.org"',
      'svc.config.toml:4:34: sites[0].hostnames[2]: expected a host name such as "example.org" or "*.example.org"',
      'svc.config.toml:4:39: sites[0].hostnames[3]: expected a host name such as "example.org" or "*.example.org"',
      'svc.config.toml:6:47: sites[0].fetch_allow[2]: expected a host name, an address, a CIDR or host:port',
      'svc.config.toml:8:1: sites[0].env.A-B: expected the name of an environment variable',
      'svc.config.toml:9:1: sites[0].env.N: expected a string, got an integer',
    ],
  },
  {
    name: 'refuses a root that is missing or no directory',
    toml: `${site('')}[[sites]]\nid = "b"\nhostnames = ["b.org"]\nroot = "svc.config.toml"\n[[apps]]\nname = "c"\nhostname = "c.org"\nsource = "nowhere"\n`,
    problems: [
      'svc.config.toml:9:1: sites[1].root: svc.config.toml is not a directory',
      'svc.config.toml:13:1: apps[0].source: no such directory: nowhere',
    ],
  },
  {
    name: 'names both places of an id or host name that is claimed twice, whatever its case',
    toml: `${site('')}[[sites]]\nid = "b"\nhostnames = ["x.org", "A.ORG."]\nroot = "site"\n[[apps]]\nname = "a"\nhostname = "x.org"\nsource = "site"\n`,
    problems: [
      'svc.config.toml:8:23: sites[1].hostnames[1]: host name "a.org" is already taken at svc.config.toml:3:14',
      'svc.config.toml:11:1: apps[0].name: site id "a" is already taken at svc.config.toml:2:1',
      'svc.config.toml:12:1: apps[0].hostname: host name "x.org" is already taken at svc.config.toml:8:14',
    ],
  },
  {
    name: 'refuses a label that another site has, by its id or by its own word',
    toml: `${site('')}[[sites]]\nid = "b"\nlabel = "a"\nhostnames = ["b.org"]\nroot = "site"\n[[sites]]\nid = "c"\nlabel = "d"\nhostnames = ["c.org"]\nroot = "site"\n[[apps]]\nname = "d"\nhostname = "d.org"\nsource = "site"\n`,
    problems: [
      'svc.config.toml:8:1: sites[1].label: label "a" is already taken at svc.config.toml:2:1',
      'svc.config.toml:17:1: apps[0].name: label "d" is already taken at svc.config.toml:13:1',
    ],
  },
  {
    name: 'still finds claims twice beside a faulty site between them',
    toml: `${site('')}[[sites]]\nid = "b"\nroot = "site"\n[[sites]]\nid = "c"\nhostnames = ["a.org"]\nroot = "site"\n`,
    problems: [
      'svc.config.toml:6:1: sites[1].hostnames: is required',
      'svc.config.toml:11:14: sites[2].hostnames[0]: host name "a.org" is already taken at svc.config.toml:3:14',
    ],
  },
  {
    name: 'refuses what does not go together',
    toml: `server = { listen_tls = "127.0.0.1:8443", engine_tls = "uws" }\n[tls]\nmin_version = "1.3"\n[cache.isr]\nl2_enabled = true\n[rate_limit]\ndistributed = true\n${site('tls_cert = "c.pem"')}`,
    problems: [
      'svc.config.toml:3:1: tls.min_version: "1.3" is not available on engine "uws", which serves 127.0.0.1:8443 (set server.engine_tls = "node")',
      'svc.config.toml:5:1: cache.isr.l2_enabled: needs redis.url',
      'svc.config.toml:7:1: rate_limit.distributed: needs redis.url',
      'svc.config.toml:12:1: sites[0].tls_cert: needs tls_key',
    ],
  },
  {
    name: 'refuses certificates that cannot be read or are none',
    toml: '[server]\nlisten_tls = "127.0.0.1:0"\n[[tls.certs]]\ncert = "missing.pem"\nkey = "svc.config.toml"\n',
    problems: [
      'svc.config.toml:4:1: tls.certs[0].cert: cannot read missing.pem (no such file)',
      'svc.config.toml:5:1: tls.certs[0].key: svc.config.toml is not a private key in PEM form (error:1E08010C:DECODER routines::unsupported)',
    ],
  },
  {
    name: 'refuses to listen for TLS without any certificate',
    toml: '[server]\nlisten_tls = "127.0.0.1:0"\n',
    problems: [
      'svc.config.toml:2:1: server.listen_tls: no certificate is configured (set tls.certs, tls.auto or tls_cert and tls_key of a site)',
    ],
  },
  {
    name: 'checks the secret and the users of the admin panel',
    toml: [
      '[admin]\nenabled = true',
      `[[admin.users]]\nusername = "a"\npassword_hash = "${hash}"\nrole = "tenant_admin"`,
      '[[admin.users]]\nusername = "a"\npassword_hash = "plain text"\nrole = "root"',
      `[[admin.users]]\nusername = "a"\npassword_hash = "${hash}"\nrole = "viewer"\ntenant_id = "t"\n`,
    ].join('\n'),
    problems: [
      'svc.config.toml:1:1: admin.jwt_secret: is required when admin.enabled is true',
      'svc.config.toml:3:1: admin.users[0].tenant_id: is required for role "tenant_admin"',
      'svc.config.toml:9:1: admin.users[1].password_hash: expected an argon2id hash in its encoded form ("$argon2id$v=19$...")',
      'svc.config.toml:10:1: admin.users[1].role: expected "super_admin", "tenant_admin" or "viewer", got "root"',
      'svc.config.toml:12:1: admin.users[2].username: username "a" is already taken at svc.config.toml:4:1',
      'svc.config.toml:15:1: admin.users[2].tenant_id: role "viewer" has no tenant',
    ],
  },
  {
    name: 'refuses password hashes that make a login costly, and a host of the panel that a site claims',
    toml: [
      '[admin]\nhosts = ["admin.test", "shop.test"]',
      ...['m=262145,t=2,p=1', 'm=8,t=11,p=1', 'm=8,t=1,p=17', 'm=262144,t=10,p=16'].map(
        (cost, i) =>
          `[[admin.users]]\nusername = "u${i}"\nrole = "viewer"\npassword_hash = "$argon2id$v=19$${cost}$c2FsdA$aGFzaA"`,
      ),
      '[[sites]]\nid = "shop"\nhostnames = ["shop.test"]\nroot = "."\n',
    ].join('\n'),
    problems: [
      'svc.config.toml:2:24: admin.hosts[1]: host name "shop.test" is already taken at svc.config.toml:21:14',
      ...[6, 10, 14].map(
        (line, i) =>
          `svc.config.toml:${line}:1: admin.users[${i}].password_hash: costs too much at each login: at most m=262144 (256 MiB), t=10 and p=16 are allowed ("svc config credentials hash" prints one)`,
      ),
    ],
  },
  {
    name: 'refuses the password hash of the example, and one that was cut off',
    toml: ['$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>', hash.slice(0, hash.lastIndexOf('$'))]
      .map((text, index) => `[[admin.users]]\nusername = "u${index}"\npassword_hash = "${text}"\nrole = "viewer"\n`)
      .join(''),
    problems: ['3:1: admin.users[0]', '7:1: admin.users[1]'].map(
      (place) =>
        `svc.config.toml:${place}.password_hash: is no complete argon2id hash: expected "$argon2id$v=19$m=...,t=...,p=...$", then salt and hash in base64 ("svc config credentials hash" prints one)`,
    ),
  },
  {
    name: 'refuses a secret that is too short without repeating it',
    toml: '[admin]\njwt_secret = "only twenty-one bytes"\n',
    problems: ['svc.config.toml:2:1: admin.jwt_secret: must have at least 32 bytes'],
  },
  {
    name: 'refuses route rules with no target, two targets or a foreign action',
    toml: [
      '[[route_rules]]\npattern = "/a"',
      '[[route_rules]]\npattern = "/b"\nrewrite = "/c"\nredirect = "/d"',
      '[[route_rules]]\npattern = "/e"\naction = "redirect"\nredirect_status = 200',
      '[[route_rules]]\npattern = "/e"\naction = "redirect"',
      '[[route_rules]]\npattern = "/f"\nheaders = { "X-A" = "1" }',
      '[[route_rules]]\npattern = "/g"\naction = "block"\nupstream = "http://x"\n',
    ].join('\n'),
    problems: [
      'svc.config.toml:1:1: route_rules[0]: the rule does nothing (give it redirect, rewrite, upstream, headers or action)',
      'svc.config.toml:5:1: route_rules[1].rewrite: "redirect" is already the target of the rule',
      'svc.config.toml:9:1: route_rules[2].action: "redirect" needs "redirect"',
      'svc.config.toml:10:1: route_rules[2].redirect_status: expected 301, 302, 303, 307 or 308, got 200',
      'svc.config.toml:13:1: route_rules[3].action: "redirect" needs "redirect"',
      'svc.config.toml:16:13: route_rules[4].headers.X-A: expected a lower-case header name',
      'svc.config.toml:19:1: route_rules[5].action: cannot be combined with "upstream"',
    ],
  },
  {
    name: 'refuses route rules whose texts cannot be read',
    toml: [
      'pattern = "/a/**/b"\naction = "block"',
      'pattern = "/:x.html"\naction = "block"',
      'pattern = "/a?b"\naction = "block"',
      'pattern = "/a//b"\naction = "block"',
      'pattern = "/../b"\naction = "block"',
      'pattern = "/:x/:x"\naction = "block"',
      'pattern = "/:x"\nredirect = "//a.test/"',
      'pattern = "/:x"\nredirect = "/:y"',
      'pattern = "/:x"\nredirect = "https://a.test:x/"',
      'pattern = "/:x"\nredirect = "ftp://a.test/"',
      'pattern = "/:x"\nredirect = "/a b"',
      'pattern = "/:x"\nrewrite = "/**"',
      'pattern = "/:x"\nrewrite = "/a#b"',
      'pattern = "/:x"\nrewrite = "/%zz"',
      'pattern = "/:x"\nupstream = "nobody"',
      'pattern = "/:x"\nupstream = "ftp://a.test"',
      'pattern = "/:x"\nupstream = "http://a.test/?b"',
      'pattern = "/:x"\nupstream = "http://%zz:b@a.test"',
      'pattern = "/:x/:y_1/*.png/**"\nredirect = "https://a.test:8080/:x/:y_1/**?x=:x"',
      'pattern = "/:x"\nupstream = "http://unix:/run/a.sock:/b/"',
    ]
      .map((lines) => `[[route_rules]]\n${lines}\n`)
      .join(''),
    problems: [
      'svc.config.toml:2:1: route_rules[0].pattern: "**" is not a valid segment: expected text, ":name", text with one "*", or "**" at the end',
      'svc.config.toml:5:1: route_rules[1].pattern: ":x.html" is not a valid segment: expected text, ":name", text with one "*", or "**" at the end',
      'svc.config.toml:8:1: route_rules[2].pattern: expected a path without query, fragment and whitespace',
      'svc.config.toml:11:1: route_rules[3].pattern: a path must not have an empty segment',
      'svc.config.toml:14:1: route_rules[4].pattern: dot segments never match: paths are normalised first',
      'svc.config.toml:17:1: route_rules[5].pattern: ":x" is defined twice',
      'svc.config.toml:21:1: route_rules[6].redirect: a path that begins with two slashes names a host',
      'svc.config.toml:24:1: route_rules[7].redirect: the pattern has no ":y"',
      'svc.config.toml:27:1: route_rules[8].redirect: a request must not choose the host of a redirect',
      'svc.config.toml:30:1: route_rules[9].redirect: expected a path, or a URL with http or https',
      'svc.config.toml:33:1: route_rules[10].redirect: expected a URL or a path without whitespace and control characters',
      'svc.config.toml:36:1: route_rules[11].rewrite: the pattern has no "**"',
      'svc.config.toml:39:1: route_rules[12].rewrite: expected a path without whitespace, control characters and fragment',
      'svc.config.toml:42:1: route_rules[13].rewrite: expected a path without whitespace, control characters and fragment',
      'svc.config.toml:45:1: route_rules[14].upstream: neither a URL nor the name of an upstream in a vhost file',
      'svc.config.toml:48:1: route_rules[15].upstream: expected a URL with http or https',
      'svc.config.toml:51:1: route_rules[16].upstream: expected a URL without query, fragment and whitespace',
      'svc.config.toml:54:1: route_rules[17].upstream: user or password contains an invalid percent escape',
    ],
  },
  {
    name: 'refuses objectives and alerts without thresholds, and rules without conditions',
    toml: [
      '[[obs.slos]]\nname = "l"\nkind = "latency"\nobjective = 1',
      '[[obs.slos]]\nname = "m"\nkind = "latency"\nobjective = 0.9',
      '[[obs.alerts]]\nname = "n"\nmetric = "m"\nabove = 1\nbelow = 2',
      '[[waf.rules]]\nid = "r"\naction = "block"\nwhen = {}\n',
      `[[obs.alerts]]\nname = "many"\nmetric = "m"\nabove = 1\nlabels = { ${Array.from({ length: 9 }, (_, i) => `l${i} = "x"`).join(', ')} }`,
    ].join('\n'),
    problems: [
      'svc.config.toml:4:1: obs.slos[0].objective: must be less than 1',
      'svc.config.toml:5:1: obs.slos[1].threshold_ms: is required for kind "latency"',
      'svc.config.toml:9:1: obs.alerts[0]: needs either "above" or "below"',
      'svc.config.toml:17:1: waf.rules[0].when: expected at least one condition',
      'svc.config.toml:23:1: obs.alerts[1].labels: expected at most 8 labels',
    ],
  },
]

for (const { name, toml, problems } of cases) {
  test(name, async (t) => {
    const { dir, result } = await loadText(t, toml)
    assert.deepEqual(problemLines(dir, result), problems)
  })
}

test('a pattern of the firewall that is wrong, or needs too much memory, is a mistake at its place', async (t) => {
  const toml = `[[waf.rules]]\nid = "a"\naction = "block"\n[waf.rules.when]\npath = "("\nquery = "(a|b)*a(a|b){20}c"\n`
  const { dir, result } = await loadText(t, toml)
  const [path = '', query = ''] = problemLines(dir, result)
  assert.match(path, /^svc\.config\.toml:5:1: waf\.rules\[0\]\.when\.path: the pattern cannot be used: missing closing/)
  assert.match(
    query,
    /^svc\.config\.toml:6:1: waf\.rules\[0\]\.when\.query: the pattern cannot be used: it needs too much memory/,
  )
})

test('rules of the firewall that have too many patterns together are one mistake', async (t) => {
  const fieldsOf = (rule: number) => Array.from({ length: 16 }, (_, at) => `x-${at} = "${rule}x${at}"`).join(', ')
  const rule = (at: number) => `[[waf.rules]]\nid = "r${at}"\naction = "block"\nwhen = { header = { ${fieldsOf(at)} } }\n`
  const rules = (count: number) => Array.from({ length: count }, (_, at) => rule(at)).join('')
  assert.equal((await loadText(t, rules(125))).result.ok, true)
  const { dir, result } = await loadText(t, rules(126))
  const problems = problemLines(dir, result)
  assert.equal(problems.length, 1)
  assert.match(
    problems[0] ?? '',
    /waf\.rules: the rules have more than 2000 different patterns \(use shorter patterns, or fewer\)$/,
  )
})
