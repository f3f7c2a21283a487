import { connect } from 'node:net';

/** The bytes of a request, without any correction. */
export interface RawRequest {
	readonly head: string;
	readonly body: Uint8Array;
	/** Whether the client stops after these bytes, so that missing bytes never come. */
	readonly ends: boolean;
}

export interface RawResponse {
	readonly status: number;
	/** The headers by their lower-case names. */
	readonly headers: ReadonlyMap<string, string>;
	/** The part of the body that was read. */
	readonly body: string;
}

/** The most bytes that are read of an answer. */
const most = 200_000;

/**
 * Sends the bytes on a new connection. Returns the answer, or `undefined` if the server closes the connection without an
 * answer. Rejects at the timeout. Reads only the first bytes of an event stream.
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
		// The server keeps the connection for seconds after its answer, to read the rest of the request.
		if (received.length > most || isWhole(received, head.startsWith('HEAD '))) finish();
	});
	socket.on('end', finish);
	// The server may stop reading before the end of the request. Only its answer counts.
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

/** Returns whether all wanted bytes of the answer have arrived. */
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
	// The status 100 is an interim answer. The final answer follows it.
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

/** The body without its chunk framing, and without the answer to extra bytes after the request. */
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
