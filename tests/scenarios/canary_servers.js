// Servers that hear what leaves a sandbox: usage DIRECTORY LOG ADDRESS. DIRECTORY/{cert,key}.pem are theirs, DIRECTORY/ports says
// where they are: HTTP, TLS (HTTP/2 and 1.1) and bytes. A line of LOG for each request that came whole, and for each piece of bytes.
'use strict';
const fs = require('fs'), http = require('http'), http2 = require('http2'), net = require('net');
const [place, log, address] = process.argv.slice(2);
const hear = line => fs.appendFileSync(log, line + '\n');
process.stdin.on('end', () => process.exit()).resume();  // with the test

const answer = kind => (request, response) => {
  let size = 0;
  request.on('data', piece => { size += piece.length; });
  request.on('end', () => {
    hear(`${kind}/${request.httpVersion} ${request.method} ${request.url} ${size}`);
    const asks = request.url.startsWith('/git') && !request.headers.authorization;
    response.writeHead(asks ? 401 : 200, asks ? {'WWW-Authenticate': 'Basic realm="x"'} : {});
    response.end('heard\n');
  });
  request.on('error', () => {});
};
const tls = {allowHTTP1: true, cert: fs.readFileSync(place + '/cert.pem'), key: fs.readFileSync(place + '/key.pem')};
const servers = [
  http.createServer(answer('http')),
  http2.createSecureServer(tls, answer('https')),
  net.createServer(socket => {
    socket.on('data', piece => { hear('bytes ' + piece.toString('latin1')); socket.write('heard\n'); });
    socket.on('error', () => {});
  }),
];
let left = servers.length;
for (const server of servers) {
  server.on('error', () => {});
  server.on('sessionError', () => {});
  server.listen(0, address, () => {
    if (--left === 0) {
      fs.writeFileSync(place + '/ports.new', servers.map(each => each.address().port).join(' ') + '\n');
      fs.renameSync(place + '/ports.new', place + '/ports');
    }
  });
}
