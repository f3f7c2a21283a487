import { beforeEach, describe, expect, test } from 'vitest';
import type { CrashPointName } from '../../src/session/crash.ts';
import { allEvents, createSession, eventsOf, follow, historyOf, restart, send, type WireEvent } from '../client.ts';
import { atCrashPoint } from '../crash.ts';
import { play } from '../script.ts';

const forever = () => new Promise<never>(() => {});

beforeEach(() => atCrashPoint());

/** Resolves once a run has come to the point so often; it stays there. */
function hangAt(name: CrashPointName, time = 1): Promise<void> {
	const reached = Promise.withResolvers<void>();
	let left = time;
	atCrashPoint((point) => {
		if (point !== name || --left !== 0) return undefined;
		reached.resolve();
		return forever();
	});
	return reached.promise;
}

/** Shows a text of the turn and never ends. */
function halfOf(text: string) {
	return async (_: unknown, onDelta: (delta: { type: string; text: string }) => unknown) => {
		await onDelta({ type: 'text', text });
		return forever();
	};
}

/** Reads until a text came, then goes away. */
async function readTo(response: Response, text: string): Promise<WireEvent[]> {
	const seen: WireEvent[] = [];
	for await (const event of eventsOf(response)) {
		seen.push(event);
		if (event.data.text === text) break;
	}
	return seen;
}

/** The text of each turn that a reader has in front of it. */
function turnsOf(events: readonly WireEvent[]): string[] {
	const turns = [''];
	for (const { type, data } of events) {
		if (type === 'turn.restarted') turns[turns.length - 1] = '';
		if (type === 'text') turns.push(`${turns.pop()}${data.text}`);
		if (type === 'step') turns.push('');
	}
	return turns.filter((text) => text !== '');
}

async function repliesOf(id: string): Promise<unknown[]> {
	return (await historyOf(id)).filter(({ role }) => role === 'assistant').map(({ content }) => content);
}

describe('a turn whose object dies more than once', () => {
	test('reads as it is stored to a reader of its first life, also where the second one did not ask the model', async () => {
		const id = await createSession();
		play(halfOf('Half of the first'), 'The whole answer.');
		const seen = await readTo(await send(id, 'go'), 'Half of the first');
		const takenUp = hangAt('taken-up');
		await restart(id);
		const second = await follow(id);
		await takenUp;
		atCrashPoint();
		await restart(id);
		const rest = await allEvents(await follow(id, seen.at(-1)?.id));
		expect(turnsOf([...seen, ...rest])).toEqual(['The whole answer.']);
		await second.body?.cancel();
	});

	test('reads as it is stored to a reader of its second life, which did not ask the model', async () => {
		const id = await createSession();
		play(halfOf('Half'), 'The whole answer.');
		await readTo(await send(id, 'go'), 'Half');
		const takenUp = hangAt('taken-up');
		await restart(id);
		const seen: WireEvent[] = [];
		for await (const event of eventsOf(await follow(id))) {
			seen.push(event);
			if (event.type === 'turn.restarted') break;
		}
		await takenUp;
		atCrashPoint();
		await restart(id);
		const rest = await allEvents(await follow(id, seen.at(-1)?.id));
		expect(turnsOf([...seen, ...rest])).toEqual(await repliesOf(id));
	});
});
