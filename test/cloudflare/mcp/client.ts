import { SELF } from 'cloudflare:test';
import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export interface ConnectOptions {
	/** The newest revision by default. */
	readonly revision?: '2025-11-25' | '2026-07-28';
	/** Answers the questions for a person. A client without this function cannot ask a person. */
	readonly elicit?: (asked: { readonly message: string; readonly [more: string]: unknown }) => ElicitResult;
	readonly headers?: Readonly<Record<string, string>>;
	/** Sends the requests: to the Worker under test by default. */
	readonly fetch?: (request: Request) => Promise<Response> | Response;
}

/** Connects the SDK’s client to an agent of the Worker under test. */
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

export function readText({ content }: { readonly content: readonly object[] }): string {
	return content.map((block) => ('text' in block ? String(block.text) : '')).join('');
}
