import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { blameCaller, RunletError } from '../../core/base/errors.ts';
import { define, type Tool } from '../../core/tool/index.ts';
import type { Limit } from '../objects/budget.ts';
import { budgetSchema } from '../wire/budget.ts';
import { beginChild, passOn, type Task } from './child-call.ts';
import { joinChildEvents } from './child-events.ts';
import { noteChildWork } from './children.ts';
import type { Agent } from './define.ts';

/** What `agentTool` and `spawn` take. */
export interface AgentToolOptions {
	/** The name of the tool. For `agentTool` that is the agent's name if it is missing, with `_` for `-`. */
	readonly name?: string;
	/** Tells the model when to call it. For `agentTool` that is the agent's description if it is missing. */
	readonly description?: string;
	/**
	 * The most that one call may spend. If it is missing, that is the agent's budget, else an equal share of what is left
	 * for as many children as may work at once. It is never more than what is left.
	 */
	readonly budget?: Limit;
	/** How many sessions may stand above a child. 3 if it is missing: the children of children of children have none. */
	readonly maxDepth?: number;
	/** How many children of a session may work at once. 8 if it is missing. */
	readonly maxAtOnce?: number;
	/** How many children a session may have in all. 100 if it is missing. */
	readonly maxChildren?: number;
	/** Whether a person has to allow a call first. */
	readonly needsApproval?: boolean;
	/**
	 * Whether a call has its result at once, and the child works on by itself. What comes of it is a message to the
	 * session. In a session that works for another one a call waits for its child all the same.
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

/** A call may take as long as its run. */
const timeoutMs = 2 ** 31 - 1;

/** What a tool needs to know of an agent that it gives its calls to. */
type Worker = Pick<Agent, 'name' | 'description' | 'budget'>;

/**
 * Makes a tool whose calls another agent carries out, each in a session of its own: the child (docs/agents.md, "Agents
 * that work for an agent"). The result of a call is the child's answer. The agent has to be among those of the Worker.
 * Throws `invalid_tool`, which names the field.
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

/**
 * Makes a tool by which a model chooses among agents: each call names one of them, which carries it out as for
 * `agentTool`. The options hold for each call. Throws `invalid_tool`, which names the field.
 */
export function spawn(agents: readonly [Worker, ...Worker[]], options: AgentToolOptions = {}): Tool {
	return blameCaller(spawn, () => {
		check(optionsSchema, options, 'spawn', 'invalid_tool');
		const byName = new Map(agents.map((agent) => [agent.name, agent]));
		if (byName.size === 0 || byName.size < agents.length)
			throw new RunletError('invalid_tool', 'agents: spawn needs one agent or more, each once.', { field: 'agents' });
		const list = agents.map((agent) => `- ${agent.name}: ${agent.description}`).join('\n');
		const { name = 'spawn', description = `Gives a task to another agent. The agents:\n${list}` } = options;
		const inputSchema = v.object({
			agent: v.pipe(v.picklist([...byName.keys()]), v.description('The agent that fits the task best.')),
			task,
		});
		const toTask = (input: unknown): Task => {
			const given = v.parse(inputSchema, input);
			const agent = byName.get(given.agent) ?? agents[0];
			return { agent, task: given.task };
		};
		return createTool({ ...options, name, description }, { agents: [...byName.keys()], inputSchema, toTask });
	});
}

/** How the calls of a tool are given to agents. */
interface Giving {
	readonly agents: readonly string[];
	readonly inputSchema: v.GenericSchema<{ readonly task: string }>;
	readonly toTask: (input: unknown) => Task;
}

function createTool(
	options: AgentToolOptions & { readonly name: string; readonly description: string },
	{ agents, inputSchema, toTask }: Giving,
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
		// The child of a call is found again, and the message under its key begins one run.
		retry: 'safe',
		timeoutMs,
		// Nobody here knows what the other agent has read.
		readsOutside: true,
		needsApproval,
		fn,
	});
}
