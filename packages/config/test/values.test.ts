import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nearestName } from '@svc/core'
import { isCidr } from '@svc/http'
import { parseListenAddress } from '../src/index.ts'
import { isFetchTarget, isRedisUrl, normalizeHostPattern } from '../src/values/addresses.ts'

test('listen addresses are a host and a port', () => {
  for (const bad of ['', '8080', ':8080', 'a:', 'a:b', 'a:70000', '::1:80', '[a]:80', '[::1]', 'a:80:90', 'a:-1']) {
    assert.equal(parseListenAddress(bad), undefined, bad)
  }
  assert.deepEqual(parseListenAddress('127.0.0.1:0'), { host: '127.0.0.1', port: 0 })
  assert.deepEqual(parseListenAddress('[::1]:8080'), { host: '::1', port: 8080 })
  assert.deepEqual(parseListenAddress('localhost:65535'), { host: 'localhost', port: 65_535 })
})

test('networks are addresses with an optional prefix length of their family', () => {
  for (const bad of ['', 'a', '10.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '::1/129', '10.0.0.0/-1'])
    assert.equal(isCidr(bad), false, bad)
  for (const good of ['10.0.0.1', '10.0.0.0/0', '::1', '2001:db8::/32']) assert.equal(isCidr(good), true, good)
})

test('host names are compared in one form', () => {
  for (const bad of [
    '',
    '.',
    'a..b',
    '-a.org',
    'a-.org',
    'a b',
    '*',
    '*.',
    '*.*.org',
    'a.*',
    '*.127.0.0.1',
    '[x]',
    'a:80',
    `${'a'.repeat(64)}.org`,
  ]) {
    assert.equal(normalizeHostPattern(bad), undefined, bad)
  }
  assert.equal(normalizeHostPattern('WWW.Example.ORG.'), 'www.example.org')
  assert.equal(normalizeHostPattern('*.Bücher.example'), '*.xn--bcher-kva.example')
  assert.equal(normalizeHostPattern('[::1]'), '[::1]')
  assert.equal(normalizeHostPattern('127.0.0.1'), '127.0.0.1')
})

test('fetch targets are hosts, networks and hosts with a port', () => {
  for (const bad of ['', 'http://a', 'a b', 'a:0', 'a:x']) assert.equal(isFetchTarget(bad), false, bad)
  for (const good of ['db', '*.internal', '10.0.0.0/8', 'db:5432', '[::1]:80', '127.0.0.1'])
    assert.equal(isFetchTarget(good), true, good)
})

test('redis addresses are one URL or a list of nodes', () => {
  for (const bad of ['', 'a', 'http://a', 'redis://', 'a:1', 'redis://a,b']) assert.equal(isRedisUrl(bad), false, bad)
  for (const good of ['redis://a', 'rediss://:pw@a:1/2', 'redis://a:1,redis://b:2', 'a:1, b:2'])
    assert.equal(isRedisUrl(good), true, good)
})

test('the nearest name is a close one or none', () => {
  const names = ['listen', 'listen_tls', 'workers', 'engine']
  assert.equal(nearestName('lisen', names), 'listen')
  assert.equal(nearestName('wrokers', names), 'workers')
  assert.equal(nearestName('Engine', names), 'engine')
  assert.equal(nearestName('port', names), undefined)
  assert.equal(nearestName('', names), undefined)
})
