import test from 'node:test'
import { type Case, Differential } from './nginx/differential.ts'

const conf = `
server { listen {on0}; server_name a.test; svc_site a; root {dir};
  set_real_ip_from 127.0.0.0/8; set_real_ip_from 10.0.0.0/8; set_real_ip_from 2001:db8::/32;
  location /real { return 200 "$remote_addr|$realip_remote_addr|$proxy_add_x_forwarded_for"; }
  location /real/proxied { proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Real-IP $remote_addr; proxy_pass http://{echo}; }
  location /real/allow { allow 192.0.2.7; deny all; return 200 never; }
  location /real/file/ { allow 192.0.2.0/24; deny all; alias {dir}/; }
  location /real/if { if ($remote_addr = 192.0.2.7) { return 200 "is .7"; } return 200 "is not"; }
  location /real/other { real_ip_header X-Other; return 200 "$remote_addr"; }
}
server { listen {on0}; server_name xff.test; svc_site xff; root {dir};
  set_real_ip_from 127.0.0.0/8; set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For;
  location /last { return 200 "$remote_addr|$realip_remote_addr"; }
  location /deny/ { deny 192.0.2.0/24; alias {dir}/; }
}
server { listen {on0}; server_name deep.test; svc_site deep; root {dir};
  set_real_ip_from 127.0.0.0/8; set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on;
  location /all { return 200 "$remote_addr|$realip_remote_addr|$proxy_add_x_forwarded_for"; }
  location /deny/ { deny 192.0.2.0/24; alias {dir}/; }
}
server { listen {on0}; server_name late.test; svc_site late; root {dir};
  location /in/ { set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For; allow 192.0.2.0/24; deny all; alias {dir}/; }
  location /text { set_real_ip_from 127.0.0.0/8; real_ip_header X-Forwarded-For; return 200 "$remote_addr"; }
  location /to { rewrite ^ /in/page.txt last; }
  location /out/ { allow 127.0.0.0/8; deny all; alias {dir}/; }
}
server { listen {on0}; server_name none.test; svc_site none;
  set_real_ip_from 198.51.100.1; real_ip_header X-Forwarded-For;
  location / { return 200 "$remote_addr|$realip_remote_addr"; }
}
`

const files = { 'page.txt': 'page' }

/** Requests with fields that name another client. */
const realIp: readonly Case[] = [
  ...['/real', '/real/proxied', '/real/allow', '/real/file/page.txt', '/real/if', '/real/other'].flatMap((target) =>
    [
      {},
      { 'X-Real-IP': '192.0.2.7' },
      { 'X-Real-IP': '192.0.2.8' },
      { 'X-Real-IP': '2001:db8::1' },
      { 'X-Real-IP': '192.0.2.7:1234' },
      { 'X-Real-IP': '[2001:db8::2]:80' },
      { 'X-Real-IP': 'no address' },
      { 'X-Real-IP': '192.0.2.9, 192.0.2.7' },
      { 'X-Forwarded-For': '192.0.2.7' },
      { 'X-Other': '192.0.2.7' },
      { 'X-Other': '192.0.2.7', 'X-Real-IP': '192.0.2.8' },
    ].map((headers) => ({ target, headers })),
  ),
  ...[
    ['xff.test', '/last'],
    ['xff.test', '/deny/page.txt'],
    ['deep.test', '/all'],
    ['deep.test', '/deny/page.txt'],
    ['late.test', '/in/page.txt'],
    ['late.test', '/text'],
    ['late.test', '/to'],
    ['late.test', '/out/page.txt'],
    ['none.test', '/'],
  ].flatMap(([host = '', target = '']) =>
    [
      '',
      '192.0.2.7',
      '192.0.2.7, 10.0.0.1',
      '192.0.2.7,10.0.0.1,10.0.0.2',
      '198.51.100.9, 192.0.2.7, 10.0.0.1',
      'spoofed, 10.0.0.1',
      'spoofed',
      '10.0.0.3',
      '192.0.2.7, unknown, 10.0.0.1',
      '  192.0.2.7 ,  ',
    ].map((value) => ({ host, target, headers: value === '' ? {} : { 'X-Forwarded-For': value } })),
  ),
]

/** The second time a response may come from a cache. */
const repeated = (cases: readonly Case[]): Case[] => [...cases, ...cases]

test('access is decided as by nginx', async (t) => {
  const differential = await Differential.start(t, { conf, files })
  await differential?.compare(t, repeated(realIp))
})
