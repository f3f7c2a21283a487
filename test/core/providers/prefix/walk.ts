/** Random sessions, and the common beginnings of their requests. */
import * as fc from 'fast-check';
import { insertResult, listOpenCalls } from '../../../../src/core/chat/message.ts';
import {
	askUser,
	type ChatOptions,
	chat,
	type Message,
	type Skill,
	type Tool,
	type ToolCall,
} from '../../../../src/core/index.ts';
import { readTool } from '../../chat/support.ts';
import type { NeutralCall } from '../wire/dialect.ts';
import type { Api, Parts } from './apis.ts';

/** A turn of the model. With `fails` the request after it fails, and ends the run. */
interface PlannedTurn {
	readonly text: string;
	readonly thinks: boolean;
	readonly calls: readonly (readonly [name: string, word: string])[];
	readonly steer?: string;
	readonly fails: boolean;
}

interface PlannedRun {
	readonly text: string;
	readonly image: boolean;
	readonly system: boolean;
	readonly recalled?: string;
	readonly turns: readonly PlannedTurn[];
	readonly approves: boolean;
}

const words = ['alpha', 'beta', 'gamma', 'delta'] as const;
const calls = [
	'read',
	'broken',
	'pay',
	'ask',
	'search_tools',
	'read_skill',
	'alpha_1',
	'beta_2',
	'skilled_gamma',
] as const;
const text = fc.string({ maxLength: 30, unit: 'grapheme' });

const turn: fc.Arbitrary<PlannedTurn> = fc.record(
	{
		text,
		thinks: fc.boolean(),
		calls: fc.array(fc.tuple(fc.constantFrom(...calls), fc.constantFrom(...words)), { maxLength: 4 }),
		steer: text,
		fails: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
	},
	{ requiredKeys: ['text', 'thinks', 'calls', 'fails'] },
);

/** A session with its runs. A large number of tools needs a search. */
export const plans: fc.Arbitrary<Plan> = fc.record({
	repeatsIds: fc.boolean(),
	isMany: fc.boolean(),
	runs: fc.array(
		fc.record(
			{
				text,
				image: fc.boolean(),
				system: fc.boolean(),
				recalled: fc.constantFrom('', 'Likes tea.', 'Has a dog.'),
				turns: fc.array(turn, { minLength: 1, maxLength: 4 }),
				approves: fc.boolean(),
			},
			{ requiredKeys: ['text', 'image', 'system', 'turns', 'approves'] },
		),
		{ minLength: 2, maxLength: 5 },
	),
});

export interface Plan {
	/** Whether the replies of the model repeat the ids of calls. */
	readonly repeatsIds: boolean;
	readonly isMany: boolean;
	readonly runs: readonly PlannedRun[];
}

/** Creates the tools again for each run, as after a restart. */
function createTools(isMany: boolean): Tool[] {
	const own = words.flatMap((word) =>
		Array.from({ length: isMany ? 9 : 2 }, (_, n) =>
			readTool(`${word}_${n}`, () => n, { description: `Does ${word}.` }),
		),
	);
	// There are few hidden tools, so that a session never finds more tools than a request may have.
	const hidden = Array.from({ length: isMany ? 3 : 0 }, (_, n) => readTool(`hidden_${n}`, () => n));
	return [
		...own,
		...hidden,
		readTool('read', () => ({ fine: true })),
		readTool('broken', () => {
			throw new Error('broken');
		}),
		readTool('pay', () => 'paid', { needsApproval: true }),
		readTool('ask', () => askUser('Which one?')),
	];
}

function createSkills(): Skill[] {
	return words.map((word) => ({
		name: word,
		description: `About ${word}.`,
		body: `Do it as ${word}.`,
		tools: [readTool(`skilled_${word}`, () => word)],
	}));
}

/** Plays a session with an API. Returns the parts of all requests in order. */
export async function playSession(api: Api, { repeatsIds, isMany, runs }: Plan): Promise<readonly Parts[]> {
	const requests: Parts[] = [];
	const earlier = new Map<number, string>();
	let messages: readonly Message[] = [];
	let ids = 0;
	for (const { text, image, system, recalled = '', turns, approves } of runs) {
		const now: readonly Message[] = system ? [{ role: 'system', content: `Now: ${text}` }] : [];
		// A client adds a system message after an answer or at the beginning.
		const place = messages.length === 0 || messages.at(-1)?.role === 'assistant';
		const user = chat.userMessage(
			image ? [chat.imagePart('https://example.com/a.png'), chat.textPart(`${text}!`)] : `${text}?`,
		);
		messages = [...messages, ...(place ? now : []), user];
		let left = [...turns];
		let options: Partial<ChatOptions> = {};
		for (;;) {
			const provider = api.provider((body) => {
				requests.push(api.parts(body));
				const next = left[0];
				// Without an answer after the message, a system message would move. So this request must not fail.
				if (next?.fails && !(system && left.length === turns.length)) {
					left = [];
					return { status: 400, body: { error: { type: 'invalid_request_error', message: 'refused', code: 'no' } } };
				}
				left = left.slice(1);
				if (repeatsIds) ids = 0;
				const asked = (next?.calls ?? []).map(([name, word]): NeutralCall => {
					const input = name === 'search_tools' ? { query: word } : { name: word };
					return { id: `call${`${ids++}`.padStart(5, '0')}`, name, argumentsJson: JSON.stringify(input) };
				});
				const reasoning = next?.thinks ? `thought ${ids}` : undefined;
				const said = { text: `${next?.text ?? 'Done'}.`, reasoning, calls: asked };
				return { status: 200, body: api.body({ ...said, stop: asked.length > 0 ? 'tool_use' : 'end_turn' }) };
			});
			const stored = [...messages];
			const steered = turns.flatMap(({ steer }) => (steer === undefined ? [] : [chat.userMessage(`${steer}#`)]));
			const place = messages.length - 1;
			const run = chat.run(
				{
					model: api.model,
					providers: [provider],
					system: 'Be brief.',
					tools: createTools(isMany),
					maxRetries: 0,
					skills: createSkills(),
					recall: () => ({ text: options.openCalls === undefined ? recalled : '', sources: ['a'], earlier }),
					steer: () => {
						const taken = left.length < turns.length ? steered.splice(0, 1) : [];
						stored.push(...taken);
						return taken;
					},
					onMessage: (message) => (message.role === 'tool' ? insertResult(stored, message) : void stored.push(message)),
					...options,
				},
				messages,
			);
			const [settled] = await Promise.allSettled([run.result]);
			if (messages[place]?.role === 'user' && recalled !== '') earlier.set(place, recalled);
			const after = settled.status === 'fulfilled' ? settled.value.messages : stored;
			messages = JSON.parse(JSON.stringify(after));
			const open = listOpenCalls(messages);
			if (settled.status === 'rejected' || open.length === 0) break;
			const answers = open.filter(({ name }) => name !== 'pay' || !approves).map(answer);
			messages = [...messages, ...answers];
			options = { openCalls: new Map(open.map(({ id }) => [id, { isApproved: true }])) };
		}
	}
	return requests;
}

function answer({ id }: ToolCall): Message {
	return chat.toolResultMessage({ id, output: 'The first one.', isError: false });
}

/** Finds the first request that does not begin with the previous request, and the place of the difference. */
export function findBreak({ toolsInFront }: Pick<Api, 'toolsInFront'>, requests: readonly Parts[]): string | undefined {
	for (const [at, { tools, rest }] of requests.entries()) {
		const before = requests[at - 1] ?? { tools: toolsInFront ? [] : tools, rest: [] };
		const place = before.rest.findIndex((part, index) => part !== rest[index]);
		if (place !== -1) return `request ${at}: ${before.rest[place]} became ${rest[place]}`;
		const tool = before.tools.findIndex((part, index) => part !== tools[index]);
		if (tool !== -1) return `request ${at}: the tool ${before.tools[tool]} became ${tools[tool]}`;
		if (!toolsInFront && tools.length > before.tools.length) return `request ${at}: ${tools.at(-1)} is new in front`;
	}
	return undefined;
}

/** Returns where a session may add tools. After a repeated call id, a found tool is at the end of the list. */
export function toExpected({ toolsInFront }: Api, { repeatsIds }: Plan): Pick<Api, 'toolsInFront'> {
	return { toolsInFront: toolsInFront || repeatsIds };
}
