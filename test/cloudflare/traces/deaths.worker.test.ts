import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { TraceSpan } from '../../../src/cloudflare/wire/trace.ts';
import { createSession, querySession, readHistory, readObject, request } from '../../client.ts';
import { atCrashPoint, die } from '../../crash.ts';
import { play } from '../../script.ts';
import { collector } from '../../worker.ts';
import { call, collect, pass, passAlarms, readTrace, stopClock } from './collector.ts';

export const bySpanId = (spans: readonly TraceSpan[]) => spans.toSorted((a, b) => a.spanId.localeCompare(b.spanId));
beforeEach(stopClock);
afterEach(() => {
	vi.restoreAllMocks();
	atCrashPoint();
	collector.url = undefined;
});

const steps = ['accepted', 'model-begin', 'model-end', 'tool-begin', 'tool-end', 'ended'] as const;

test('200 kills and waits of three days: one trace a run, and its spans are the steps of the journal', async () => {
	const { spans } = await collect(...Array.from({ length: 30 }, (_, n) => [503, 200, 0, 429, 200][n % 5] ?? 200));
	let kills = 0;
	const sessions: string[] = [];
	for (let round = 0; kills < 200; round++) {
		const id = await createSession();
		sessions.push(id);
		let left = 6;
		let count = round;
		atCrashPoint((point, { session }) => {
			const [at, isDurable] = [steps[count % steps.length], count % 2 === 0];
			if (left === 0 || point !== at || session !== readObject(id).id.toString()) return undefined;
			left--;
			count += 5;
			kills++;
			return die(session, { isDurable });
		});
		await live(id, round);
		atCrashPoint();
		await passAlarms(id);
	}
	let waits = 0;
	for (const id of sessions) {
		const exported = new Map((await spans(id)).map((span) => [span.spanId, span]));
		const all = await readTrace(id);
		expect(bySpanId([...exported.values()])).toEqual(bySpanId(all));
		waits += all.filter(({ name }) => name === 'approval pay').length;
		const history = await readHistory(id);
		const count = (role: string) => history.filter((message) => message.role === role).length;
		const named = (kind: string) => all.filter(({ name }) => name.startsWith(`${kind} `)).length;
		expect([named('chat'), named('execute_tool')]).toEqual([count('assistant'), count('tool')]);
		const runs = await querySession<{ status: string }>(id, 'SELECT status FROM run');
		const ended = runs.filter(({ status }) => !status.startsWith('awaiting'));
		expect(new Set(all.map(({ traceId }) => traceId)).size).toBe(ended.length);
		expect(all.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(ended.length);
	}
	expect(waits).toBeGreaterThan(sessions.length / 2);
});

/** Plays two runs of a session whose object dies. The first waits for three days. */
async function live(id: string, round: number): Promise<void> {
	play(
		({ messages }) =>
			messages.at(-1)?.role === 'user'
				? { toolCalls: [call(`e${round}`, 'echo', { text: 'a' }), call(`p${round}`, 'pay', { amount: 5 })] }
				: 'Done.',
		...Array(40).fill('Done.'),
	);
	await until(id, () => request(`/v1/sessions/${id}/messages`, { text: 'Go' }, { 'idempotency-key': 'go' }));
	pass(3 * 86_400_000);
	if ((await readStatus(id)) === 'awaiting_tools')
		await until(id, () => request(`/v1/sessions/${id}/tool-results`, [{ id: `p${round}`, approve: round % 3 !== 0 }]));
	play(...Array(40).fill('Again.'));
	await until(id, () => request(`/v1/sessions/${id}/messages`, { text: 'And' }, { 'idempotency-key': 'and' }));
}

const readStatus = async (id: string): Promise<string> =>
	Object(await (await request(`/v1/sessions/${id}`)).json()).status;

/** Sends a request until the object survives it and nothing runs any more. */
async function until(id: string, ask: () => Promise<Response>): Promise<void> {
	for (let time = 0; time < 30; time++) {
		const status = await ask().then(
			async (response) => {
				await response.text();
				return response.status;
			},
			() => 0,
		);
		if (status !== 0 && status < 500 && status !== 409) break;
		if (status === 409) break;
	}
	await expect
		.poll(() => readStatus(id).catch(() => 'dead'), { timeout: 60_000 })
		.toMatch(/^(idle|completed|error|awaiting_\w+)$/);
}
