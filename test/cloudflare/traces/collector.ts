import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test';
import * as v from 'valibot';
import { expect, inject, vi } from 'vitest';
import type { TraceSpan } from '../../../src/cloudflare/wire/trace.ts';
import { readObject, request } from '../../client.ts';
import { collector } from '../../worker.ts';

const received = v.array(v.object({ headers: v.record(v.string(), v.string()), body: v.string() }));
export const call = (id: string, name: string, input: object) => ({ id, name, input: { ...input } });

/** Exports to an address of its own, which answers with these statuses first. Returns what it has received. */
export async function collect(...statuses: readonly number[]) {
	const url = `${inject('receiver')}/${crypto.randomUUID()}/v1/traces`;
	await fetch(url, { method: 'PUT', body: JSON.stringify(statuses) });
	collector.url = url;
	const requests = async () => v.parse(received, await (await fetch(url)).json());
	const spans = async (session: string) =>
		(await requests()).flatMap(({ body }) => readSpans(body)).filter((span) => toSession(span) === session);
	return { requests, spans };
}

export function readSpans(body: string): readonly TraceSpan[] {
	const [resource] = JSON.parse(body).resourceSpans;
	expect(resource.resource.attributes).toEqual([{ key: 'service.name', value: { stringValue: 'tests' } }]);
	return resource.scopeSpans[0].spans;
}

export function toSession({ attributes }: TraceSpan): unknown {
	return Object(attributes.find(({ key }) => key === 'gen_ai.conversation.id')?.value).stringValue;
}

export const readTrace = async (id: string): Promise<readonly TraceSpan[]> => {
	const trace = await (await request(`/v1/sessions/${id}/trace`)).json<{ resourceSpans: object[] }>();
	return Object(trace.resourceSpans[0]).scopeSpans[0].spans;
};

let now = Date.UTC(2030, 0, 7);

/** Stops the clock, ten days after the test before. */
export function stopClock(): void {
	now += 10 * 86_400_000;
	vi.spyOn(Date, 'now').mockImplementation(() => now);
}

/** Lets the clock go on. */
export function pass(milliseconds: number): void {
	now += milliseconds;
}

/** Lets the time pass until the alarm, and runs it, until no alarm is set. Returns the pauses, in milliseconds. */
export async function passAlarms(id: string): Promise<readonly number[]> {
	const pauses: number[] = [];
	for (;;) {
		const at = await runInDurableObject(readObject(id), (_, { storage }) => storage.getAlarm());
		if (at === null) return pauses;
		pauses.push(Math.max(0, at - now));
		now = Math.max(now, at);
		await runDurableObjectAlarm(readObject(id));
	}
}
