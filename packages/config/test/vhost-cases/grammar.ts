import type { VhostCase } from './case.ts'

/** Cases about the grammar and what stands where. */
export const grammarCases: readonly VhostCase[] = [
  ['main', 'server {', ['1:9: unexpected end of file, expecting "}" (the block "server" at 1:1 is not closed)']],
  ['main', 'server', ['1:1: directive "server" has no opening "{"', '1:7: unexpected end of file, expecting ";" or "}"']],
  ['main', '}', ['1:1: unexpected "}"']],
  ['main', 'server { } }', ['1:12: unexpected "}"']],
  ['main', ';', ['1:1: unexpected ";"']],
  ['main', '{ }', ['1:1: unexpected "{"']],
  ['main', 'server;', ['1:1: directive "server" has no opening "{"']],
  ['main', 'server a { }', ['1:1: invalid number of arguments in "server" directive']],
  ['main', 'server { listen unix:$DIR/a.sock; location / ; }', ['1:35: directive "location" has no opening "{"']],
  ['main', 'server { listen unix:$DIR/a.sock; location { } }', ['1:35: invalid number of arguments in "location" directive']],
  ['main', 'frobnicate on;', ['1:1: unknown directive "frobnicate"']],
  ['main', 'sever { }', ['1:1: unknown directive "sever" (did you mean "server"?)']],
  [
    'main',
    'http { server { } }',
    ['1:1: unknown directive "http" (vhost files are what nginx includes within http {}: name the files with the server blocks)'],
  ],
  [
    'main',
    'events { }',
    [
      '1:1: unknown directive "events" (vhost files are what nginx includes within http {}: name the files with the server blocks)',
    ],
  ],
  [
    'main',
    'user www-data;',
    ['1:1: unknown directive "user" (vhost files are what nginx includes within http {}: name the files with the server blocks)'],
  ],
  ['main', 'server { server { } }', ['1:10: "server" directive is not allowed here']],
  ['main', 'server { listen unix:$DIR/a.sock; } # comment'],
  ['main', '#only a comment'],
  ['main', ''],
  ['main', 'location / { }', ['1:1: "location" directive is not allowed here']],
  [
    'location',
    'location /x { }',
    ['1:1: "location" directive is not allowed here (locations cannot be nested: write the whole prefix or pattern)'],
    'differs',
  ],
  ['location', 'set $a b;', ['1:1: unknown directive "set" (use map, or write the value where the variable is read)'], 'differs'],
  ['server', 'location /a { } location /a { }', ['1:26: duplicate location "/a" (first at 2:1)']],
  ['server', 'include nothing_here;', ['1:1: no such file: nothing_here (looked in $DIR, /etc/nginx)']],
  ['server', 'include nothing_*;'],
  ['server', 'include;', ['1:1: invalid number of arguments in "include" directive']],
  ['server', 'include a b;', ['1:1: invalid number of arguments in "include" directive']],
  [
    'main',
    'sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 65; server_tokens off; default_type text/html; types { text/html html; } log_format x "y";',
  ],
  ['server', 'sendfile;', ['1:1: invalid number of arguments in "sendfile" directive']],
  ['server', 'types;', ['1:1: directive "types" has no opening "{"']],
  [
    'server',
    'error_log /dev/null;',
    ['1:1: unknown directive "error_log" (the log of this server is set by [logging])'],
    'differs',
  ],
  ['server', 'limit_req zone=a;', ['1:1: unknown directive "limit_req" (set [rate_limit] in the config file)']],
]
