import { createHmac, randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { read } from './reader.ts';
import { oneReply } from './script.ts';
import { outcomes, type Sent } from './settled.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/** Deliveries of each webhook. */
const copies = 5;
/** Concurrent requests. */
const inFlight = 16;
const secret = 'whom-github-would-know';

const answer = v.object({ sessionId: v.string(), runId: v.string() });

/** The answers to one webhook, delivery by delivery. */
interface Delivered {
	readonly tag: string;
	readonly answers: { readonly status: number; readonly sessionId: string; readonly runId: string }[];
}

/**
 * Delivers each webhook five times at once, with 16 concurrent requests, and kills the server meanwhile. A sender
 * that gets no answer repeats its delivery. Each webhook begins one run, and all its deliveries get that run.
 */
export function webhooks({ count = 500, kills = 10, seed }: Options): Promise<Figures> {
	const world = {
		script: oneReply(200),
		pieceLength: 50,
		paceMs: 0,
		toolMs: 0,
		seed,
		variables: { GITHUB_WEBHOOK_SECRET: secret },
	};
	return onStage(world, async (stage) => {
		const { server, outside, random } = stage;
		const all = Array.from({ length: count }, (_, n): Delivered => ({ tag: `webhook-${n}`, answers: [] }));
		const queue = all.flatMap((one) => {
			const request = signed(one.tag);
			return Array.from({ length: copies }, () => ({ one, request }));
		});
		const killAt = new Set(Array.from({ length: kills }, () => random(1, queue.length - 1)));
		const times: number[] = [];
		let killing = Promise.resolve();
		let repeated = 0;
		const sender = async (): Promise<void> => {
			for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
				const { ms, attempts, ...answer } = await deliver(stage, next.request);
				next.one.answers.push(answer);
				// Does not measure a delivery that a kill delayed.
				if (attempts === 1) times.push(ms);
				repeated += attempts - 1;
				if (killAt.delete(queue.length)) killing = killing.then(() => server.restart());
			}
		};
		await Promise.all(Array.from({ length: inFlight }, sender));
		await killing;
		const sent = all.map(check);
		const runs = new Set(all.map(({ answers }) => answers[0]?.runId)).size;
		if (runs !== count) throw new Error(`${count} webhooks began ${runs} runs`);
		for (const { session } of sent) await read(stage.client, session);
		const { completed, interrupted } = await outcomes(stage, sent);
		for (const { tag, session } of sent) await checkOnce(stage, tag, session);
		const asked = new Set(outside.upstream.asks.map(({ tag }) => tag)).size;
		if (asked !== count) throw new Error(`the model was asked about ${asked} of ${count} webhooks`);
		times.sort((a, b) => a - b);
		const quantile = (share: number) => (times[Math.ceil(share * times.length) - 1] ?? Number.NaN).toFixed(0);
		return {
			seed: stage.seed,
			webhooks: count,
			'deliveries, each answered': count * copies,
			'delivered again after a kill': repeated,
			kills: server.lives - 1,
			runs,
			completed,
			'out of attempts': interrupted,
			'acknowledged, median, ms': quantile(0.5),
			'acknowledged, 99th percentile, ms': quantile(0.99),
		};
	});
}

/** A webhook with GitHub's signature. */
function signed(tag: string): RequestInit {
	const body = JSON.stringify({ action: 'opened', tag });
	const signature = createHmac('sha256', secret).update(body).digest('hex');
	return {
		method: 'POST',
		body,
		headers: {
			'content-type': 'application/json',
			'x-github-event': 'issues',
			'x-github-delivery': randomUUID(),
			'x-hub-signature-256': `sha256=${signature}`,
		},
	};
}

/** Repeats a delivery until it has an answer. */
async function deliver({ server }: Stage, request: RequestInit) {
	for (let attempts = 1; ; attempts++) {
		await server.up();
		const { lives } = server;
		const begun = performance.now();
		try {
			const response = await fetch(`${server.url}/v1/webhooks/hooked/github`, request);
			const text = await response.text();
			if (!response.ok) throw new Error(`refused: ${response.status} ${text}`);
			const ms = performance.now() - begun;
			return { ms, attempts, status: response.status, ...v.parse(answer, JSON.parse(text)) };
		} catch (error) {
			// A kept-alive connection may close at the moment of its next use, but not twice in a row.
			if (server.isUp && server.lives === lives && attempts > 1) throw error;
		}
	}
}

/** Throws if the deliveries of a webhook got different runs, or more than one delivery began a new run. */
function check({ tag, answers }: Delivered): Sent {
	const [first] = answers;
	if (first === undefined || answers.length !== copies) throw new Error(`${tag}: ${answers.length} answers`);
	if (answers.some(({ runId, sessionId }) => runId !== first.runId || sessionId !== first.sessionId))
		throw new Error(`${tag}: its deliveries began different runs`);
	if (answers.filter(({ status }) => status === 202).length > 1) throw new Error(`${tag}: was new twice`);
	return { tag, session: first.sessionId };
}

/** Throws if a session's history differs from the message and its answer. */
async function checkOnce({ client }: Stage, tag: string, session: string): Promise<void> {
	const messages = (await client.history(session)).filter(({ role }) => role === 'user');
	if (messages.length !== 1) throw new Error(`${tag}: ${messages.length} messages are stored`);
}
