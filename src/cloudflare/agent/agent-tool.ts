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
	/** The name of the tool. By default the agent's name with `_` for `-`, or `spawn`. */
	readonly name?: string;
	/** Tells the model when to call the tool. By default the agent's description, or the list of agents. */
	readonly description?: string;
	/**
	 * The most that a call may spend of the rest of the session's budget. By default the agent's budget. Without
	 * an agent's budget, each child that may work at once gets an equal share of the rest.
	 */
	readonly budget?: Limit;
	/** The most levels of sessions above a child. 3 by default: a child at the third level has no children. */
	readonly maxDepth?: number;
	/** The most children of a session at once. 8 by default. */
	readonly maxAtOnce?: number;
	/** The most children of a session in all. 100 by default. */
	readonly maxChildren?: number;
	/** Whether a person has to allow a call first. */
	readonly needsApproval?: boolean;
	/**
	 * Whether a call ends at once, and the child's answer arrives as a message. In a child session a call always waits.
	 */
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

/** The time limit of the run is the only limit. */
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
		// A retry finds the child of the call again. The key of its message begins only one run.
		retry: 'safe',
		timeoutMs,
		// The other agent may have read text from outside.
		readsOutside: true,
		needsApproval,
		fn,
	});
}
