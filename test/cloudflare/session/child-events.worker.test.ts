import { expect, test } from 'vitest';
import type { ScriptedFn } from '../../../src/core/providers/scripted.ts';
import {
	allEvents,
	follow,
	readEvents,
	readStatusUnlessDead,
	request,
	restart,
	send,
	type WireEvent,
} from '../../client.ts';
import { createRandom } from '../../endurance/random.ts';
import { cast, createEditor, give, readChildren, said, usage } from './family.ts';
import { post } from './stage.ts';

type Event = Record<string, unknown> & { readonly type: string };

/** The shown events of each session, by the calls that lead to it, with neighbouring pieces of a text joined. */
function sortByPath(events: readonly WireEvent[]): Record<string, Event[]> {
	const found: Record<string, Event[]> = {};
	const add = (event: Event, path: string): void => {
		if (isChildEvent(event)) {
			add(event.event, `${path}/${event.id}`);
			return;
		}
		found[path] ??= [];
		const last = found[path].at(-1);
		if (event.type !== 'text' || last?.type !== 'text') found[path].push(event);
		else found[path].splice(-1, 1, { ...event, text: `${last.text}${event.text}` });
	};
	for (const { type, data } of events) add({ ...data, type }, '');
	return found;
}

function isChildEvent(event: Event): event is Event & { readonly id: string; readonly event: Event } {
	return event.type === 'child';
}

const typesOf = (events: readonly Event[] = []) => events.map(({ type }) => type);
const pieces = Array.from({ length: 60 }, (_, n) => `${n} `);

/** Lets each writer write one piece for each call of `allow`. */
function createPacer() {
	let allowed = 0;
	let next = Promise.withResolvers<void>();
	const write: ScriptedFn = async (asked, show) => {
		for (const [n, text] of pieces.entries()) {
			while (allowed <= n) await next.promise;
			await show({ type: 'text', text: `${said(asked)}${text}` });
		}
		return { text: pieces.map((text) => `${said(asked)}${text}`).join(''), usage: usage(1, 1) };
	};
	const allow = (more: number): void => {
		allowed += more;
		next.resolve();
		next = Promise.withResolvers<void>();
	};
	return { write, allow };
}

/** A tree: the root calls a writer and an editor, and the editor calls another writer. */
const tree = [
	{ toolCalls: [give('a', 'A', 'writer'), give('b', 'Have it edited.', 'edit')] },
	// The editor's script.
	{ toolCalls: [give('c', 'C', 'writer')] },
	'From below.',
	'Done.',
];

test('a reader with 50 random disconnects sees each event of every session of a tree exactly once', async () => {
	const random = createRandom(711);
	const { write, allow } = createPacer();
	cast({ editor: tree, writer: write });
	const id = await createEditor();
	await (await post(id)).text();
	const seen: WireEvent[] = [];
	for (let cut = 0; cut < 50; cut++) {
		// Each working writer has a new piece then.
		allow(1);
		const working = Object.values(sortByPath(seen)).filter((events) => typesOf(events).includes('text')).length;
		let left = random(1, Math.max(1, working));
		for await (const event of readEvents(await follow(id, seen.at(-1)?.id))) {
			seen.push(event);
			if (--left === 0) break;
		}
	}
	allow(pieces.length);
	seen.push(...(await allEvents(await follow(id, seen.at(-1)?.id))));
	const whole = await allEvents(await follow(id));
	expect(sortByPath(seen)).toEqual(sortByPath(whole));
	expect(Object.keys(sortByPath(whole)).sort()).toEqual(['', '/a', '/b', '/b/c']);
	expect(sortByPath(whole)['/b/c']).toMatchObject([
		{ type: 'run.started' },
		{ type: 'text', text: pieces.map((text) => `C${text}`).join('') },
		{ type: 'stop' },
		{ type: 'step' },
		{ type: 'done' },
	]);
	// From any event in the store, too.
	for (let cut = 0; cut < 20; cut++) {
		const at = random(0, whole.length - 2);
		const rest = await allEvents(await follow(id, whole[at]?.id));
		expect(sortByPath([...whole.slice(0, at + 1), ...rest]), `cut behind ${whole[at]?.id}`).toEqual(sortByPath(whole));
	}
});

test('the events of a child come between the note with the child’s id and the result of its call', async () => {
	cast({ editor: tree, writer: (asked) => `${said(asked)}.` });
	const id = await createEditor();
	const events = await allEvents(await send(id, 'go'));
	const [child] = await readChildren(id);
	const places = (isIt: (event: WireEvent) => boolean) => events.flatMap((one, at) => (isIt(one) ? [at] : []));
	const ofA = places(({ type, data }) => type === 'child' && data.id === 'a');
	expect(ofA.length).toBeGreaterThan(3);
	expect(events[ofA[0] ?? 0]?.data).toMatchObject({ session: child?.id, agent: 'writer' });
	const [note] = places(({ type, data }) => type === 'note' && data.detail === child?.id);
	const [result] = places(({ type, data }) => type === 'tool_result' && data.id === 'a');
	expect(note).toBeLessThan(ofA[0] ?? 0);
	expect(result).toBeGreaterThan(ofA.at(-1) ?? Number.POSITIVE_INFINITY);
});

test('a reader gets the whole text of a child once, even if the parent or the child was killed', async () => {
	for (const who of ['parent', 'child']) {
		const { write, allow } = createPacer();
		cast({ editor: [{ toolCalls: [give('a', 'A')] }, 'Done.'], writer: write });
		const id = await createEditor();
		await (await post(id)).text();
		allow(10);
		const seen: WireEvent[] = [];
		for await (const event of readEvents(await follow(id))) {
			seen.push(event);
			if (typesOf(sortByPath(seen)['/a']).includes('text')) break;
		}
		const [child] = await readChildren(id);
		await restart(who === 'parent' ? id : (child?.id ?? ''));
		allow(pieces.length);
		await expect.poll(() => readStatusUnlessDead(id), { timeout: 20_000 }).toBe('completed');
		seen.push(...(await allEvents(await follow(id, seen.at(-1)?.id))));
		const own = sortByPath(seen)['/a'] ?? [];
		const from = 1 + typesOf(own).lastIndexOf('turn.restarted');
		const text = own.slice(from).find(({ type }) => type === 'text')?.text;
		expect(text, who).toBe(pieces.map((piece) => `A${piece}`).join(''));
		expect(typesOf(own).filter((type) => type === 'done')).toHaveLength(1);
		expect(typesOf(sortByPath(seen)[''] ?? []).filter((type) => type === 'note')).toHaveLength(1);
	}
});

test('a reader gets the events of a child up to its question, and the rest after the answer', async () => {
	const calls = [{ id: 'q', name: 'ask', input: { question: 'Which colour?' } }];
	cast({
		editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'],
		writer: (asked) => (calls.length > 0 ? { toolCalls: calls.splice(0) } : `Told: ${said(asked)}`),
	});
	const id = await createEditor();
	const asked = await allEvents(await send(id, 'go'));
	expect(typesOf(sortByPath(asked)['/a']).at(-1)).toBe('awaiting');
	await (await request(`/v1/sessions/${id}/answer`, { text: 'red' })).text();
	const whole = ['run.started', 'text', 'stop', 'step', 'done'];
	const rest = await allEvents(await follow(id, asked.at(-1)?.id));
	expect(typesOf(sortByPath(rest)['/a'])).toEqual(whole);
	// A new reader gets only the newest run.
	expect(typesOf(sortByPath(await allEvents(await follow(id)))['/a'])).toEqual(whole);
});

test('a cancelled parent ends its stream without waiting for its children', async () => {
	const { write, allow } = createPacer();
	cast({ editor: [{ toolCalls: [give('a', 'A')] }], writer: write });
	const id = await createEditor();
	const reader = await send(id, 'go');
	allow(1);
	await expect.poll(async () => (await readChildren(id)).length).toBe(1);
	await (await request(`/v1/sessions/${id}/cancel`, {})).text();
	expect((await allEvents(reader)).at(-1)).toMatchObject({ type: 'cancelled', id: '1.end' });
});

test.each(['1.end~', '1.end~0', '1.end~0(', '1.end~x(1.end)', '1.end~0(1.end))', 'x~0(1.end)', '9.end~0(1.end)'])(
	'an id that names no event of a tree is refused: %s',
	async (lastEventId) => {
		cast({ editor: ['Done.'] });
		const id = await createEditor();
		await allEvents(await send(id, 'go'));
		expect((await follow(id, lastEventId)).status).toBe(400);
	},
);

test('AI SDK pages and OpenAI clients get the call and its result, but no event of the child', async () => {
	const script = { editor: [{ toolCalls: [give('a', 'A poem.')] }, 'Done.'], writer: () => 'Roses are red.' };
	cast(script);
	const id = crypto.randomUUID();
	const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'go' }] };
	const page = await (await request('/v1/ui/editor', { id, message, messages: [message] })).text();
	expect(page).toContain('tool-output-available');
	cast(script);
	const chat = { model: 'editor', stream: true, messages: [{ role: 'user', content: 'go' }] };
	const completion = await (await request('/v1/chat/completions', chat)).text();
	expect(completion).toContain('Done.');
	for (const text of [page, completion]) expect(text).not.toContain('"child"');
});
