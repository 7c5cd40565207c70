import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFiles } from './read-text.ts'

/** Files that the packages of PHP and certbot install. */
const installed = {
  'snippets/fastcgi-php.conf':
    'fastcgi_split_path_info ^(.+?\\.php)(/.*)$;\ntry_files $fastcgi_script_name =404;\nset $path_info $fastcgi_path_info;\nfastcgi_param PATH_INFO $path_info;\nfastcgi_index index.php;\ninclude fastcgi.conf;\n',
  'letsencrypt/options-ssl-nginx.conf':
    'ssl_session_cache shared:le_nginx_SSL:10m;\nssl_protocols TLSv1.2 TLSv1.3;\nssl_prefer_server_ciphers off;\nssl_ciphers "ECDHE";\n',
  'fastcgi.conf': 'fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n',
}

/** A site as tutorials have it. */
const site = `
upstream app { server 127.0.0.1:3000; keepalive 32; zone app 64k; }
map $http_upgrade $connection_upgrade { default upgrade; '' close; }
limit_req_zone $binary_remote_addr zone=one:10m rate=1r/s;
server { listen 80; server_name example.org www.example.org; return 301 https://$host$request_uri; }
server {
  listen 443 ssl http2;
  server_name example.org www.example.org;
  ssl_certificate /etc/ssl/example.pem;
  ssl_certificate_key /etc/ssl/example.key;
  include letsencrypt/options-ssl-nginx.conf; # managed by Certbot
  ssl_dhparam /etc/letsencrypt/ssl-dhparams.pem; # managed by Certbot
  ssl_stapling on; ssl_stapling_verify on; ssl_trusted_certificate /etc/ssl/chain.pem; ssl_ecdh_curve auto; resolver 1.1.1.1;
  root /var/www/html;
  index index.php index.html index.nginx-debian.html;
  charset utf-8; etag on; merge_slashes on; absolute_redirect on; port_in_redirect off; underscores_in_headers on;
  client_max_body_size 64M; send_timeout 60; keepalive_requests 1000; open_file_cache max=1000; limit_rate 100k; limit_conn a 1;
  access_log /var/log/nginx/access.log combined; error_log /var/log/nginx/error.log warn;
  gzip on; gzip_vary on; gzip_proxied any; gzip_comp_level 6; gzip_types text/css; gzip_static on; brotli on;
  add_header X-Frame-Options "SAMEORIGIN" always; more_set_headers "A: b";
  if ($host = www.example.org) { return 301 https://example.org$request_uri; }
  set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; real_ip_recursive on; satisfy any; auth_request /auth;
  location / { try_files $uri $uri/ /index.php?$query_string; }
  location = /favicon.ico { access_log off; log_not_found off; }
  location ~* \\.(jpg|css|js)$ { expires max; add_header Cache-Control public; }
  location ~ \\.php$ {
    include snippets/fastcgi-php.conf;
    fastcgi_pass unix:/run/php/php-fpm.sock;
    fastcgi_buffers 16 16k; fastcgi_intercept_errors on;
  }
  location /api/ {
    proxy_pass http://app;
    proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_upgrade;
    proxy_cache_bypass $http_upgrade;
    proxy_buffers 8 16k; proxy_intercept_errors on; proxy_pass_request_headers on; limit_req zone=one burst=5;
  }
  location /status { stub_status; }
  location /dl/ { autoindex on; alias /srv/dl/; sub_filter a b; valid_referers none a.org; }
  location ~ /\\.(?!well-known) { deny all; }
}
`

test('everything in a usual site that is not known here says what to do instead', async (t) => {
  const { lines } = await readFiles(t, { ...installed, 'a.conf': site })
  assert.ok(lines.length > 0)
  for (const line of lines) {
    assert.match(line, /^a\.conf:\d+:\d+: /, 'no file of another package is to be edited')
    assert.match(line, / \(.+\)$/)
    assert.doesNotMatch(line, /did you mean/)
  }
})
