import { setTimeout as pause } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { readUnderKills } from './killing.ts';
import { threeTools } from './script.ts';
import { type Figures, type Options, onStage, type Stage } from './stage.ts';

/**
 * Cuts the connections of readers of responses at random bytes, and kills the server meanwhile. Each response ends.
 * Behind any `starting_after`, no event is lost or doubled: a reader has exactly the events of the stored response, or
 * is told that the answer restarted.
 */
export function responses({ count = 200, kills = 100, seed }: Options): Promise<Figures> {
	const world = { script: threeTools(400), pieceLength: 12, paceMs: 10, toolMs: 20, seed };
	return onStage(world, async (stage) => {
		const total = { cuts: 0, responses: 0, events: 0, interrupted: 0 };
		await readUnderKills(stage, { count, kills }, async (place) => {
			const one = await readTwice(stage, `response-${place}`);
			for (const key of ['cuts', 'responses', 'events', 'interrupted'] as const) total[key] += one[key];
			return one.cuts;
		});
		return {
			seed: stage.seed,
			'reader cuts': total.cuts,
			kills,
			'responses read': total.responses,
			'events and characters read': total.events,
			'readers who were told of another answer': total.interrupted,
		};
	});
}

/** Reads a response with cuts, while it is written and after its end. */
async function readTwice(stage: Stage, tag: string) {
	const id = await stage.client.respond(tag);
	const live = await read(stage, id);
	while ((await stage.client.response(id)).status === 'in_progress') await pause(50);
	const past = await read(stage, id);
	const whole = await read(stage, id, { isCut: false });
	if (past.isInterrupted || whole.isInterrupted) throw new Error(`${tag}: the stored response is interrupted`);
	compare(`${tag}, read later`, past.units, whole.units);
	if (!live.isInterrupted) compare(`${tag}, read live`, live.units, whole.units);
	return {
		cuts: live.cuts + past.cuts,
		responses: 1,
		events: live.units.size + past.units.size,
		interrupted: live.isInterrupted ? 1 : 0,
	};
}

function compare(what: string, read: ReadonlyMap<number, string>, stored: ReadonlyMap<number, string>): void {
	const wrong = [...stored].find(([number, unit]) => read.get(number) !== unit);
	if (wrong !== undefined)
		throw new Error(`${what}: event ${wrong[0]} is ${read.get(wrong[0])}, stored as ${wrong[1]}`);
	if (read.size !== stored.size) throw new Error(`${what}: ${read.size} events, and ${stored.size} are stored`);
}

const ends = ['response.completed', 'response.failed', 'response.incomplete', 'error'];

/** Reads a response to its end. After each cut it goes on behind the last whole event. */
async function read({ client, random }: Stage, id: string, { isCut = true } = {}) {
	const units = new Map<number, string>();
	let end: string | undefined;
	let last: number | undefined;
	let cuts = 0;
	const take = ({ data }: { readonly data: string }): void => {
		const { sequence_number: number, delta, response, ...event } = JSON.parse(data);
		if (last !== undefined && number <= last) throw new Error(`event ${number} came after ${last}`);
		last = number;
		if (event.type.endsWith('_text.delta'))
			for (let at = 0; at < delta.length; at++) add(number - delta.length + 1 + at, [event, delta.charAt(at)]);
		// The clock of a stream is not that of the stored end.
		else if (event.type !== 'error') add(number, [event, delta, response && { ...response, completed_at: null }]);
		if (ends.includes(event.type)) end = event.type;
	};
	const add = (number: number, unit: unknown): void => {
		if (units.has(number)) throw new Error(`${id}: event ${number} came twice`);
		units.set(number, JSON.stringify(unit));
	};
	while (end === undefined) {
		const connection = new AbortController();
		const response = await client.responseEvents(id, last, connection.signal);
		const parser = createParser({ onEvent: take });
		const decoder = new TextDecoder();
		let room = isCut ? random(1, 8_000) : Number.POSITIVE_INFINITY;
		const body = response.body?.getReader();
		while (room > 0) {
			// A kill ends the body with an error.
			const { value } = (await body?.read().catch(() => undefined)) ?? {};
			if (value === undefined) break;
			parser.feed(decoder.decode(value.subarray(0, room), { stream: true }));
			room -= value.length;
		}
		await body?.cancel().catch(() => {});
		connection.abort();
		if (room <= 0 && end === undefined) cuts++;
	}
	return { units, cuts, isInterrupted: end === 'error' };
}
