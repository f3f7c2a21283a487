import * as v from 'valibot';
import { hashKey, type KeyRecord, makeKey } from '../../src/cloudflare/auth/key.ts';
import { fuzzedRequest, type Material } from './fuzz-request.ts';
import { createRandom, createSeed } from './random.ts';
import { type RawRequest, type RawResponse, sendRaw } from './raw-http.ts';
import { oneReply } from './script.ts';
import type { Server } from './server.ts';
import { type Figures, type Options, onStage } from './stage.ts';

const routes = v.array(v.object({ method: v.string(), path: v.string() }));
const session = v.looseObject({ id: v.string(), token: v.string() });
const failed = v.object({ error: v.looseObject({ message: v.string() }) });

/** The number of concurrent requests. */
const lanes = 8;
const patienceMs = 60_000;

/**
 * Sends requests of all forms to all routes. No answer is a 5xx, every valid request gets an answer, no answer
 * shows a stack, and the Worker stays healthy.
 */
export async function fuzz({ count = 20_000, seed = createSeed() }: Options): Promise<Figures> {
	const { of: made, records } = await createKeys(['run', 'admin']);
	const secret = 'whsec_bm9ib2R5IHNob3VsZCBrbm93IHRoaXM=';
	const sources = ['STANDARD', 'GITHUB', 'STRIPE', 'SLACK', 'HMAC'];
	const variables = {
		API_KEYS: records,
		CORS_ORIGINS: 'https://app.example.com',
		CALLBACK_SECRET: secret,
		...Object.fromEntries(sources.map((source) => [`${source}_WEBHOOK_SECRET`, secret])),
	};
	const world = { script: oneReply(100), pieceLength: 20, paceMs: 0, toolMs: 0, seed, variables };
	return onStage(world, async ({ server }) => {
		const keys = { run: made.run ?? '', admin: made.admin ?? '' };
		let material = await materialFrom(server, keys);
		const answers = new Map<string, number>();
		const counted = (what: string): void => void answers.set(what, (answers.get(what) ?? 0) + 1);
		let next = 0;
		const lane = async (): Promise<void> => {
			for (let n = next++; n < count; n = next++) {
				// The requests soon delete the sessions or fill them, so the programme needs new sessions.
				if (n % 200 === 199) material = await materialFrom(server, keys);
				const request = fuzzedRequest(createRandom(seed * 1_000_003 + n), material);
				const response = await sendRaw(server.url, request, patienceMs).catch((cause) => {
					throw new Error(`request ${n}: ${cause.message}\n${shown(request)}`);
				});
				const wrong = complaint(request, response);
				if (wrong !== undefined) throw new Error(`request ${n}: ${wrong}\n${shown(request)}\n${server.errors()}`);
				counted(readAnswer(request, response));
			}
		};
		await Promise.all(Array.from({ length: lanes }, lane));
		const health = await fetch(`${server.url}/healthz`);
		if (!health.ok) throw new Error(`the server is not well: ${health.status}`);
		return {
			seed,
			requests: count,
			routes: material.routes.length,
			...Object.fromEntries([...answers].toSorted()),
			'answered 5xx': 0,
			'memory of the server, MB': Math.round(server.memory() / 1e6),
		};
	});
}

/** Makes a key for each owner. The key of `admin` is an administrator's. */
export async function createKeys(owners: readonly string[]) {
	const of: Record<string, string> = {};
	const records: KeyRecord[] = [];
	for (const owner of owners) {
		const { key, id } = makeKey();
		of[owner] = key;
		records.push({ id, owner, hash: await hashKey(key), scopes: owner === 'admin' ? ['run', 'admin'] : ['run'] });
	}
	return { of, records: JSON.stringify(records) };
}

/** The app's routes, and sessions of every kind: new, answered and waiting. */
export async function materialFrom(
	{ url }: Server,
	{ run, admin }: Readonly<Record<'run' | 'admin', string>>,
): Promise<Material> {
	const create = async (body: object) => {
		const headers = { authorization: `Bearer ${run}`, 'content-type': 'application/json' };
		const response = await fetch(`${url}/v1/sessions`, { method: 'POST', headers, body: JSON.stringify(body) });
		const id = response.headers.get('location')?.split('/').at(-1) ?? '';
		const about = await fetch(`${url}/v1/sessions/${id}/token`, { method: 'POST', headers, body: '{}' });
		return v.parse(session, { ...Object(await about.json()), id });
	};
	const sessions = [
		await create({ agent: 'assistant' }),
		await create({ agent: 'assistant', text: 'What is 17 + 25?' }),
		await create({ agent: 'support', text: 'Please refund order A-1042, amount 25 euros.' }),
	];
	const known = v.parse(routes, await (await fetch(`${url}/routes`)).json());
	return {
		routes: known,
		host: new URL(url).host,
		credentials: [run, run, run, admin, ...sessions.map(({ token }) => token)],
		sessions: sessions.map(({ id }) => id),
	};
}

/** The class of an answer in the statistics. */
function readAnswer(request: RawRequest, response: RawResponse | undefined): string {
	if (response === undefined || isRefusedInFront(request, response)) return 'refused before the Worker';
	return `answered ${Math.floor(response.status / 100)}xx`;
}

/** Describes the fault of an answer. */
function complaint(request: RawRequest, response: RawResponse | undefined): string | undefined {
	// A server that closes the connection before the end of a long body resets it. The client may then lose the
	// answer.
	if (response === undefined) return isHttp(request) && request.body.length < 50_000 ? 'no answer' : undefined;
	if (isRefusedInFront(request, response)) return undefined;
	const { status, headers, body } = response;
	if (status >= 500) return `answered ${status}: ${body.slice(0, 2_000)}`;
	if (/\n\s+at .+:\d+:\d+/.test(body.replaceAll('\\n', '\n'))) return `answered with a stack: ${body.slice(0, 2_000)}`;
	const isJson = headers.get('content-type')?.startsWith('application/json') ?? false;
	if (status >= 400 && isJson && !request.head.startsWith('HEAD') && !v.is(failed, parsed(body)))
		return `answered ${status} without an error: ${body.slice(0, 2_000)}`;
	return undefined;
}

/** Whether the server before the Worker refuses the request: malformed HTTP and unknown methods. */
function isRefusedInFront(request: RawRequest, { status, headers, body }: RawResponse): boolean {
	if (headers.has('x-content-type-options')) return false;
	return (status === 501 && body.includes('Unrecognized request method')) || (!isHttp(request) && body.length < 100);
}

/** Whether a request follows HTTP's grammar (RFC 9112), and its body matches its headers. */
function isHttp({ head, ends }: RawRequest): boolean {
	const [first = '', ...lines] = head.slice(0, -4).split('\r\n');
	return (
		!ends &&
		/^[A-Z]+ \/[!-~]* HTTP\/1\.1$/.test(first) &&
		lines.every((line) => /^[\w-]+: *[!-~][ -~]*$/.test(line)) &&
		lines.some((line) => /^host: 127\.0\.0\.1:\d+$/.test(line)) &&
		head.length < 16_000
	);
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

function shown({ head, body }: RawRequest): string {
	const text = Buffer.from(body).toString('latin1');
	return `${JSON.stringify(head.slice(0, 1_500))}\n${body.length} bytes: ${JSON.stringify(text.slice(0, 1_500))}`;
}
