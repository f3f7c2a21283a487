import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { toSse } from '../../../src/core/chat/event.ts';
import { findBlock } from '../../docs.ts';

const code = findBlock('docs/events.md', 'const source = new EventSource');

test('the code in docs/events.md distinguishes errors of the run from lost connections', async () => {
	const seen: (string | undefined)[] = [];
	const server = createServer((request, response) => {
		const id = request.headers['last-event-id'];
		seen.push(Array.isArray(id) ? id.join() : id);
		response.writeHead(200, { 'content-type': 'text/event-stream' });
		// The first connection is lost after its event. The second connection has the run's end and stays open.
		if (id === undefined) response.end(`retry: 10\n\n${toSse({ type: 'text', text: 'Hello' }, '1')}`);
		else response.write(toSse({ type: 'error', code: 'timeout', message: 'The run took too long.' }, '2'));
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	const port = typeof address === 'object' ? address?.port : undefined;
	const own = code.replace('http://127.0.0.1:8787', `http://127.0.0.1:${port}`);
	// Node does not wait for a source that is about to reconnect.
	const waits = 'const open = setInterval(() => source.readyState === EventSource.CLOSED && clearInterval(open), 10);';
	const child = spawn(process.execPath, ['--no-warnings', '--experimental-eventsource', '-e', own + waits]);
	let printed = '';
	for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (printed += text));
	await once(child, 'close');
	server.closeAllConnections();
	server.close();
	expect(printed.trim().split('\n')).toEqual(['Hello', 'connection lost', 'The run took too long.']);
	expect(seen).toEqual([undefined, '1']);
});
