import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { extname, resolve } from 'node:path';

const built = resolve(import.meta.dirname, '../../build/page');
const types: Readonly<Record<string, string>> = {
	'.html': 'text/html',
	'.js': 'text/javascript',
	'.css': 'text/css',
};

/** Serves the page of a folder with its policy, and forwards `/v1/` to the API of another server. */
export async function startSite(api: string, folder = built) {
	const server = createServer((given, response) => {
		void (given.url?.startsWith('/v1/') ? forward(api, given, response) : serveFile(folder, given, response));
	}).listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	return {
		url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
		close: () => {
			server.closeAllConnections();
			server.close();
		},
	};
}

async function serveFile(folder: string, { url = '/' }: IncomingMessage, response: ServerResponse): Promise<void> {
	const { pathname } = new URL(url, 'http://127.0.0.1');
	const path = pathname === '/' ? '/index.html' : pathname;
	try {
		const body = await readFile(resolve(folder, `.${path}`));
		response.writeHead(200, { 'content-type': types[extname(path)] ?? '', ...(await readHeaders(folder, pathname)) });
		response.end(body);
	} catch {
		response.writeHead(404).end();
	}
}

/** Reads the headers of a path from the file that Cloudflare reads. */
async function readHeaders(folder: string, path: string): Promise<Record<string, string>> {
	const rules = (await readFile(resolve(folder, '_headers'), 'utf8')).split(/^(?=\/)/m);
	const lines = rules.flatMap((rule) => {
		const [pattern = '', ...headers] = rule.split('\n');
		return pattern === '/*' || pattern === path ? headers : [];
	});
	return Object.fromEntries(
		lines.flatMap((line) => {
			const [name, value] = line.trim().split(/: (.*)/);
			return name === undefined || value === undefined ? [] : [[name.toLowerCase(), value]];
		}),
	);
}

function forward(api: string, given: IncomingMessage, response: ServerResponse): void {
	const { hostname, port } = new URL(api);
	const { method, headers, url: path } = given;
	// The server may close a kept connection at the moment of its next use.
	const far = request({ hostname, port, method, headers, path, agent: false }, (answer) => {
		response.writeHead(answer.statusCode ?? 502, answer.headers);
		answer.pipe(response);
	});
	far.on('error', () => response.destroy());
	response.on('close', () => far.destroy());
	given.pipe(far);
}
