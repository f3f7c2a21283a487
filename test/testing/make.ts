/** Makes the sessions of the hundred recordings over HTTP. */
import { env } from 'cloudflare:test';
import { createClient } from '../../src/client/index.ts';
import { recordSession, writeRecording } from '../../src/client/recording.ts';
import { atCrashPoint, die } from '../crash.ts';
import { createRandom, type Random } from '../endurance/random.ts';
import worker from '../worker.ts';
import { models } from './desk.ts';
import { type Stage, steps } from './steps.ts';
import { doMeanwhile, plans } from './wires.ts';

const providers = ['anthropic', 'openai', 'gemini'] as const;

/** A recording, and what happened in its session. */
export interface Made {
	readonly provider: (typeof providers)[number];
	readonly steps: readonly string[];
	/** The number of deaths of its object and of those of its children. */
	readonly deaths: number;
	/** The text of the recording's file. */
	readonly file: string;
}

interface State {
	readonly status: string;
	readonly waiting?: number;
	readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
	readonly children?: readonly { readonly id: string; readonly background?: boolean }[];
}

/** Sends a request directly to the app. Returns nothing if the object died, which a request may wait for in vain. */
async function ask(path: string, init: RequestInit = {}) {
	const limit = Promise.withResolvers<undefined>();
	const timer = setTimeout(limit.resolve, 5_000, undefined);
	const read = async () => {
		const response = await worker.request(`/v1/sessions${path}`, init, env);
		return { status: response.status, text: await response.text() };
	};
	try {
		return await Promise.race([read(), limit.promise]);
	} catch {
		return undefined;
	} finally {
		clearTimeout(timer);
	}
}

/** Sends a request with a key, again and again until an object answers it. */
async function act(path: string, body?: unknown, method = 'POST'): Promise<string> {
	const headers = {
		'content-type': typeof body === 'string' ? 'text/plain' : 'application/json',
		prefer: 'respond-async',
		'idempotency-key': crypto.randomUUID(),
	};
	const sent = typeof body === 'string' ? body : JSON.stringify(body ?? {});
	for (let n = 0; n < 100; n++) {
		const response = await ask(path, { method, headers, body: sent });
		if (response === undefined || response.status >= 500) continue;
		// What a death has undone is done by another request.
		if (response.status < 300 || response.status === 409) return response.text;
		throw new Error(`${method} ${path}: ${response.status} ${response.text}`);
	}
	throw new Error(`${method} ${path} has no answer.`);
}

async function look(id: string): Promise<State> {
	for (;;) {
		const response = await ask(`/${id}`);
		if (response?.status === 200) return JSON.parse(response.text);
	}
}

/** Reads to the end of the run, and of the runs that wait. */
async function settle(id: string): Promise<State> {
	for (;;) {
		const state = await look(id);
		if (state.status !== 'running' && (state.waiting === undefined || state.status.startsWith('awaiting')))
			return state;
		await ask(`/${id}/events`);
	}
}

/** What a person decides about a call. */
function decide({ id, name, input }: NonNullable<State['toolCalls']>[number]) {
	const given = Object(input);
	if (name === 'gift') return { id, output: { book: 'Emma' } };
	if (name === 'refund' && given.euros === 90) return { id, approve: false, reason: 'Too much.' };
	if (name === 'refund' && given.euros === 80) return { id, approve: true, input: { ...given, euros: 60 } };
	if (name === 'weigh') return { id, approve: true, input: { grams: 750 } };
	if (name === 'depot_buy') return { id, approve: true, input: { ...given, count: 3 } };
	return { id, approve: true };
}

/** Answers and decides until nobody is waited for. Calls are decided one by one. */
async function attend(id: string): Promise<State> {
	for (;;) {
		const state = await settle(id);
		const [call] = state.toolCalls ?? [];
		if (state.status === 'awaiting_tools' && call !== undefined) await act(`/${id}/tool-results`, [decide(call)]);
		else if (state.status === 'awaiting_user') await act(`/${id}/answer`, { text: 'red' });
		else if (state.status === 'awaiting_tools') await act(`/${id}/continue`);
		else return state;
	}
}

/** Waits until a session was told the results of its children in the background. */
async function awaitReports(id: string, count: number): Promise<void> {
	for (;;) {
		const { children = [] } = await attend(id);
		const background = children.filter((child) => child.background);
		for (const child of background) await settle(child.id);
		const { text = '' } = (await ask(`/${id}/messages`)) ?? {};
		if (background.filter((child) => text.includes(`(session ${child.id})`)).length >= count) break;
	}
	await attend(id);
}

async function speak(id: string, text: string, reports: number): Promise<void> {
	await act(`/${id}/messages`, { text });
	await attend(id);
	if (reports > 0) await awaitReports(id, reports);
}

/** Kills objects after some of their writes. Returns the number of deaths so far. */
function killSome(random: Random): () => number {
	const left = Array.from({ length: random(1, 2) }, () => ({ after: random(0, 9), isDurable: random(0, 1) === 1 }));
	const all = left.length;
	let next = left.shift();
	let points = 0;
	atCrashPoint((_, { session }) => {
		if (next === undefined || points++ < next.after) return undefined;
		const { isDurable } = next;
		points = 0;
		next = left.shift();
		return die(session, { isDurable });
	});
	return () => all - left.length - (next === undefined ? 0 : 1);
}

/** Makes a session of some steps, and records it as `runlet record` does. The number decides everything. */
export async function makeSession(n: number): Promise<Made> {
	const random = createRandom(n);
	const provider = providers[n % providers.length] ?? 'anthropic';
	const made = await act('', { agent: 'desk', model: models[n % models.length], metadata: { shop: `Shop ${n}` } });
	const { id } = JSON.parse(made);
	const names = Object.keys(steps);
	const chosen = Array.from({ length: random(1, 3) }, () => names[random(0, names.length - 1)] ?? '');
	// Each step comes with each provider.
	chosen.push(names[Math.floor(n / providers.length) % names.length] ?? '');
	let deaths = 0;
	let reports = 0;
	for (const [at, name] of chosen.entries()) {
		const tag = `${n}-${at}`;
		const stage: Stage = {
			...{ tag, provider, random },
			act: async (path, body, method) => void (await act(`/${id}/${path}`, body, method)),
			plan: (other, replies) => plans.set(other, replies),
		};
		const step = steps[name]?.(stage);
		plans.set(tag, step?.replies ?? []);
		await step?.before?.();
		const readDeaths = n % 2 === 1 && random(0, 1) === 1 ? killSome(random) : () => 0;
		reports += step?.background ?? 0;
		await doMeanwhile(speak(id, `${name} #${tag}`, reports));
		deaths += readDeaths();
		atCrashPoint();
	}
	const client = createClient('http://localhost', {
		fetch: async (input, init) => worker.request(input, init, env),
	});
	return { provider, steps: chosen, deaths, file: writeRecording(await recordSession(client, id)) };
}
