import type { Choice } from './random-choice.ts'

/** Writes one directive, or several that belong together. */
type Writer = (choice: Choice) => string

/** Files below the directory of all servers. */
export const randomFiles: Readonly<Record<string, string>> = {
  'index.html': '<h1>index</h1>\n',
  'page.html': '<p>page of text, text and more text</p>\n',
  'x.txt': 'text of x\n',
  'data.json': '{"a":"text"}\n',
  'unknown.zzz': 'no type\n',
  'a/index.html': '<h1>index of a</h1>\n',
  'a/b.txt': 'text of a/b\n',
  'a/deep/x.txt': 'text of a/deep/x\n',
  'docs/page.html': '<p>docs, text</p>\n',
  'docs/index.htm': '<p>the other index</p>\n',
  'docs/img/logo.png': 'png\n',
  'empty/keep': '',
  '404.html': 'not found here, text\n',
  '50x.html': 'down, text\n',
  'large.txt': 'large text\n'.repeat(400),
}

/** In front of the servers of a file. `{echo}` and `{dir}` as in `Setting`. */
export const randomPreamble = `
map $arg_a $mapped { default other; 1 one; ~^t(?<rest>.*)$ "t-$rest"; "" none; }
map $http_x_test $exp { default off; long 1h; ~*^m max; ep epoch; }
map $uri $by_uri { default 0; ~*\\.txt$ text; /a/ a; ~^/docs docs; }
geo $arg_ip $of_geo { default far; 127.0.0.0/8 near; 10.0.0.0/8 ten; }
map $arg_p $unused { ~^(?<part>[a-z])(?<tail>.*)$ 1; }
split_clients "$arg_a$arg_b" $split { 30% first; 20% second; * rest; }
upstream back { server {echo}; }
`

const statuses = ['200', '201', '204', '400', '403', '404', '405', '410', '418', '500', '503'] as const
const redirects = ['301', '302', '303', '307', '308'] as const
const paths = [
  '/',
  '/a',
  '/a/',
  '/a/b.txt',
  '/docs',
  '/docs/',
  '/docs/page.html',
  '/x.txt',
  '/img',
  '/p',
  '/p/',
  '/none',
] as const
const patterns = [
  '\\.txt$',
  '\\.(html|htm)$',
  '^/(?<part>[a-z]+)/(?<tail>.*)$',
  '^/p(.*)$',
  '/$',
  'x',
  '^/docs/(.+)$',
  '^/(a|b|p)',
] as const
const variables = [
  '$uri',
  '$request_uri',
  '$args',
  '$arg_a',
  '$host',
  '$server_name',
  '$scheme',
  '$remote_addr',
  '$http_x_test',
  '$cookie_c',
  '$request_method',
  '$is_args$args',
  '$document_uri',
  '$mapped',
  '$by_uri',
  '$of_geo',
  '$split',
  '$set',
  '$request_filename',
  '$document_root',
  '$content_type',
  '$content_length',
  '$http_user_agent',
  '$remote_user',
] as const

const text: Writer = (choice) => {
  const pieces = Array.from({ length: 1 + choice.below(3) }, () =>
    choice.chance(60) ? choice.of(variables) : choice.of(['plain', '-', 'x=', 'text']),
  )
  return `"${pieces.join(' ')}"`
}

const condition: Writer = (choice) => {
  const variable = choice.of(variables.filter((name) => !name.includes('$args')) as [string, ...string[]])
  return choice.of([
    variable,
    `${variable} = ${choice.of(['one', 'near', '/a/', 'GET', '1'])}`,
    `${variable} != ${choice.of(['one', 'far', '/x.txt', 'GET'])}`,
    `${variable} ~ "${choice.of(['^/a', 'o', 'te?st', '(.)(.)'])}"`,
    `${variable} ~* "${choice.of(['^/DOCS', 'GET', 'x'])}"`,
    `${variable} !~ "${choice.of(['a', '^$'])}"`,
    `${choice.of(['-f', '!-f', '-d', '!-d', '-e', '!-e'])} $request_filename`,
  ])
}

const returned: Writer = (choice) =>
  choice.of<() => string>([
    () => `return ${choice.of(statuses)};`,
    () => `return ${choice.of(statuses)} ${text(choice)};`,
    () => `return ${choice.of(redirects)} ${choice.of(['/x.txt', 'https://other.test$request_uri', '$uri/', '/$host$uri?q=1'])};`,
    () => 'return 444;',
  ])()

const rewrite: Writer = (choice) => {
  const to = choice.of(['/x.txt', '/a/$1', '/docs/page.html?z=1', '/none?', 'https://other.test/$1', '/p/$1?b=$arg_a'])
  const flag = choice.of(['last', 'break', 'redirect', 'permanent', ''])
  return `rewrite ${choice.of(['^/p/(.*)$', '^/(x.*)$', '(.*)/b', '^/none(.*)'])} ${to} ${flag};`
}

/** May be in a server, a location, or an `if` of a location. */
const settings: readonly Writer[] = [
  (choice) => `add_header X-A ${text(choice)}${choice.chance(50) ? ' always' : ''};`,
  (choice) => `add_header X-B ${text(choice)} always;`,
  (choice) => `expires ${choice.of(['1h', '-1', 'max', 'epoch', 'off', '$exp', 'modified 1h', '@15h'])};`,
  (choice) => `root {dir}${choice.of(['', '/a', '/docs', '/empty'])};`,
  (choice) =>
    `error_page 404 ${choice.of(['', '=200 ', '=410 ', '= '])}${choice.of(['/404.html', '/x.txt', '/none2', '@named'])};`,
  (choice) => `error_page 403 500 503 ${choice.of(['', '=200 '])}${choice.of(['/50x.html', '/p/e', 'https://other.test/e'])};`,
]

/** May be in a server and in a location. */
const plainSettings: readonly Writer[] = [
  ...settings,
  (choice) => `etag ${choice.of(['on', 'off'])};`,
  (choice) => `if_modified_since ${choice.of(['off', 'exact', 'before'])};`,
  (choice) => `max_ranges ${choice.of(['0', '1', '2'])};`,
  (choice) => `autoindex on; autoindex_format ${choice.of(['html', 'json'])};`,
  (choice) => `charset ${choice.of(['utf-8', 'off', 'koi8-r'])};`,
  (choice) => `default_type ${choice.of(['text/html', 'application/octet-stream', 'text/plain'])};`,
  (choice) => `index ${choice.of(['index.htm', 'index.html index.htm', 'none.html', '/x.txt', 'none $mapped.html /page.html'])};`,
  (choice) => choice.of(['deny all;', 'allow 127.0.0.1; deny all;', 'deny 127.0.0.1;', 'allow all;', 'deny 10.0.0.0/8;']),
  () => 'satisfy any;',
  (choice) => `auth_basic ${choice.of(['off', 'realm', '"$mapped realm"'])}; auth_basic_user_file {dir}/users;`,
  (choice) => `auth_request ${choice.of(['/ok', '/no', '/fails', 'off'])};`,
  (choice) => `gzip ${choice.of(['on', 'off'])}; gzip_min_length ${choice.of(['0', '100'])}; gzip_proxied any;`,
  (choice) => `gzip_types ${choice.of(['text/plain', '*', 'application/json'])}; gzip_vary ${choice.of(['on', 'off'])};`,
  (choice) => `sub_filter text ${text(choice)}; sub_filter_once ${choice.of(['on', 'off'])};`,
  (choice) => `sub_filter_types ${choice.of(['*', 'text/plain'])};`,
  (choice) => `absolute_redirect ${choice.of(['on', 'off'])};`,
  (choice) => `port_in_redirect ${choice.of(['on', 'off'])};`,
  (choice) => `client_max_body_size ${choice.of(['5', '0', '1k'])};`,
  (choice) => `valid_referers ${choice.of(['none blocked server_names', '*.good.test good.test/a', '~good none'])};`,
  (choice) => `types { ${choice.of(['text/x-own txt', 'text/html html zzz', 'application/x-data json'])}; }`,
  (choice) => `proxy_set_header X-Sent ${text(choice)};`,
  (choice) => `proxy_set_header Host ${choice.of(['$host', '$http_host', '$proxy_host', 'fixed'])};`,
  (choice) => `proxy_hide_header ${choice.of(['X-Hidden', 'X-Upstream', 'Cache-Control'])};`,
  (choice) => `proxy_intercept_errors ${choice.of(['on', 'off'])};`,
  (choice) => `proxy_redirect ${choice.of(['off', 'default', 'http://back/ /p/', '~^/(.*) /moved/$1'])};`,
  (choice) => `proxy_method ${choice.of(['POST', '$request_method', 'GET'])};`,
  (choice) => `proxy_set_body ${text(choice)};`,
  (choice) => `proxy_pass_request_headers ${choice.of(['on', 'off'])};`,
  (choice) => `proxy_cookie_path ${choice.of(['/ /p/', '~^/(.*)$ /$1/', 'off'])};`,
  (choice) => `proxy_ignore_headers ${choice.of(['X-Accel-Redirect', 'Expires Cache-Control'])};`,
  (choice) =>
    `set_real_ip_from ${choice.of(['127.0.0.0/8', '10.0.0.0/8'])}; real_ip_header ${choice.of(['X-Client', 'X-None'])};`,
]

const contents: readonly Writer[] = [
  () => '',
  () => '',
  returned,
  (choice) =>
    `try_files ${choice.of(['$uri $uri/', '$uri', '$uri.html /a$uri', '/none'])} ${choice.of(['=404', '=403', '/x.txt', '@named', '/p/f?q=1'])};`,
  (choice) => `proxy_pass http://${choice.of(['{echo}', 'back'])};`,
  (choice) => `proxy_pass http://${choice.of(['{echo}', 'back'])}/base/;`,
  (choice) => `proxy_pass http://{echo}${choice.of(['$uri', '$request_uri', '/v$is_args$args'])};`,
  (choice) => `alias {dir}/${choice.of(['', 'a/', 'docs/', 'x.txt'])};`,
  () => 'empty_gif;',
]

function rewrites(choice: Choice, depth: number): string[] {
  const writers: Writer[] = [
    () => `set $set ${text(choice)};`,
    rewrite,
    () => `if (${condition(choice)}) { ${choice.of([returned, rewrite, () => `set $set ${text(choice)};`])(choice)} }`,
    () => 'break;',
  ]
  if (depth > 0) {
    // nginx keeps the first value of $invalid_referer, so that in a server it would hide what a location says.
    writers.push(() => 'if ($invalid_referer) { return 403; }')
    writers.push(() => {
      const content = choice.chance(30) ? `proxy_pass http://{echo};` : ''
      return `if (${condition(choice)}) { ${written(choice, choice.some(settings, 2))} ${content} }`
    })
  }
  return choice.some(writers, 2).map((write) => write(choice))
}

function written(choice: Choice, writers: readonly Writer[]): string {
  return writers.map((write) => write(choice)).join(' ')
}

function match(choice: Choice): string {
  return choice.of<() => string>([
    () => choice.of(paths),
    () => choice.of(paths),
    () => `= ${choice.of(paths)}`,
    () => `^~ ${choice.of(paths)}`,
    () => `~ "${choice.of(patterns)}"`,
    () => `~* "${choice.of(patterns)}"`,
  ])()
}

function location(choice: Choice, depth: number): string {
  const parts = [
    written(choice, choice.some(plainSettings, 4)),
    ...rewrites(choice, depth),
    choice.of(contents as [Writer, ...Writer[]])(choice),
  ]
  if (choice.chance(8)) parts.push('internal;')
  if (choice.chance(8))
    parts.push(
      `limit_except ${choice.of(['GET', 'POST'])} { ${choice.of(['deny all;', 'allow 127.0.0.1; deny all;', 'auth_basic r; auth_basic_user_file {dir}/users;'])} }`,
    )
  if (depth < 2 && choice.chance(20)) parts.push(location(choice, depth + 1))
  return `location ${match(choice)} { ${parts.filter((part) => part !== '').join(' ')} }`
}

/** A server of its own name, which nginx may reject: a random mixture of directives of all kinds. */
export function randomServer(choice: Choice, index: number): string {
  const host = `s${index}.test`
  const name = choice.of([
    host,
    `${host} www.${host}`,
    `.${host}`,
    `*.${host} ${host}`,
    `"~^(?<sub>[a-z]+\\.)?s${index}\\.test$"`,
  ])
  const locations = Array.from({ length: 2 + choice.below(4) }, () => location(choice, 1))
  const own = [written(choice, choice.some(plainSettings, 4)), ...rewrites(choice, 0)]
  if (name.startsWith('s') && choice.chance(10)) own.push('server_name_in_redirect on;')
  if (choice.chance(10)) own.push(`merge_slashes off;`)
  return `server { listen {on0}; server_name ${name}; root {dir}; set $set initial; ${own.join(' ')}
  ${locations.join('\n  ')}
  location = /ok { internal; return 204; } location = /no { internal; return 401; } location = /fails { internal; return 500; }
  location @named { ${choice.of<() => string>([() => 'return 200 "named $uri";', () => 'try_files /page.html =404;', () => 'proxy_pass http://{echo};'])()} }
}`
}
