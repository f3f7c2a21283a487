import { SELF } from 'cloudflare:test';
import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** How a client connects. */
export interface ConnectOptions {
	/** The revision; the newest one if it is missing. */
	readonly revision?: '2025-11-25' | '2026-07-28';
	/** Answers what a person is asked. A client without it cannot ask one. */
	readonly elicit?: (asked: { readonly message: string; readonly [more: string]: unknown }) => ElicitResult;
	readonly headers?: Readonly<Record<string, string>>;
	/** Sends the requests; the Worker under test if it is missing. */
	readonly fetch?: (request: Request) => Promise<Response> | Response;
}

/** Connects the SDK's client to an agent of the Worker under test. */
export async function connect(
	path: string,
	{ revision = '2026-07-28', elicit, headers, fetch = (request) => SELF.fetch(request) }: ConnectOptions = {},
) {
	const client = new Client(
		{ name: 'test', version: '1' },
		{
			capabilities: elicit === undefined ? {} : { elicitation: { form: {}, url: {} } },
			versionNegotiation: { mode: revision === '2025-11-25' ? 'legacy' : { pin: revision } },
		},
	);
	if (elicit !== undefined) client.setRequestHandler('elicitation/create', ({ params }) => elicit(params));
	const transport = new StreamableHTTPClientTransport(new URL(`http://localhost${path}`), {
		fetch: async (url, init) => fetch(new Request(url, init)),
		requestInit: { headers: { ...headers } },
	});
	await client.connect(transport);
	return client;
}

/** The texts of a result. */
export function readText({ content }: { readonly content: readonly object[] }): string {
	return content.map((block) => ('text' in block ? String(block.text) : '')).join('');
}
