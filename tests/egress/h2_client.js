// A program that speaks HTTP/2, for h2.py: h2_client.js CA SCRIPT. The script is the body of an async function; it has
// `session`, ask(headers, body) -> {status, headers, body, trailers, informed} or an error, and say().
'use strict';
const http2 = require('http2');
const fs = require('fs');

const [ca, script] = process.argv.slice(2);
const host = 'api.example.test';
const connect = () => {
  const made = http2.connect(`https://${host}`, { ca: fs.readFileSync(ca) });
  made.on('error', () => {});
  return made;
};
const session = connect();
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');
const ask = (headers, body, on = session) => new Promise((resolve) => {
  const stream = on.request(headers, { endStream: body === undefined });
  const answer = { body: '', size: 0, informed: [], trailers: {} };
  stream.on('headers', (informed) => answer.informed.push(informed[':status']));
  stream.on('response', (got) => { answer.status = got[':status']; answer.headers = got; });
  stream.on('trailers', (got) => { answer.trailers = got; });
  stream.on('data', (data) => {
    answer.size += data.length;
    if (answer.body.length < 65536) answer.body += data.toString('latin1');
  });
  stream.on('error', (error) => { answer.error = String(error.code || error); });
  // After an early answer, with something still to write, node may never say `close`.
  stream.on('end', () => setTimeout(() => resolve(answer), 1000));
  stream.on('close', () => { answer.code = stream.rstCode; resolve(answer); });
  if (body !== undefined) stream.end(body);
});
const AsyncFunction = (async () => {}).constructor;
new AsyncFunction('session', 'ask', 'say', 'connect', 'http2', script)(session, ask, say, connect, http2).then(
  () => session.destroy(),
  (error) => { say({ failed: String(error.stack) }); process.exit(1); });
