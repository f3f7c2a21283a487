import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import * as v from 'valibot';

/** A deployed Worker in Cloudflare's API. */
export interface FakeWorker {
	readonly secrets: Record<string, string>;
	/** The tag of its last migration. */
	readonly tag?: string;
	readonly metadata: { readonly bindings: readonly Record<string, unknown>[] };
}

const pairs = v.array(v.object({ key: v.string(), value: v.string() }));
const names = v.array(v.string());
const secret = v.object({ name: v.string(), text: v.string() });
const metadata = v.object({
	bindings: v.array(v.record(v.string(), v.unknown())),
	migrations: v.optional(v.object({ new_tag: v.string() })),
});

async function readChunks(request: IncomingMessage): Promise<Uint8Array[]> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of request) chunks.push(chunk);
	return chunks;
}

/**
 * Serves a part of Cloudflare's API (https://developers.cloudflare.com/api/): the routes by which Wrangler deploys
 * a Worker with secrets, static assets, a KV namespace and a bucket.
 */
export async function fakeCloudflare() {
	const scripts = new Map<string, FakeWorker>();
	const namespaces = new Map<string, { readonly title: string; readonly values: Map<string, string> }>();
	const buckets = new Set<string>();
	/** The requests as `METHOD path`, and the requests that have no handler. */
	const requests: string[] = [];
	const unknown: string[] = [];
	/** The error of the next upload. */
	const refusal: { next: { code: number; message: string } | undefined } = { next: undefined };

	const answer = async (request: IncomingMessage): Promise<{ status?: number; result?: unknown; text?: string }> => {
		const { pathname, searchParams } = new URL(request.url ?? '', 'http://api');
		const path = pathname.replace(/^\/client\/v4/, '').replace(/^\/accounts\/account/, '');
		const asked = `${request.method} ${path}`;
		requests.push(asked);
		const body = async () => Buffer.concat(await readChunks(request)).toString();
		const json = async (): Promise<unknown> => JSON.parse(await body());
		const missing = { status: 404, result: { code: 10007, message: 'This Worker does not exist on your account.' } };

		const [, name = '', part = ''] = /^\/workers\/scripts\/([\w-]+)\/?(.*)$/.exec(path) ?? [];
		const script = scripts.get(name);
		if (asked === 'GET /user') return { result: { email: 'who@example.com' } };
		if (asked === 'GET /user/tokens/verify') return { result: { status: 'active' } };
		if (asked === 'GET /accounts' || asked === 'GET /memberships')
			return { result: [{ id: 'account', name: 'Account', account: { id: 'account', name: 'Account' } }] };
		if (asked === 'GET /workers/scripts')
			return { result: [...scripts.keys()].map((id) => ({ id, migration_tag: scripts.get(id)?.tag })) };
		if (asked === 'GET /workers/subdomain') return { result: { subdomain: 'who' } };
		if (part === 'assets-upload-session') {
			await body();
			return { result: { jwt: 'done', buckets: [] } };
		}
		if (/^\/workers\/services\//.test(path)) {
			const found = scripts.get(path.split('/')[3] ?? '');
			return found === undefined
				? { ...missing, result: { code: 10090, message: 'no such service' } }
				: {
						result: {
							default_environment: {
								environment: 'production',
								script: { last_deployed_from: 'wrangler', tag: 'tag' },
							},
						},
					};
		}
		// Wrangler uploads a Worker whose migrations are all applied as a version, and then deploys the version.
		const uploads = (request.method === 'PUT' && part === '') || (request.method === 'POST' && part === 'versions');
		if (name !== '' && uploads) {
			const type = request.headers['content-type'] ?? '';
			const form = await new Response(Buffer.concat(await readChunks(request)), {
				headers: { 'content-type': type },
			}).formData();
			const { next } = refusal;
			refusal.next = undefined;
			if (next !== undefined) return { status: 403, result: next };
			const told = v.parse(metadata, JSON.parse(String(form.get('metadata'))));
			const given = told.bindings.flatMap((one) =>
				one.type === 'secret_text' ? [[String(one.name), String(one.text)]] : [],
			);
			const bindings = told.bindings.map((one) => {
				const before = script?.metadata.bindings.find((other) => other.name === one.name);
				return one.type === 'inherit' ? (before ?? one) : one;
			});
			scripts.set(name, {
				secrets: { ...script?.secrets, ...Object.fromEntries(given) },
				metadata: { bindings },
				tag: told.migrations?.new_tag ?? script?.tag,
			});
			return {
				result: {
					id: name,
					etag: 'etag',
					pipeline_hash: '',
					startup_time_ms: 1,
					deployment_id: 'd',
					resources: { script: { etag: 'etag' } },
					has_preview: false,
					entry_point: 'worker.js',
				},
			};
		}
		if (name !== '' && part !== 'subdomain' && script === undefined) return missing;
		if (part === 'script-settings') return { result: {} };
		if (part === 'deployments') return { result: { id: 'd', deployments: [] } };
		if (script !== undefined && part === 'settings') return { result: { bindings: script.metadata.bindings } };
		if (script !== undefined && part === 'secrets' && request.method === 'GET')
			return { result: Object.keys(script.secrets).map((one) => ({ name: one, type: 'secret_text' })) };
		if (script !== undefined && part === 'secrets') {
			const { name: key, text } = v.parse(secret, await json());
			script.secrets[key] = text;
			return { result: { name: key, type: 'secret_text' } };
		}
		if (part === 'subdomain') return { result: { enabled: true, previews_enabled: false } };
		const [, namespace = '', operation = '', key = ''] =
			/^\/storage\/kv\/namespaces\/?([\w-]*)\/?(\w*)\/?(.*)$/.exec(path) ?? [];
		if (path === '/storage/kv/namespaces' && request.method === 'GET')
			return { result: [...namespaces].map(([id, { title }]) => ({ id, title })) };
		if (path === '/storage/kv/namespaces') {
			const { title } = v.parse(v.object({ title: v.string() }), await json());
			const id = `namespace${namespaces.size + 1}`;
			namespaces.set(id, { title, values: new Map() });
			return { result: { id, title } };
		}
		const values = namespaces.get(namespace)?.values;
		if (values !== undefined && operation === 'keys') {
			const prefix = searchParams.get('prefix') ?? '';
			return { result: [...values.keys()].filter((one) => one.startsWith(prefix)).map((one) => ({ name: one })) };
		}
		if (values !== undefined && operation === 'bulk') {
			if (request.method === 'PUT') for (const one of v.parse(pairs, await json())) values.set(one.key, one.value);
			else for (const one of v.parse(names, await json())) values.delete(one);
			return { result: {} };
		}
		if (values !== undefined && operation === 'values') {
			const value = values.get(decodeURIComponent(key));
			return value === undefined
				? { status: 404, result: { code: 10009, message: 'get: key not found' } }
				: { text: value };
		}
		if (/^\/r2\/buckets\/[\w-]+$/.test(path) && request.method === 'GET')
			return buckets.has(path)
				? { result: { name: path.split('/').at(-1) } }
				: { status: 404, result: { code: 10006, message: 'The specified bucket does not exist.' } };
		if (asked === 'GET /r2/buckets')
			return { result: { buckets: [...buckets].map((one) => ({ name: one.split('/').at(-1) })) } };
		if (asked === 'POST /r2/buckets') {
			const { name: bucket } = v.parse(v.object({ name: v.string() }), await json());
			buckets.add(`/r2/buckets/${bucket}`);
			return { result: { name: bucket } };
		}
		unknown.push(asked);
		return { status: 404, result: { code: 7003, message: `no such thing: ${asked}` } };
	};

	const server = createServer(async (request, response) => {
		const { status = 200, result, text } = await answer(request);
		if (text !== undefined) return response.end(text);
		const good = status < 400;
		const whole = {
			success: good,
			errors: good ? [] : [result],
			messages: [],
			result: good ? result : null,
			result_info: { page: 1, per_page: 100, count: 1, total_count: 1, total_pages: 1 },
		};
		return response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
	});
	server.listen(0, '127.0.0.1');
	await once(server, 'listening');
	const address = server.address();
	const port = typeof address === 'object' ? address?.port : undefined;
	return {
		scripts,
		namespaces,
		requests,
		unknown,
		refusal,
		/** The environment that points Wrangler to this server. */
		env: {
			CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}/client/v4`,
			CLOUDFLARE_API_TOKEN: 'token',
			CLOUDFLARE_ACCOUNT_ID: 'account',
		},
		close: () => server.close(),
	};
}
