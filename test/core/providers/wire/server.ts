import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { claimPort } from '../../../port.ts';

/** A request at the server, and the actions of a test for its answer. */
export interface Exchange {
	/** The path with its query. */
	readonly path: string;
	readonly headers: IncomingHttpHeaders;
	/** The JSON of the request. `undefined` for other content. */
	readonly body: unknown;
	/** The time when the answer or the connection ended, from `performance.now()`. */
	readonly closed: Promise<number>;
	/** Sends the head of an event stream, without a first byte. */
	stream(headers?: Readonly<Record<string, string>>): void;
	/** Resolves once the bytes have left the process. Begins an event stream if no answer has begun. */
	write(bytes: string | Uint8Array): Promise<void>;
	end(): void;
	/** Ends the connection with a TCP reset. */
	reset(): void;
	/** Sends a whole answer as JSON. */
	json(status: number, body: unknown, headers?: Readonly<Record<string, string>>): void;
	/** Sends a whole answer as a web page. */
	html(status: number, page: string): void;
}

export type Script = (exchange: Exchange) => void | Promise<void>;

/** A server with scripted answers on its own port. */
export interface WireServer {
	readonly url: string;
	/** The requests since the last `play`, oldest first. */
	readonly requests: readonly Exchange[];
	/** The number of connections since the start. */
	readonly connections: number;
	/** Sets the scripts of the next requests. Further requests get the last script. Clears the earlier requests. */
	play(...scripts: readonly Script[]): void;
	/** Throws the first error of a script. */
	check(): void;
	close(): Promise<void>;
}

/** Starts a server on 127.0.0.1. */
export async function startServer(): Promise<WireServer> {
	let requests: Exchange[] = [];
	let scripts: readonly Script[] = [];
	let failed: unknown[] = [];
	let connections = 0;

	const server = createServer(async (request, response) => {
		try {
			const text = await readText(request);
			const exchange = readExchange(request, response, text);
			const script = scripts[Math.min(requests.push(exchange), scripts.length) - 1];
			if (script === undefined) throw new Error(`nothing to play for ${exchange.path}`);
			await script(exchange);
		} catch (error) {
			failed.push(error);
			response.destroy();
		}
	});
	server.keepAliveTimeout = 10_000;
	server.on('connection', () => connections++);
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
	return {
		url: `http://127.0.0.1:${readPort(server.address())}`,
		get requests() {
			return requests;
		},
		get connections() {
			return connections;
		},
		play: (...given) => {
			scripts = given;
			requests = [];
			failed = [];
		},
		check: () => {
			if (failed.length > 0) throw failed[0];
		},
		close: async () => {
			const closed = new Promise((resolve) => server.close(resolve));
			server.closeAllConnections();
			await closed;
		},
	};
}

/** Returns an address that refuses connections until the end of this process. */
export async function deadUrl(): Promise<string> {
	return `http://127.0.0.1:${await claimPort()}`;
}

function readExchange(request: IncomingMessage, response: ServerResponse, text: string): Exchange {
	const closed = new Promise<number>((resolve) => response.on('close', () => resolve(performance.now())));
	// Some tests write after the client closed the connection.
	response.on('error', () => {});
	request.socket.setNoDelay(true);
	const stream = (headers: Readonly<Record<string, string>> = {}): void => {
		response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...headers });
		response.flushHeaders();
	};
	return {
		path: request.url ?? '',
		headers: request.headers,
		body: readJson(text),
		closed,
		stream,
		write: (bytes) => {
			if (!response.headersSent) stream();
			return new Promise((resolve) => void response.write(bytes, () => resolve()));
		},
		end: () => void response.end(),
		reset: () => void request.socket.resetAndDestroy(),
		json: (status, body, headers = {}) => {
			response.writeHead(status, { 'content-type': 'application/json', ...headers });
			response.end(JSON.stringify(body));
		},
		html: (status, page) => {
			response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' });
			response.end(page);
		},
	};
}

async function readText(request: IncomingMessage): Promise<string> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) if (chunk instanceof Uint8Array) chunks.push(chunk);
	return Buffer.concat(chunks).toString('utf8');
}

function readJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function readPort(address: unknown): number {
	if (typeof address === 'object' && address !== null && 'port' in address && typeof address.port === 'number') {
		return address.port;
	}
	throw new Error('the server has no port');
}
