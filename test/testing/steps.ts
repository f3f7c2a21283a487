/** The steps of the hundred recorded sessions. Each has a message, the replies of the model and what happens meanwhile. */
import type { Random } from '../endurance/random.ts';
import { models } from './desk.ts';
import { type Reply, recorded } from './wires.ts';

/** What a step knows about its session. */
export interface Stage {
	/** The tag of the step's message, which finds its replies. */
	readonly tag: string;
	readonly provider: 'anthropic' | 'openai' | 'gemini';
	readonly random: Random;
	/** Sends a request about the session. */
	readonly act: (path: string, body?: unknown, method?: string) => Promise<void>;
	/** Sets the replies to the messages with another tag. */
	readonly plan: (tag: string, replies: readonly Reply[]) => void;
}

interface Step {
	readonly replies: readonly Reply[];
	readonly before?: () => Promise<void>;
	/** The number of children that work in the background. */
	readonly background?: number;
}

const call = (name: string, input: object = {}): Reply => ({ calls: [[name, input]] });
const order = { id: 'A-1' };

/** Gives the task of a child its own replies. */
function plan({ tag, plan, random }: Stage, replies: readonly Reply[], n = 0) {
	const child = `${tag}c${n}`;
	plan(child, replies);
	return { agent: `packer-${random(0, models.length - 1)}`, task: `Pack A-1. #${child}` };
}

/** The steps, by what they show. */
export const steps: Readonly<Record<string, (stage: Stage) => Step>> = {
	'parallel calls and failures': () => ({
		replies: [
			{
				reasoning: 'I look first.',
				calls: [
					['find_order', order],
					['find_order', { id: 'none' }],
					['refund', order],
				],
			},
			{ text: 'It was sent.' },
		],
	}),
	'an approval with an edit': () => ({ replies: [call('refund', { id: 'A-1', euros: 80 }), { text: 'Paid back.' }] }),
	'a refused approval': () => ({
		replies: [{ reasoning: 'That is much.', ...call('refund', { id: 'A-1', euros: 90 }) }, { text: 'I may not.' }],
	}),
	'two approvals beside a call': () => ({
		replies: [
			{
				text: 'A moment.',
				calls: [
					['refund', { id: 'A-1', euros: 80 }],
					['find_order', order],
					['refund', { id: 'A-2', euros: 70 }],
				],
			},
			{ text: 'Both are paid.' },
		],
	}),
	'a question': () => ({ replies: [call('ask_color'), call('note', { text: 'red' }), { text: 'Noted.' }] }),
	'a call of the client': () => ({ replies: [call('gift', { for: 'Ada' }), { text: 'A book.' }] }),
	steering: ({ act }) => ({
		replies: [
			{
				...call('note', { text: 'first' }),
				meanwhile: () => act('messages', { text: 'And be quick.', whenBusy: 'steer' }),
			},
			{ ...call('read_notes'), meanwhile: () => act('messages', { text: 'Quicker.', whenBusy: 'steer' }) },
			{ text: 'Quickly noted.' },
		],
	}),
	queues: ({ tag, act, plan }) => {
		for (const n of [1, 2]) plan(`${tag}q${n}`, [call('find_order', { id: `Q-${n}` }), { text: `Answer ${n}.` }]);
		const queue = (n: number) => act('messages', { text: `Then this. #${tag}q${n}`, whenBusy: 'queue' });
		return {
			replies: [
				{ ...call('note', { text: 'busy' }), meanwhile: () => queue(1) },
				{ text: 'First.', meanwhile: () => queue(2) },
			],
		};
	},
	files: ({ tag, act }) => ({
		before: () => act(`files/in/${tag}.txt`, `A bag for ${tag}.\nAnd a box.\n`, 'PUT'),
		replies: [
			call('load', { path: `in/${tag}.txt` }),
			{
				calls: [
					['save', { path: `out/${tag}.txt`, text: 'Done' }],
					['read_file', { path: `in/${tag}.txt` }],
				],
			},
			call('load', { path: `out/${tag}.txt` }),
			call('list_files'),
			{ text: 'It is written down.' },
		],
	}),
	'a child': (stage) => {
		const { agent, task } = plan(stage, [call('wrap', { paper: 'red' }), { text: 'Wrapped.' }]);
		return { replies: [call(agent.replace('-', '_'), { task }), { text: 'Packed.' }] };
	},
	'a child with an edited approval, and another': (stage) => {
		const one = plan(stage, [call('weigh', { grams: 500 }), { text: 'Weighed.' }]);
		const other = plan(stage, [{ reasoning: 'Easy.', text: 'Nothing to do.' }], 1);
		return {
			replies: [
				{
					calls: [
						[one.agent.replace('-', '_'), { task: one.task }],
						[other.agent.replace('-', '_'), { task: other.task }],
					],
				},
				{ text: 'Both are done.' },
			],
		};
	},
	'a child in the background': (stage) => {
		const one = plan(stage, [call('wrap', { paper: 'blue' }), { text: 'Wrapped in blue.' }]);
		return { background: 1, replies: [call('send_off', one), { text: 'On its way.' }] };
	},
	'an MCP server': () => ({
		replies: [
			call('depot_find', { what: 'tape' }),
			call('depot_buy', { what: 'tape', count: 9 }),
			call('depot_fail'),
			{ text: 'Bought.' },
		],
	}),
	'a skill and an image': () => ({
		replies: [
			{
				calls: [
					['read_skill', { name: 'tone' }],
					['picture', {}],
				],
			},
			{ text: 'Kindly, here.' },
		],
	}),
	'an end by a tool': () => ({ replies: [call('close')] }),
	'a cancelled run': ({ act }) => ({
		replies: [
			call('find_order', order),
			{ text: 'It was not cancelled.', hangs: true, meanwhile: () => act('cancel') },
			{ text: 'After the cancel.' },
		],
	}),
	'replies of real models': ({ provider, random }) => {
		const all = recorded[provider] ?? [];
		return { replies: [...(all[random(0, all.length - 1)] ?? []), { text: 'As they said.' }] };
	},
};
