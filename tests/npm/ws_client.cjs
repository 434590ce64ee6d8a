// Listens to the change feed with the package `ws`: node ws_client.cjs URL KEY N
// Prints each text as a line; after N events it pings, closes with 1000 and prints how it ended.
'use strict';
const { createRequire } = require('node:module');
const { join } = require('node:path');

const from = createRequire(join(process.env.TAIN_NPM_FOLDER, 'package.json'));
const WebSocket = from('ws');
const [url, key, wanted] = process.argv.slice(2);

const socket = new WebSocket(url, { headers: key ? { Authorization: `Bearer ${key}` } : {} });
let events = 0;
const say = (what) => process.stdout.write(`${JSON.stringify(what)}\n`);

socket.on('unexpected-response', (_, response) => {
  let body = '';
  response.on('data', (chunk) => { body += chunk; });
  response.on('end', () => { say({ refused: response.statusCode, body }); process.exit(0); });
});
socket.on('message', (data, isBinary) => {
  say({ binary: isBinary, text: JSON.parse(data.toString()) });
  if (!('type' in JSON.parse(data.toString())) && ++events === Number(wanted)) socket.ping('still there?');
});
socket.on('pong', (data) => {
  if (data.toString() !== 'still there?') return;
  say({ pong: data.toString() });
  socket.close(1000, 'enough');
});
socket.on('close', (code, reason) => { say({ closed: code, reason: reason.toString() }); });
socket.on('error', (error) => { say({ error: error.message }); process.exitCode = 1; });
