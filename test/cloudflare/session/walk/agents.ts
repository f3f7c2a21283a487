/** The agents of the walk. They do what a message says, and record the input of their tools and their model. */
import * as v from 'valibot';
import { agentTool } from '../../../../src/cloudflare/agent/agent-tool.ts';
import { defineAgent } from '../../../../src/cloudflare/agent/define.ts';
import type { WebhookMessage } from '../../../../src/cloudflare/agent/webhook-mapping.ts';
import type { Actor } from '../../../../src/core/base/actor.ts';
import { askUser, tool, toolbox } from '../../../../src/core/index.ts';
import type { ScriptedFn } from '../../../../src/core/providers/index.ts';
import type { ToolContext } from '../../../../src/core/tool/index.ts';
import { areOne, listMarks, toName, users } from './persons.ts';

/** What a tool, a policy or the system prompt of a model got about a session. */
export interface Observation {
	readonly what: string;
	readonly sessionId?: string;
	readonly owner?: string;
	readonly user?: string;
	readonly metadata?: Readonly<Record<string, string>>;
	readonly askedBy?: Actor;
	/** The error of the previous call, as the model gets it. */
	readonly error?: string;
	/** The marks in the arguments, or in the whole input of the model. */
	readonly marks: readonly string[];
}

/** The request to a policy. */
export interface PolicyObservation extends Observation {
	readonly by: Actor;
	readonly askers: readonly Actor[];
	readonly approve: boolean;
}

/** The records since the last `takeSeen`. */
export const seen: {
	tools: Observation[];
	models: Observation[];
	policies: PolicyObservation[];
	skills: Observation[];
} = create();

function create() {
	return { tools: [], models: [], policies: [], skills: [] };
}

/** Returns and clears the records. */
export function takeSeen(): Readonly<typeof seen> {
	const taken = { ...seen };
	Object.assign(seen, create());
	return taken;
}

/** The tokens that the model has reported, for each person whose mark the model got. */
export const spent = new Map<string, number>();

type Context = Partial<Pick<ToolContext, 'sessionId' | 'owner' | 'user' | 'metadata' | 'askedBy'>>;

function note(what: string, input: unknown, { sessionId, owner, user, metadata, askedBy }: Context): void {
	seen.tools.push({ what, sessionId, owner, user, metadata, askedBy, marks: listMarks(JSON.stringify(input)) });
}

const inputSchema = v.object({ mark: v.string() });

function define(name: string, about: Partial<Parameters<typeof tool.define>[0]> = {}) {
	return tool.define({
		name,
		description: `Says what it is told (${name}).`,
		inputSchema,
		passInput: true,
		fn: (input: unknown, context: ToolContext) => {
			note(name, input, context);
			return `${name} has seen it.`;
		},
		...about,
	});
}

const witness = define('witness');
const pay = define('pay', {
	needsApproval: (input, context) => {
		note('pay?', input, context);
		return true;
	},
});
const byHand = define('by_hand', { manual: true, fn: undefined });
const quiz = define('quiz', {
	fn: (input: unknown, context: ToolContext) => {
		note('quiz', input, context);
		return askUser(`Which one? ${v.parse(inputSchema, input).mark}`);
	},
});
const order = define('order', {
	fn: (input: unknown, context: ToolContext) => {
		note('order', input, context);
		return askUser(`Which size? ${v.parse(inputSchema, input).mark}`, undefined, { kept: true });
	},
	onAnswer: (_answer: string, { args }: { readonly args: unknown }, context: ToolContext) => {
		note('order!', args, context);
		return 'ordered';
	},
});

/** The calls of a command, one per turn. */
const plans: Readonly<Record<string, readonly string[]>> = {
	plain: [],
	witness: ['witness'],
	fail: ['witness'],
	pay: ['pay', 'witness'],
	'quiz-pay': ['quiz', 'pay', 'witness'],
	quiz: ['quiz', 'witness'],
	order: ['order', 'witness'],
	'order-pay': ['order', 'pay', 'witness'],
	hand: ['by_hand', 'witness'],
	file: ['write_file', 'witness'],
	keep: ['remember', 'witness'],
	wake: ['schedule_wakeup', 'witness'],
	'child-witness': ['walker_helper', 'witness'],
	'child-pay': ['walker_helper', 'witness'],
	'child-quiz': ['walker_helper', 'witness'],
	'child-order': ['walker_helper', 'witness'],
	'off-witness': ['send_off', 'witness'],
	'off-pay': ['send_off', 'witness'],
};
const command = /#([a-z-]+) (zq-[abox]-[a-z]{3}-[0-9a-z]{5})(?: ([\w:.-]+))?/g;

function toInput(name: string, what: string, mark: string, more: string): object {
	const task = `#${what.replace(/^(child|off)-/, '')} ${mark}`;
	switch (name) {
		case 'remember':
			return { text: `Likes green tea ${mark}` };
		case 'write_file':
			return { path: 'notes.md', text: `Notes ${mark}` };
		case 'schedule_wakeup':
			return { name: `nap-${mark.slice(9)}`, text: `#witness ${mark}`, at: more };
		case 'walker_helper':
		case 'send_off':
			return { task };
		default:
			// A model may claim anything.
			return { mark, owner: 'walk-b', user: 'max' };
	}
}

const failed = new Set<string>();
let calls = 0;

/** The model: carries out the last command of a conversation with one call per turn, and then reports it. */
export const walkingModel: ScriptedFn = ({ messages, system = '{}' }) => {
	const said = messages.map((message) => JSON.stringify(message));
	const { sessionId, owner, user, metadata, askedBy } = JSON.parse(system.split('\n')[0] ?? '{}');
	const last = messages.at(-1);
	const error = last?.role === 'tool' && last.isError === true ? String(last.content) : undefined;
	const marks = listMarks(said.join('\n'));
	seen.models.push({ what: 'model', sessionId, owner, user, metadata, askedBy, error, marks });
	const at = messages.findLastIndex(({ role }, index) => role === 'user' && said[index]?.match(command));
	const [, what = 'plain', mark = '', more = ''] = [...(said[at] ?? '').matchAll(command)].at(-1) ?? [];
	if (what === 'fail' && !failed.has(mark)) {
		failed.add(mark);
		return Object.assign(new Error('no'), { status: 400 });
	}
	const begun = messages.slice(at + 1).flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : [])).length;
	const name = plans[what]?.[begun];
	const usage = { inputTokens: 10 + (calls % 7), outputTokens: 3 };
	const person = mark === '' ? toName({ owner, user }) : mark.slice(3, 8);
	spent.set(person, (spent.get(person) ?? 0) + usage.inputTokens + usage.outputTokens);
	if (name === undefined) return { text: `Noted: ${mark}.`, usage };
	return { toolCalls: [{ id: `call_${++calls}`, name, input: { ...toInput(name, what, mark, more) } }], usage };
};

const shared = {
	model: 'scripted-walk',
	maxRetries: 0,
	system: ({ sessionId, owner, user, metadata, askedBy }: Context) =>
		`${JSON.stringify({ sessionId, owner, user, metadata, askedBy })}\n`,
	approvers: ({ by, askers, approve, tool: what, input, sessionId, owner, user, metadata }: ApprovalLike) => {
		const marks = listMarks(JSON.stringify(input));
		seen.policies.push({ what, by, askers, approve, sessionId, owner, user, metadata, marks });
		return !approve || !askers.some((asker) => areOne(asker, by));
	},
};

type ApprovalLike = Parameters<NonNullable<Parameters<typeof defineAgent>[0]['approvers']>>[0];

const helper = defineAgent({
	...shared,
	name: 'walker-helper',
	description: 'Does a task of the walker.',
	tools: [witness, pay, quiz, order],
});

/** The people whose sessions the agent's own schedules wake. The text of each schedule has a mark of its person. */
export const dawns = (['walk-a', 'walk-b'] as const).flatMap((owner) =>
	[undefined, ...users.slice(0, 2)].map((user) => ({
		owner,
		user,
		name: `dawn-${owner.at(-1)}-${user ?? 'non'}`,
		mark: `zq-${owner.at(-1)}-${user ?? 'non'}-dawn0`,
	})),
);

/** The message of a webhook, as the walk wrote it. */
const message = v.custom<WebhookMessage>(() => true);

export const walkers = [
	helper,
	defineAgent({
		...shared,
		name: 'walker',
		description: 'Does what it is told.',
		memory: true,
		skillResolver: (_env, owner, reader) => {
			seen.skills.push({ ...reader, what: `skills of ${owner}`, askedBy: reader.askedBy, marks: [] });
			return undefined;
		},
		tools: [
			...[witness, pay, byHand, quiz, order],
			...Object.values(toolbox.withFiles()),
			...Object.values(toolbox.withWakeups()),
			agentTool(helper),
			agentTool(helper, { name: 'send_off', background: true }),
		],
		webhooks: { hmac: ({ payload }) => v.parse(message, payload.message) },
		schedules: dawns.map(({ owner, user, name, mark }) => ({
			...{ owner, user, name },
			every: '1h',
			text: `#witness ${mark}`,
		})),
	}),
];
