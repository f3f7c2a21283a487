import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import * as v from 'valibot';
import { createKeys } from './fuzz.ts';
import { createSeed } from './random.ts';
import { oneReply } from './script.ts';
import type { Server } from './server.ts';
import { type Figures, type Options, onStage } from './stage.ts';

/** The capacity of each ledger and each directory, in calls a second. */
const callsPerSecond = 5;
/** The capacity of an owner, in runs a second: a run in a new session calls the ledger twice. */
const capacity = callsPerSecond / 2;
/** The number of other owners, and how many runs each of them begins in a second. */
const [others, ofOthers] = [2, 0.5];
/** The load, as a multiple of the capacity. */
const tooMuch = 10;
/** Messages a second to one session, which has one run at a time. */
const messagesPerSecond = 20;
/** How soon the service recovers after the load, and how long the recovery is watched, in seconds. */
const [recoverySeconds, lookedAtSeconds] = [5, 10];
/** The longest delay of `/healthz` on a machine with free processor time, in milliseconds. */
const quietMs = 150;
/** The longest time for a refusal, a read and a cancel, in milliseconds, without delays of the machine. */
const mostMs = 1_000;
/** The smallest share of the capacity that completes. */
const leastGoodput = 0.8;
/** How long a run may take after its stream was cut, in milliseconds. */
const patienceMs = 30_000;

/** A request and its answer. Times are milliseconds of `performance.now()`. */
interface Answered {
	readonly at: number;
	readonly ms: number;
	/** The status of the answer; 0 if there was no answer. */
	readonly status: number;
	readonly retryAfter: string | null;
}

/** A request for a run in a new session, with the end of the run. */
interface Asked extends Answered {
	readonly owner: string;
	readonly endedAt: number;
	/** The type and the code of its last event. */
	readonly end?: string;
}

/**
 * One owner requests ten times the capacity of its ledger and directory, in new sessions. Another owner floods a session
 * with messages. Objects are aborted meanwhile. Runs complete as fast as the ledger allows. Other requests are refused at
 * once with a time to retry. Reads, cancels and runs of other owners succeed. The service recovers after the load.
 *
 * @param options.count seconds of the load
 */
export async function overload({ count = 60, seed = createSeed() }: Options): Promise<Figures> {
	const names = ['burst', ...Array.from({ length: others }, (_, n) => `other-${n}`)];
	const keys = await createKeys([...names, 'flood']);
	const variables = { API_KEYS: keys.records, CALLS_PER_SECOND: String(callsPerSecond), CRASH: 'few' };
	const world = { script: oneReply(100), pieceLength: 200, paceMs: 100, toolMs: 0, seed, variables };
	return onStage(world, async ({ server }) => {
		const asked: Promise<Asked>[] = [];
		const load = (owner: string, perSecond: number, seconds: number): Promise<void> =>
			often(perSecond, seconds, () => void asked.push(ask(server, owner, keys.of[owner] ?? '')));
		const all = (ofBurst: number, seconds: number) =>
			Promise.all(names.map((owner, n) => load(owner, n === 0 ? ofBurst : ofOthers, seconds)));
		await all(capacity / 2, 2);
		const looks: Answered[] = [];
		let isOver = false;
		const watching = watch(server, looks, () => isOver);
		const begun = performance.now();
		const [, flooded] = await Promise.all([all(tooMuch * capacity, count), flood(server, keys.of.flood ?? '', count)]);
		const over = performance.now();
		await all(capacity / 2, recoverySeconds + lookedAtSeconds);
		const runs = await Promise.all(asked);
		isOver = true;
		await watching;
		return judge({ seed, begun, over, runs, flooded, looks });
	});
}

/** Calls `work` at a rate, without waiting for its results. */
async function often(perSecond: number, seconds: number, work: (n: number) => void): Promise<void> {
	const begun = performance.now();
	for (let n = 0; n < perSecond * seconds; n++) {
		await pause(Math.max(0, begun + (1_000 * n) / perSecond - performance.now()));
		work(n);
	}
}

/** Sends a request, and repeats it on a closed kept-alive connection (RFC 9112, 9.5). Never throws. */
async function request(url: string, init: RequestInit): Promise<Answered & { readonly response: Response }> {
	const at = performance.now();
	const again = () => fetch(url, init);
	const response = await again()
		.catch(again)
		.catch(() => Response.error());
	const { status, headers } = response;
	return { at, ms: performance.now() - at, status, retryAfter: headers.get('retry-after'), response };
}

/** Requests a run in a new session, and reads the run to its end. */
async function ask({ url }: Server, owner: string, key: string): Promise<Asked> {
	const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'text/event-stream' };
	const init = { method: 'POST', body: JSON.stringify({ agent: 'thrifty', text: 'Go.' }) };
	const own = { ...headers, 'idempotency-key': randomUUID() };
	const post = async () => {
		const { response, ...answered } = await request(`${url}/v1/sessions`, { ...init, headers: own });
		return { response, answered, text: await response.text().catch(() => '') };
	};
	let { response, answered, text } = await post();
	// The session was aborted before its answer. The client repeats the request with the same key. The repeated
	// request may be refused in another way.
	if (text.includes('cannot be reached')) ({ response, answered, text } = await post());
	let end = response.ok ? readEnd(text) : undefined;
	// An abort of the session cuts the stream, but the run continues.
	if (end === '') end = await untilAnswered(`${url}${response.headers.get('location')}`, headers);
	return { ...answered, owner, endedAt: performance.now(), end };
}

const event = v.object({ type: v.string(), code: v.optional(v.string()) });

/** Reads the end of a run from its events; empty if the stream was cut. */
function readEnd(text: string): string {
	const last = text.split('\n\n').findLast((one) => /^data: .*\}$/m.test(one));
	const [, json = '{"type":""}'] = /^data: (.*)$/m.exec(last ?? '') ?? [];
	const { type, code } = v.parse(event, JSON.parse(json));
	if (code !== undefined) return `${type} ${code}`;
	return ['done', 'cancelled', 'halted'].includes(type) ? type : '';
}

/** Waits for the end of a run without a call of the ledger. */
async function untilAnswered(url: string, headers: Readonly<Record<string, string>>): Promise<string> {
	for (const late = performance.now() + patienceMs; performance.now() < late; await pause(250)) {
		const { response } = await request(`${url}/messages`, { headers });
		if ((await response.text()).includes('"role":"assistant"')) return 'done';
	}
	return 'nothing';
}

/** The answers to the requests to one session. */
interface Flooded {
	readonly messages: readonly Answered[];
	/** Reads and cancels. */
	readonly preferred: readonly Answered[];
}

/** Sends one session too many messages, with reads and cancels between them. */
async function flood({ url }: Server, key: string, seconds: number): Promise<Flooded> {
	const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'respond-async' };
	const post = (path: string, body: object = {}) =>
		request(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
	const { response } = await post('/v1/sessions', { agent: 'thrifty' });
	const path = response.headers.get('location') ?? '';
	const messages: Promise<Answered>[] = [];
	const preferred: Promise<Answered>[] = [];
	await often(messagesPerSecond, seconds, (n) => {
		messages.push(post(`${path}/messages`, { text: `Go ${n}.` }));
		if (n % 20 === 7) preferred.push(request(`${url}${path}/messages`, { headers }));
		if (n % 100 === 57) preferred.push(post(`${path}/cancel`));
	});
	return { messages: await Promise.all(messages), preferred: await Promise.all(preferred) };
}

/** Polls `/healthz`, to measure delays of the machine. */
async function watch({ url }: Server, looks: Answered[], isOver: () => boolean): Promise<void> {
	for (; !isOver(); await pause(200)) looks.push(await request(`${url}/healthz`, {}));
}

interface Outcome {
	readonly seed: number;
	/** The start and the end of the load. */
	readonly begun: number;
	readonly over: number;
	readonly runs: readonly Asked[];
	readonly flooded: Flooded;
	readonly looks: readonly Answered[];
}

function judge({ seed, begun, over, runs, flooded, looks }: Outcome): Figures {
	const isDone = ({ end }: Asked) => end === 'done';
	const isRefused = ({ status }: Answered) => status === 503;
	/** The time of an answer minus the longest delay of `/healthz` meanwhile. */
	const toOwnMs = ({ at, ms }: Answered) =>
		ms - Math.max(0, ...looks.filter((look) => look.at < at + ms && look.at + look.ms > at).map((look) => look.ms));
	const during = runs.filter(({ at }) => at >= begun && at < over);
	const [burst, rest] = [true, false].map((isBurst) => during.filter(({ owner }) => (owner === 'burst') === isBurst));
	const after = runs.filter(({ at }) => at >= over + 1_000 * recoverySeconds);
	const refused = [...(burst ?? []).filter(isRefused), ...flooded.messages.filter(isRefused)];
	const completed = runs.filter(
		(one) => one.owner === 'burst' && isDone(one) && one.endedAt >= begun && one.endedAt < over,
	).length;
	const goodput = completed / ((over - begun) / 1_000) / capacity;
	const [refusalMs, preferredMs] = [refused, flooded.preferred].map((some) => Math.max(0, ...some.map(toOwnMs)));
	const heldUpMs = Math.max(...looks.map(({ ms }) => ms));
	const figures = {
		seed,
		'load, seconds': ((over - begun) / 1_000).toFixed(0),
		'runs asked for': `${burst?.length} ${tally(burst)}`,
		'completed, of what the ledger can': `${completed}, ${goodput.toFixed(2)} of it`,
		'the longest refusal, seconds': toSeconds(refusalMs),
		'runs of others': `${rest?.length} ${tally(rest)}`,
		'the longest run of others, seconds': toSeconds(longest(rest)),
		'messages to one session': `${flooded.messages.length} ${tally(flooded.messages)}`,
		'reads and cancels of it': `${flooded.preferred.length} ${tally(flooded.preferred)}`,
		'the longest of them, seconds': toSeconds(preferredMs),
		'runs 5 seconds after the load': `${after.length} ${tally(after)}`,
		'the longest of these, seconds': toSeconds(longest(after)),
		'the machine was held up for, seconds': toSeconds(heldUpMs),
	};
	const broken = Object.entries({
		'a refusal says nothing of when to come again': refused.some(({ retryAfter }) => retryAfter === null),
		// The other limits are checked only if the machine had free processor time.
		...(heldUpMs < quietMs && {
			'runs failed after the load': !after.every(isDone),
			'too few runs completed': goodput < leastGoodput,
			'a refusal took too long': (refusalMs ?? 0) > mostMs,
			'runs of other owners failed': rest?.every(isDone) !== true,
			'a read or a cancel failed': flooded.preferred.some(({ status }) => status !== 200),
			'a read or a cancel took too long': (preferredMs ?? 0) > mostMs,
		}),
	}).flatMap(([what, isBroken]) => (isBroken ? what : []));
	if (broken.length > 0) throw new Error(`${broken.join('; ')}: ${JSON.stringify(figures, undefined, 1)}`);
	return figures;
}

/** Counts answers by their status and the end of their runs. */
function tally(some: readonly (Answered & { readonly end?: string })[] = []): string {
	const counts: Record<string, number> = {};
	for (const { status, end = '' } of some) {
		const what = `${status} ${end}`.trim();
		counts[what] = (counts[what] ?? 0) + 1;
	}
	return JSON.stringify(counts);
}

function longest(some: readonly Asked[] = []): number {
	return Math.max(0, ...some.map(({ at, endedAt }) => endedAt - at));
}

function toSeconds(ms = 0): string {
	return (ms / 1_000).toFixed(2);
}
