import { connect } from 'node:net';

/** A request as its bytes; nothing mends it on its way. */
export interface RawRequest {
	readonly head: string;
	readonly body: Uint8Array;
	/** Whether the client stops sending behind it, so that what is missing never comes. */
	readonly ends: boolean;
}

export interface RawResponse {
	readonly status: number;
	/** Names in lower case. */
	readonly headers: ReadonlyMap<string, string>;
	/** As far as it was read. */
	readonly body: string;
}

/** Bytes of an answer that are read. */
const most = 200_000;

/**
 * Sends the bytes on a connection of their own. Gives the answer, `undefined` where the connection was closed without
 * one; rejects where neither comes in time. An event stream is read to its first bytes only.
 */
export function sendRaw(
	url: string,
	{ head, body, ends }: RawRequest,
	timeoutMs: number,
): Promise<RawResponse | undefined> {
	const { hostname, port } = new URL(url);
	const { promise, resolve, reject } = Promise.withResolvers<RawResponse | undefined>();
	const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
	let received = Buffer.alloc(0);
	const finish = (): void => {
		resolve(parse(received));
		socket.destroy();
	};
	socket.setTimeout(timeoutMs, () => {
		reject(new Error(`no answer in ${timeoutMs} ms`));
		socket.destroy();
	});
	socket.on('data', (chunk) => {
		received = Buffer.concat([received, chunk]);
		// The server keeps the connection for seconds behind its answer, to let go of what was still on its way.
		if (received.length > most || isWhole(received, head.startsWith('HEAD '))) finish();
	});
	socket.on('end', finish);
	// The server may stop reading before all was sent: its answer is what counts.
	socket.on('error', finish);
	socket.on('close', finish);
	socket.on('connect', () => {
		socket.write(Buffer.from(head, 'latin1'));
		socket.write(body);
		if (ends) socket.end();
	});
	return promise;
}

function readHead(bytes: Buffer): string | undefined {
	const end = bytes.indexOf('\r\n\r\n');
	return end < 0 ? undefined : bytes.toString('latin1', 0, end);
}

/** Whether the answer is there as far as it is read. */
function isWhole(bytes: Buffer, isHead: boolean): boolean {
	const head = readHead(bytes);
	if (head === undefined) return false;
	const body = bytes.subarray(head.length + 4);
	if (head.startsWith('HTTP/1.1 100')) return isWhole(body, isHead);
	if (isHead || /^HTTP\/1\.1 (204|304)|^content-type: text\/event-stream/im.test(head)) return true;
	const length = /^content-length: (\d+)/im.exec(head)?.[1];
	return length === undefined ? body.subarray(-5).toString('latin1') === '0\r\n\r\n' : body.length >= Number(length);
}

function parse(bytes: Buffer): RawResponse | undefined {
	const head = readHead(bytes);
	const status = /^HTTP\/1\.1 (\d{3})/.exec(head ?? '')?.[1];
	if (head === undefined || status === undefined) return undefined;
	// What comes in front of the answer.
	if (status === '100') return parse(bytes.subarray(head.length + 4));
	const headers = head
		.split('\r\n')
		.slice(1)
		.map((line): [string, string] => {
			const at = line.indexOf(':');
			return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()];
		});
	const known = new Map(headers);
	return { status: Number(status), headers: known, body: readBody(bytes.subarray(head.length + 4), known) };
}

/** The body without its frame, and without the answer to what stands behind a request that was longer than it said. */
function readBody(bytes: Buffer, headers: ReadonlyMap<string, string>): string {
	const length = headers.get('content-length');
	if (headers.get('transfer-encoding') !== 'chunked')
		return bytes.toString('utf8', 0, length === undefined ? bytes.length : Number(length));
	const pieces: Buffer[] = [];
	for (let rest = bytes; rest.length > 0; ) {
		const line = rest.indexOf('\r\n');
		const size = Number.parseInt(rest.toString('latin1', 0, Math.max(0, line)), 16);
		if (line < 0 || !(size > 0)) break;
		pieces.push(rest.subarray(line + 2, line + 2 + size));
		rest = rest.subarray(line + 2 + size + 2);
	}
	return Buffer.concat(pieces).toString('utf8');
}
