import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { type Plan, writePlan } from './plan.ts';
import { startProcessorClock } from './process.ts';
import { readRun } from './reading.ts';
import type { Stage } from './stage.ts';
import { authorization, type Conversation, durable, type Subject, session, stream } from './subjects.ts';
import { type Bar, readMedian, toFigure, toTable } from './table.ts';

const few = 10;
const many = 10_000;
const turns = 10;
const plan: Plan = { tools: 0, deltas: 4, perWrite: 4, paceMs: 0, padding: 0 };

/** CPU milliseconds of a turn in a conversation with few and with many messages. */
export interface Growth {
	readonly few: number;
	readonly many: number;
}
export interface Growths {
	readonly durable: Growth;
	readonly session: Growth;
}

/** Makes a conversation with `messages` messages in its history. */
type Fill = (url: string, messages: number) => Promise<Conversation>;

export async function measureGrowths(stage: Stage, rounds: number): Promise<Growths> {
	return {
		durable: await measureGrowth(stage, durable, fillDurable, rounds),
		session: await measureGrowth(stage, session, fillSession, rounds),
	};
}

async function measureGrowth({ start }: Stage, subject: Subject, fill: Fill, rounds: number): Promise<Growth> {
	const server = await start(subject);
	const talks = { few: await fill(server.url, few), many: await fill(server.url, many) };
	const times = { few: [] as number[], many: [] as number[] };
	// The first round compiles the code, and is not counted.
	for (let round = 0; round <= rounds; round++) {
		for (const name of ['few', 'many'] as const) {
			const readClock = startProcessorClock(server.pid);
			for (let turn = 0; turn < turns; turn++) await talks[name](plan);
			if (round > 0) times[name].push(readClock() / 1_000 / turns);
		}
	}
	const growth = { few: readMedian(times.few), many: readMedian(times.many) };
	await server.close();
	return growth;
}

function createHistory(messages: number): readonly { readonly role: string; readonly content: string }[] {
	return Array.from({ length: messages }, (_, at) => ({
		role: at % 2 === 0 ? 'user' : 'assistant',
		content: `message ${at}`,
	}));
}

const fillDurable: Fill = async (url, messages) => {
	const own = `${url}/${randomUUID()}`;
	await (await fetch(own, { method: 'PUT', body: JSON.stringify(createHistory(messages)) })).text();
	return (asked) => readRun({ url: own, body: writePlan(asked) }, asked);
};

/** A client of the OpenAI API sends the history with its first message. */
const fillSession: Fill = async (url, messages) => {
	const body = {
		model: 'bench',
		messages: [...createHistory(messages - 2), { role: 'user', content: writePlan(plan) }],
	};
	const response = await fetch(`${url}/v1/chat/completions`, {
		method: 'POST',
		headers: { authorization, 'content-type': 'application/json', 'runlet-session': randomUUID() },
		body: JSON.stringify(body),
	});
	const answer = await response.text();
	if (!response.ok) throw new Error(`a history was refused: ${answer}`);
	const id = v.parse(v.string(), response.headers.get('runlet-session'));
	const own = `${url}/v1/sessions/${id}/messages`;
	return (asked) => readRun({ url: own, headers: stream, body: JSON.stringify({ text: writePlan(asked) }) }, asked);
};

/**
 * The CPU of a session's turn with many messages, divided by the CPU of its turn with few messages. Both are
 * without the cost of the request in the loop by hand.
 */
function readRatio(growths: Growths): number {
	const request = growths.durable.many - growths.durable.few;
	return (growths.session.many - request) / growths.session.few;
}

export function toGrowthTable({ durable: byHand, session: ours }: Growths): string {
	const cells = [
		[durable.name, toFigure(byHand.few), toFigure(byHand.many)],
		[session.name, toFigure(ours.few), toFigure(ours.many)],
	];
	return toTable([['CPU ms of a turn', '10 messages', '10,000 messages'], ...cells]);
}

export function listGrowthBars(growths: Growths): readonly Bar[] {
	const what = 'a turn on 10,000 messages beside 10, without the request itself';
	return [{ what, value: readRatio(growths), unit: '×', most: 1.5 }];
}
