import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adminHosts } from '../src/index.ts'

test('without a setting the names and addresses of the machine are the hosts of the panel', () => {
  const isAdminHost = adminHosts({ hosts: undefined, isSiteHost: (name) => name === '192.0.2.7' || name === 'shop.localhost' })
  for (const host of ['localhost', 'LOCALHOST:8080', 'x.localhost', '127.0.0.1:80', '192.0.2.1', '[::1]:8080', '[2001:db8::1]']) {
    assert.equal(isAdminHost(host), true, host)
  }
  for (const host of ['192.0.2.7', 'shop.localhost', 'shop.test', 'localhost.evil.test', '127.0.0.1.evil.test', '', 'a b']) {
    assert.equal(isAdminHost(host), false, host)
  }
})

test('configured hosts replace those of the machine', () => {
  const isAdminHost = adminHosts({ hosts: ['admin.test', '*.panel.test'], isSiteHost: () => false })
  for (const host of ['admin.test', 'Admin.TEST:8443', 'a.panel.test']) assert.equal(isAdminHost(host), true, host)
  for (const host of ['localhost', '127.0.0.1', 'panel.test', 'x.admin.test']) assert.equal(isAdminHost(host), false, host)
})

test('an empty list leaves no host', () => {
  assert.equal(adminHosts({ hosts: [], isSiteHost: () => false })('localhost'), false)
})
