import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { blameCaller, createFieldError, RunletError } from '../../core/base/errors.ts';
import { define, type Tool } from '../../core/tool/index.ts';
import type { Limit } from '../objects/budget.ts';
import { budgetSchema } from '../wire/budget.ts';
import { beginChild, passOn, type Task } from './child-call.ts';
import { joinChildEvents } from './child-events.ts';
import { noteChildWork } from './children.ts';
import type { Agent } from './define.ts';

export interface AgentToolOptions {
	/** The name of the tool. By default `spawn`, or the agent's name with `_` instead of `-`. */
	readonly name?: string;
	/** Tells the model when to call the tool. By default the agent's description, or the list of agents. */
	readonly description?: string;
	/**
	 * The most that a call can spend, but never more than the session has left. By default the agent's budget. If the
	 * agent has none, the session's remaining budget divided by `maxAtOnce`.
	 */
	readonly budget?: Limit;
	/** How many levels of child sessions are allowed. 3 by default: a child at the third level cannot have children. */
	readonly maxDepth?: number;
	/** How many children of a session can work at once. 8 by default. */
	readonly maxAtOnce?: number;
	/** How many children a session can have in total. 100 by default. */
	readonly maxChildren?: number;
	/** Whether a person has to allow a call first. */
	readonly needsApproval?: boolean;
	/** Whether a call ends at once and the child's answer arrives later as a message. Calls by a child always wait. */
	readonly background?: boolean;
}

const wholeNumber = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)));
const optionsSchema = v.strictObject({
	name: v.optional(v.pipe(v.string(), v.nonEmpty())),
	description: v.optional(v.pipe(v.string(), v.nonEmpty())),
	budget: v.optional(budgetSchema),
	maxDepth: wholeNumber,
	maxAtOnce: wholeNumber,
	maxChildren: wholeNumber,
	needsApproval: v.optional(v.boolean()),
	background: v.optional(v.boolean()),
});

const task = v.pipe(
	v.string(),
	v.nonEmpty(),
	v.description('What to do, with all that is needed for it. Nothing of this conversation is known there.'),
);

/** No timeout of its own: only the run's time limit counts. */
const timeoutMs = 2 ** 31 - 1;

type Worker = Pick<Agent, 'name' | 'description' | 'budget'>;

/**
 * Makes a tool whose calls run in child sessions of another agent (docs/agents.md, "Agents that work for an agent").
 * The result of a call is the child's answer. Throws `invalid_tool`, which names the field.
 */
export function agentTool(agent: Worker, options: AgentToolOptions = {}): Tool {
	return blameCaller(agentTool, () => {
		check(optionsSchema, options, 'agentTool', 'invalid_tool');
		const { name = agent.name.replaceAll('-', '_'), description = agent.description } = options;
		const inputSchema = v.object({ task });
		const toTask = (input: unknown): Task => ({ agent, ...v.parse(inputSchema, input) });
		return createTool({ ...options, name, description }, { agents: [agent.name], inputSchema, toTask });
	});
}

/** Makes a tool like `agentTool` whose calls choose an agent. Throws `invalid_tool`, which names the field. */
export function spawn(agents: readonly [Worker, ...Worker[]], options: AgentToolOptions = {}): Tool {
	return blameCaller(spawn, () => {
		check(optionsSchema, options, 'spawn', 'invalid_tool');
		const byName = new Map(agents.map((agent) => [agent.name, agent]));
		if (byName.size === 0 || byName.size < agents.length)
			throw createFieldError('invalid_tool', 'agents', 'spawn needs one agent or more, each once.');
		const list = agents.map((agent) => `- ${agent.name}: ${agent.description}`).join('\n');
		const { name = 'spawn', description = `Gives a task to another agent. The agents:\n${list}` } = options;
		const inputSchema = v.object({
			agent: v.pipe(v.picklist([...byName.keys()]), v.description('The agent that fits the task best.')),
			task,
		});
		const toTask = (input: unknown): Task => {
			const { agent: name, task } = v.parse(inputSchema, input);
			return { agent: byName.get(name) ?? agents[0], task };
		};
		return createTool({ ...options, name, description }, { agents: [...byName.keys()], inputSchema, toTask });
	});
}

interface ChildTool {
	readonly agents: readonly string[];
	readonly inputSchema: v.GenericSchema<{ readonly task: string }>;
	readonly toTask: (input: unknown) => Task;
}

function createTool(
	options: AgentToolOptions & { readonly name: string; readonly description: string },
	{ agents, inputSchema, toTask }: ChildTool,
): Tool {
	const { name, description, needsApproval = false } = options;
	const fn = (): never => {
		throw new RunletError('conflict', `${name} works in the runs of sessions only.`);
	};
	noteChildWork(fn, {
		agents,
		begin: (input, context, children) => beginChild(toTask(input), options, { context, children }),
		takeAnswer: passOn,
		joinEvents: joinChildEvents,
	});
	return define({
		name,
		description: options.background === true ? `${description}\nThe answer comes later, as a message.` : description,
		inputSchema,
		passInput: true,
		// A retry finds the call's existing child. The task is sent with a key, so the child begins only one run.
		retry: 'safe',
		timeoutMs,
		// The other agent has possibly read text from outside.
		reads: 'outside',
		needsApproval,
		fn,
	});
}
