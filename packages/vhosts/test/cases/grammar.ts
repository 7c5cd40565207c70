import type { VhostCase } from './case.ts'

/** Cases about the grammar and what stands where. */
export const grammarCases: readonly VhostCase[] = [
  ['main', 'server {', ['1:9: unexpected end of file, expecting "}" (the block "server" at 1:1 is not closed)']],
  ['main', 'server', ['1:1: directive "server" has no opening "{"', '1:7: unexpected end of file, expecting ";" or "}"']],
  ['main', '}', ['1:1: unexpected "}"']],
  [
    'server',
    'root /x;\nadd_header X "a b;\ngzip on;',
    ['2:14: unexpected end of file, expecting " (the quote that opens here is not closed)'],
  ],
  [
    'server',
    'ssl_certificate /x.pem; add_header X "a;\nadd_header Y "b";\nfrob x;',
    ['1:38: unexpected "b" behind the next quote (the quote that opens here is not closed in its line)'],
  ],
  [
    'server',
    'location ~ ^/(\\d{4})/a$ { } frob x;',
    ['1:17: unexpected "{" (a pattern with braces has to be in quotes)', '1:29: unknown directive "frob"'],
  ],
  ['server', 'location ~ "^/(\\d{4})/a$" { }'],
  ['server', 'add_header X "a\nb"; frob x;', ['2:5: unknown directive "frob"']],
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
    [
      '1:1: "http" belongs in nginx.conf, not in a vhost file (server.vhosts takes the files that nginx includes inside http {}, such as sites-enabled/*)',
    ],
  ],
  [
    'main',
    'events { }',
    [
      '1:1: "events" belongs in nginx.conf, not in a vhost file (server.vhosts takes the files that nginx includes inside http {}, such as sites-enabled/*)',
    ],
  ],
  [
    'main',
    'user www-data;',
    [
      '1:1: "user" belongs in nginx.conf, not in a vhost file (server.vhosts takes the files that nginx includes inside http {}, such as sites-enabled/*)',
    ],
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
  [
    'location',
    'set $a b;',
    ['1:1: directive "set" is not available here (use map, or write the value where the variable is used)'],
    'differs',
  ],
  ['server', 'location /a { } location /a { }', ['1:26: duplicate location "/a" (first at 2:1)']],
  ['server', 'include nothing_here;', ['1:1: no such file: nothing_here (looked in $DIR, /etc/nginx)']],
  ['server', 'include nothing_*;'],
  ['server', 'include;', ['1:1: invalid number of arguments in "include" directive']],
  ['server', 'include a b;', ['1:1: invalid number of arguments in "include" directive']],
  [
    'main',
    'sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_timeout 65; server_tokens off; default_type text/html; types { text/html html; } log_format x "y";',
  ],
  ['server', 'sendfile on off;', ['1:1: invalid number of arguments in "sendfile" directive']],
  ['server', 'sendfile on; sendfile off;', ['1:14: "sendfile" directive is duplicate (first at 2:1)']],
  ['location', 'ssl_ciphers HIGH;', ['1:1: "ssl_ciphers" directive is not allowed here']],
  ['server', 'access_log off main;', ['1:16: invalid parameter "main" in "access_log" directive']],
  ['server', 'sendfile;', ['1:1: invalid number of arguments in "sendfile" directive']],
  ['server', 'types;', ['1:1: directive "types" has no opening "{"']],
  ['server', 'error_log /dev/null;'],
  [
    'server',
    'limit_req zone=a;',
    [
      '1:1: directive "limit_req" is not available here (set [rate_limit] in the config file: one budget for each client address over all sites)',
    ],
  ],
]
