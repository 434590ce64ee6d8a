// Loaded before a published client of the HN API or the HN Search API: what it sends to the real site
// goes to the server under test (TAIN_HN_ORIGIN), and to nobody else. Its own code is left as it was
// published.
'use strict';
const http = require('node:http');
const https = require('node:https');

const THERE = ['hacker-news.firebaseio.com', 'hn.algolia.com'];
const here = new URL(process.env.TAIN_HN_ORIGIN);

function moved(url) {
  const to = new URL(url);
  if (to.hostname === here.hostname) return to;
  if (!THERE.includes(to.hostname)) throw new Error(`a request to ${to.hostname}`);
  to.protocol = here.protocol;
  to.host = here.host;
  return to;
}

const realFetch = globalThis.fetch;
globalThis.fetch = (what, init) => realFetch(moved(what.url ?? what), init);

// https.request(url | options, [options], [callback])
https.request = (first, ...rest) => {
  const plain = typeof first === 'string' || first instanceof URL;
  const given = plain ? (typeof rest[0] === 'object' ? rest.shift() : {}) : first;
  const host = given.hostname || String(given.host || '').split(':')[0];
  const to = moved(plain ? first : `https://${host}${given.path || '/'}`);
  const headers = { ...given.headers };
  for (const name of Object.keys(headers)) if (name.toLowerCase() === 'host') delete headers[name];
  return http.request({ method: given.method, headers, hostname: to.hostname, port: to.port,
    path: to.pathname + to.search }, rest.find((r) => typeof r === 'function'));
};
https.get = (...all) => {
  const request = https.request(...all);
  request.end();
  return request;
};
