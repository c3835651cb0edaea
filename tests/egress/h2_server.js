// An HTTP/2 server for h2.py: h2_server.js PORT KEY CERTIFICATE. It writes a line of JSON to
// standard output for each request that ended; paths choose the answer.
'use strict';
const http2 = require('http2');
const fs = require('fs');

const [port, key, cert] = process.argv.slice(2);
const server = http2.createSecureServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert) });
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n');

const sockets = new Set();
server.on('secureConnection', (socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
});
server.on('session', (session) => {
  session.on('error', () => {});
});
server.on('stream', (stream, headers) => {
  const path = headers[':path'].split('?')[0];
  const seen = { method: headers[':method'], path: headers[':path'], headers, body: '', size: 0, trailers: {} };
  stream.on('error', () => {});
  stream.on('trailers', (trailers) => { seen.trailers = trailers; });
  stream.on('aborted', () => say({ aborted: path }));
  if (path === '/echo') {  // as gRPC does: an answer that grows with the question, and ends with a status
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'x-size': String(seen.size) }));
    stream.on('data', (data) => { seen.size += data.length; stream.write(data); });
    stream.on('end', () => { if (!stream.aborted) say(seen); stream.end(); });
    return;
  }
  if (path === '/never') {  // answers, and does not read
    stream.pause();
    return;
  }
  if (path === '/early') {  // answers before the question is over
    stream.respond({ ':status': 413 });
    stream.end('too much');
    say(seen);
    return;
  }
  stream.on('data', (data) => {
    seen.size += data.length;
    if (seen.body.length < 4096) seen.body += data.toString('latin1');
  });
  stream.on('end', () => {
    if (stream.aborted) return;  // node says 'end' of some streams that were reset, too
    say(seen);
    if (stream.destroyed) return;
    if (path === '/events') {
      stream.respond({ ':status': 200, 'content-type': 'text/event-stream' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '3' }));
      let sent = 0;
      stream.write(`data: ${sent++}\n\n`);
      // The next event goes when the program has said that it saw the last one.
      waiting.push(() => {
        stream.write(`data: ${sent++}\n\n`);
        if (sent === 3) { stream.end(); return true; }
        return false;
      });
    } else if (path === '/next') {
      if (waiting[0] && waiting[0]()) waiting.shift();
      stream.respond({ ':status': 204 }, { endStream: true });
    } else if (path.startsWith('/big')) {
      let left = Number(path.slice(4));
      stream.respond({ ':status': 200, 'content-length': left });
      const piece = Buffer.alloc(1 << 16, 'b');
      const more = () => {
        while (left > 0) {
          const part = Math.min(left, piece.length);
          left -= part;
          if (!stream.write(piece.subarray(0, part)) && left > 0) return stream.once('drain', more);
        }
        stream.end();
      };
      more();
    } else if (path === '/die') {  // half of what it promised, and the connection is gone
      stream.respond({ ':status': 200 });
      stream.write('half', () => setImmediate(() => sockets.forEach((socket) => socket.destroy())));
    } else if (path === '/half') {  // the same, but only the stream
      stream.respond({ ':status': 200 });
      stream.write('half', () => setImmediate(() => stream.destroy(new Error('half'))));
    } else if (path === '/short') {
      stream.respond({ ':status': 200, 'content-length': 100 });
      stream.end('half');
    } else if (path === '/leave') {
      stream.session.goaway(0);
      stream.respond({ ':status': 200 });
      stream.end('goodbye');
    } else if (path === '/hints') {
      stream.additionalHeaders({ ':status': 103, link: '</x>; rel=preload' });
      stream.respond({ ':status': 200 });
      stream.end('after hints');
    } else if (path === '/part') {
      stream.respond({ ':status': 206, 'content-range': 'bytes 0-0/9' });
      stream.end('x');
    } else if (path === '/endless') {  // hints, and more of them than anybody needs
      for (let i = 0; i < 200 && !stream.destroyed; ++i) stream.additionalHeaders({ ':status': 103, link: '</x>' });
      if (!stream.destroyed) stream.respond({ ':status': 200 }, { endStream: true });
    } else if (path === '/mirror') {  // what came in the head and in the body goes back
      const text = `${headers['x-mirror']} ${headers.authorization} ${seen.body}`;
      stream.respond({ ':status': 200, 'x-mirror': headers['x-mirror'] || '' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-trailer': headers['x-mirror'] || '' }));
      for (let i = 0; i < text.length; i += 3) stream.write(text.slice(i, i + 3));
      stream.end();
    } else {
      stream.respond({ ':status': 200 });
      stream.end(headers[':method'] === 'HEAD' ? '' : `${headers[':method']} ${headers[':path']} ${seen.size}`);
    }
  });
});
const waiting = [];
server.listen(Number(port), '127.0.0.1', () => say('ready'));
