import type { VhostCase } from './case.ts'

/** `auth_request`, limits and the rest that protects locations. */
export const guardsCases: readonly VhostCase[] = [
  ['location', 'auth_request /check; auth_request_set $user $upstream_http_x_user; auth_delay 2s;'],
  ['location', 'auth_request_set user x;', ['1:18: invalid variable name "user"']],
  ['location', 'auth_request_set $host x;', ['1:18: the duplicate "host" variable (it is a built-in variable)']],
  ['location', 'limit_except GET { deny all; allow 10.0.0.1; } }  location /b { limit_except get PATCH { auth_basic off; }'],
  ['location', 'limit_except GET FOO { deny all; }', ['1:18: invalid method "FOO"']],
  ['location', 'limit_except GET { return 403; }', ['1:20: "return" directive is not allowed here']],
  ['server', 'limit_except GET { deny all; }', ['1:1: "limit_except" directive is not allowed here']],
  [
    'location',
    'limit_except GET { proxy_pass http://127.0.0.1/x; }',
    [
      '1:20: "proxy_pass" cannot have URI part in location given by regular expression, or inside named location, or inside "if" statement, or inside "limit_except" block',
    ],
  ],
  [
    'main',
    'limit_req_zone $host zone=a:32k rate=10r/s; limit_req_zone $host zone=b:1m rate=30r/m; limit_conn_zone $host zone=c:1m; server { listen unix:$DIR/w.sock; limit_req zone=a burst=5 nodelay; limit_req zone=b burst=9 delay=3; limit_req_status 429; limit_conn c 4; limit_conn_dry_run on; }',
  ],
  ['main', 'limit_req_zone $host zone=a:1m rate=0r/s;', ['1:32: invalid rate "rate=0r/s"']],
  ['main', 'limit_req_zone $host zone=a rate=1r/s;', ['1:22: invalid zone size "zone=a"']],
  ['main', 'limit_req_zone $host zone=a:1k rate=1r/s;', ['1:22: zone "a" is too small']],
  ['main', 'limit_conn_zone $host zone=a:1025m;', ['1:23: zone "a" is larger than 1g'], 'differs'],
  [
    'main',
    'limit_req_zone $host zone=a:1m rate=1r/s; limit_conn_zone $host zone=a:1m;',
    ['1:43: the zone "a" is already declared (first at 1:1)'],
  ],
  [
    'main',
    'limit_conn_zone $host zone=a:1m; server { listen unix:$DIR/w.sock; limit_req zone=a; }',
    ['1:68: the zone "a" is not declared by "limit_req_zone"'],
  ],
  [
    'main',
    'limit_req_zone $host zone=a:1m rate=1r/s; server { listen unix:$DIR/w.sock; limit_req zone=a; limit_req zone=a burst=2; }',
    ['1:95: "limit_req" directive is duplicate'],
  ],
  ['server', 'limit_req burst=1;', ['1:1: "limit_req" must have "zone" parameter']],
  ['server', 'limit_req zone=a burst=x;', ['1:18: invalid burst value "burst=x"']],
  ['server', 'limit_conn a 0;', ['1:14: invalid number of connections "0"']],
  ['server', 'limit_req_status 200;', ['1:18: value "200" must be between 400 and 599']],
  ['server', 'valid_referers none server_names *.a.org ~secret;'],
  [
    'server',
    'valid_referers none;',
    ['1:1: the "none" or "blocked" referers are specified in the "valid_referers" directive without any valid referer'],
  ],
  ['server', 'valid_referers a.*.org;', ['1:16: invalid hostname or wildcard "a.*.org"']],
  ['main', 'valid_referers a.org;', ['1:1: "valid_referers" directive is not allowed here']],
  ['server', 'secure_link $arg_a; secure_link_md5 $uri;'],
  [
    'server',
    'secure_link $arg_a; secure_link_secret x;',
    ['1:21: "secure_link_secret" cannot be mixed with "secure_link" and "secure_link_md5"'],
  ],
  ['main', 'geo $a { default x; 10.0.0.0/8 y; delete 10.0.0.0/8; proxy 10.0.0.1; proxy_recursive; ::/0 z; } geo $arg_x $b { }'],
  ['main', 'geo $a { x y; }', ['1:10: invalid network "x"']],
  [
    'main',
    'geo $a { ranges; 10.0.0.1-10.0.0.9 x; }',
    ['1:10: "ranges" is not available here (write networks, such as 10.0.0.0/8)', '1:18: invalid network "10.0.0.1-10.0.0.9"'],
    'differs',
  ],
  ['main', 'geo $host { }', ['1:5: the duplicate "host" variable (it is a built-in variable)']],
  ['main', 'split_clients $host $a { 0.5% x; 50% y; * z; }'],
  ['main', 'split_clients $host $a { 60% x; 60% y; }', ['1:33: percent total is greater than 100%']],
  ['main', 'split_clients $host $a { 5 x; }', ['1:26: invalid percent value "5"']],
  [
    'main',
    'map $b $a { default x; } geo $a $b { }',
    ['1:8: cycle while evaluating variable "a" ($a reads $b (1:26) reads $a)'],
    'differs',
  ],
]
