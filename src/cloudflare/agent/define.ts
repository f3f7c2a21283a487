import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { RunletError, withCallerFirst } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import type { ReasoningEffort, SystemPrompt, Timeouts } from '../../core/chat/index.ts';
import { reasoningEfforts } from '../../core/chat/provider.ts';
import { assertReadable } from '../../core/chat/requirements.ts';
import { type Skill, forAgent as skillsForAgent } from '../../core/skill/index.ts';
import { assertWritten } from '../../core/skill/skill.ts';
import {
	type AnyFn,
	type AnySchema,
	forAgent,
	type JsonSchema,
	type Tool,
	type ToolEntries,
} from '../../core/tool/index.ts';
import { budgetSchema } from '../wire/budget.ts';
import { expirySchema } from '../wire/limits.ts';
import { sourceNames } from '../wire/protocols/webhooks/index.ts';
import type { Approvers } from './approvers.ts';
import type { AgentMcpServer } from './mcp-servers.ts';
import { listMemoryTools, type MemoryOptions, memoryOptions } from './memory.ts';
import { type AgentChoices, choicesEntries } from './provider-choices.ts';
import type { AgentSchedule } from './schedules.ts';
import { type SkillSource, skillSource } from './skill-source.ts';
import { mappingSchema, type WebhookMappings } from './webhook-mapping.ts';

const milliseconds = v.optional(v.pipe(v.number(), v.minValue(1)));

const toolEntry = v.custom<AnyFn | Tool>((entry) => typeof entry === 'function' || typeof entry === 'object');
const toolList = v.optional(
	v.union(
		[v.array(toolEntry), v.record(v.string(), toolEntry)],
		'must be a list of tools (made by fn or tool.define), or a toolbox',
	),
);

const definition = v.strictObject({
	name: v.pipe(v.string(), v.regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'Use a-z, 0-9 and single hyphens'), v.maxLength(64)),
	description: v.pipe(v.string(), v.nonEmpty()),
	examples: v.optional(
		v.pipe(
			v.array(
				v.pipe(
					v.string(),
					v.check((text) => text.trim() !== '', 'must not be empty'),
					v.maxLength(500, 'at most 500 characters'),
				),
			),
			v.maxLength(8, 'at most 8'),
			v.check((list) => new Set(list).size === list.length, 'two of them are the same'),
		),
	),
	model: v.optional(v.pipe(v.string(), v.nonEmpty())),
	models: v.optional(v.array(v.pipe(v.string(), v.nonEmpty()))),
	system: v.optional(v.union([v.string(), v.function()], 'must be a text, or a function that gives one')),
	tools: toolList,
	skillTools: toolList,
	userTools: v.optional(v.boolean('must be true or false')),
	mcp: v.optional(v.array(v.looseObject({}), 'must be a list of servers, such as [{ name, url }]')),
	userMcp: v.optional(v.boolean('must be true or false')),
	skills: v.optional(
		v.union(
			[v.literal('all'), v.array(v.union([v.string(), v.custom<AnyFn | Skill>(isSkillEntry)]))],
			"must be 'all', or a list of names of published skills and of skills written here",
		),
	),
	skillResolver: v.optional(skillSource),
	memory: memoryOptions,
	maxIterations: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	maxToolCalls: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
	maxParallelToolCalls: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	maxSentTools: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	maxToolTokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	maxContextTokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	contextFull: v.optional(v.picklist(['fail', 'truncate', 'compact'])),
	oldResults: v.optional(v.picklist(['refer', 'keep'])),
	maxOutputTokens: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	maxReplyBytes: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
	reasoningEffort: v.optional(v.picklist(reasoningEfforts)),
	...choicesEntries,
	outputSchema: v.optional(
		v.custom<AnySchema | JsonSchema>(isSchemaEntry, 'must be a schema: JSON Schema, or of valibot, Zod or ArkType'),
	),
	mode: v.optional(v.picklist(['auto', 'manual'])),
	approvalMs: milliseconds,
	approvers: v.optional(
		v.custom<Approvers>(
			(value) => typeof value === 'function',
			'must be a function that says whether somebody may decide',
		),
	),
	onWaiting: v.optional(v.looseObject({}, 'must be { callback }')),
	budget: v.optional(budgetSchema),
	expiresAfterMs: v.optional(expirySchema),
	fallbacks: v.optional(v.array(v.pipe(v.string(), v.nonEmpty()))),
	maxRetries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
	timeouts: v.optional(
		v.strictObject({ firstEventMs: milliseconds, idleMs: milliseconds, toolMs: milliseconds, runMs: milliseconds }),
	),
	schedules: v.optional(v.array(v.looseObject({}), 'must be a list of schedules')),
	webhooks: v.optional(v.strictObject(v.entriesFromList(sourceNames, mappingSchema))),
});

/** What `defineAgent` takes. */
export interface AgentDefinition extends AgentChoices {
	/** In URLs and in the list of agents: a–z, 0–9 and single hyphens. */
	readonly name: string;
	/** One line for people who choose an agent. */
	readonly description: string;
	/** Messages to begin with: the page offers them in an empty chat. At most 8. */
	readonly examples?: readonly string[];
	/** Its model. The Worker's `MODEL` if it is missing. */
	readonly model?: string;
	/** Further models that a session may choose instead. */
	readonly models?: readonly string[];
	/** Its system prompt, or a function that writes it from the session's metadata and the skill context. */
	readonly system?: SystemPrompt;
	/** Functions and records, or a toolbox. */
	readonly tools?: ToolEntries;
	/** Tools that its model may call after it read a skill that names them in `allowed-tools`. */
	readonly skillTools?: ToolEntries;
	/** Whether it also offers the tools that the session's owner has defined over HTTP. No if it is missing. */
	readonly userTools?: boolean;
	/** MCP servers whose tools it offers (docs/mcp.md). The Worker needs `createRunlet({ plugins: [mcp] })` for it. */
	readonly mcp?: readonly AgentMcpServer[];
	/** Whether it also offers the tools of the MCP servers that the session's owner has registered. No if it is missing. */
	readonly userMcp?: boolean;
	/** Names of published skills, skills written here, or `'all'` for every published one. */
	readonly skills?: 'all' | readonly (string | AnyFn | Skill)[];
	/** Where its skills come from, in place of the Worker's. It has all of them, unless `skills` names some. */
	readonly skillResolver?: SkillSource;
	/**
	 * Whether it remembers beyond a session (docs/memory.md): `true`, or how. The Worker needs `createRunlet({ plugins: [memory] })` for
	 * it. No if it is missing.
	 */
	readonly memory?: boolean | MemoryOptions;
	/** The most model turns of one run. 10 if it is missing. */
	readonly maxIterations?: number;
	/** The most tool calls of one run. 200 if it is missing. Further calls are not run, and the model is told so. */
	readonly maxToolCalls?: number;
	/** The most calls of a turn that run at a time. 10 if it is missing. They begin in their order. */
	readonly maxParallelToolCalls?: number;
	/** The most tools that its model is sent. 40 if it is missing. Of more, it finds some with `search_tools`. */
	readonly maxSentTools?: number;
	/** The most tokens of these tools. A tenth of the context window, from 4,000 to 20,000, if it is missing. */
	readonly maxToolTokens?: number;
	readonly maxContextTokens?: number;
	/**
	 * What happens to a conversation over the context limit: the run fails (the default), the oldest turns are left out,
	 * or they are summed up.
	 */
	readonly contextFull?: 'fail' | 'truncate' | 'compact';
	/**
	 * Whether older results of tools are sent as references, which its model opens with `read_result`, where that costs less
	 * or where nothing else fits (the default), or always sent whole.
	 */
	readonly oldResults?: 'refer' | 'keep';
	readonly maxOutputTokens?: number;
	/** The longest reply of a turn in bytes. 8,388,608 if it is missing. A longer one is cut off as `reply_too_large`. */
	readonly maxReplyBytes?: number;
	/** How much its model thinks. The model decides if it is missing. */
	readonly reasoningEffort?: ReasoningEffort;
	/**
	 * Its answers are JSON of this schema: JSON Schema, or of valibot, Zod or ArkType. An answer of another form is asked for
	 * again, twice at most. The value is `output` of the event `done` and of a run's JSON.
	 */
	readonly outputSchema?: AnySchema | JsonSchema;
	/** `manual` leaves every call to somebody else, as if all its tools were `manual`. */
	readonly mode?: 'auto' | 'manual';
	/** How long a call waits for an approval, in milliseconds. For ever if it is missing. */
	readonly approvalMs?: number;
	/** Says whether somebody may decide about a call (docs/people.md). Whoever may enter the session may, if it is missing. */
	readonly approvers?: Approvers;
	/**
	 * A service of yours that is told each time when a run begins to wait for somebody (docs/people.md). With `links` it also
	 * gets links to decide about the calls that wait for an approval, made `for` somebody. The Worker needs
	 * `createRunlet({ plugins: [links] })` for it.
	 */
	readonly onWaiting?: { readonly callback: string; readonly links?: boolean; readonly for?: string };
	/** The most that a session without a budget of its own may spend: tokens, US dollars, or both. */
	readonly budget?: { readonly tokens?: number; readonly usd?: number };
	/** How long after its last activity a session is removed, in milliseconds. Never if it is missing. */
	readonly expiresAfterMs?: number;
	/** Models to try in this order if the chosen one cannot be reached. */
	readonly fallbacks?: readonly string[];
	/** Retries of a model call after a failure that may pass. 2 if it is missing. */
	readonly maxRetries?: number;
	/** How long a call, a tool and the run may take. */
	readonly timeouts?: Timeouts;
	/** When it is woken by itself (docs/schedules.md). The Worker needs `createRunlet({ plugins: [schedules] })` for it. */
	readonly schedules?: readonly AgentSchedule[];
	/** What it makes of webhooks, by source: `{ github: (event) => … }`. */
	readonly webhooks?: WebhookMappings;
}

/** A checked agent: its tools are `Tool`s, and nothing is missing. */
export interface Agent extends Omit<AgentDefinition, 'tools' | 'skillTools'> {
	readonly tools: readonly Tool[];
	readonly skillTools: readonly Tool[];
	readonly skills: 'all' | readonly (string | AnyFn | Skill)[];
}

/**
 * Defines an agent. Throws `invalid_agent`, which names the field, when the Worker starts and not when the first
 * message comes.
 */
export function defineAgent(given: AgentDefinition): Agent {
	try {
		return toAgent(given);
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		const isNamed = error.code === 'invalid_agent' && typeof given?.name === 'string';
		const message = isNamed ? `${error.message} (agent ${given.name})` : error.message;
		throw withCallerFirst(new RunletError(error.code, message, error.data), defineAgent);
	}
}

function toAgent(given: AgentDefinition): Agent {
	check(definition, given, 'agent', 'invalid_agent');
	assertOutputSchema(given.outputSchema);
	const tools = forAgent(given.tools ?? []);
	const skillTools = forAgent(given.skillTools ?? []);
	// If two have one name, only the first could ever be called.
	forAgent([...tools, ...skillTools]);
	assertNoMemoryTool(given, [...tools, ...skillTools]);
	const { skills = [] } = given;
	if (skills !== 'all') assertSkills(skills);
	return { ...given, tools, skillTools, skills };
}

/** Throws `duplicate_tool` for a tool that is named as one by which the agent remembers. */
function assertNoMemoryTool(given: Pick<AgentDefinition, 'memory'>, tools: readonly Tool[]): void {
	const taken = listMemoryTools(given).find((name) => tools.some((tool) => tool.name === name));
	if (taken === undefined) return;
	const message = `memory: brings a tool ${taken}, and the agent has one of that name. Rename it, or leave ${taken} out of memory.tools.`;
	throw new RunletError('duplicate_tool', message, { name: taken });
}

/** Throws `invalid_agent` for two agents of one name. */
export function assertNoNamesakes(agents: readonly Agent[]): void {
	const names = agents.map(({ name }) => name);
	const at = names.findIndex((name, index) => names.indexOf(name) !== index);
	const [other, agent] = [agents[names.indexOf(names[at] ?? '')], agents[at]];
	if (other === undefined || agent === undefined) return;
	const message =
		other === agent
			? `name: the agent ${agent.name} is in the list twice. Take one of them out.`
			: `name: two agents are named ${agent.name} (${toLine(other)} and ${toLine(agent)}). Give one of them another name in its defineAgent.`;
	throw new RunletError('invalid_agent', message, { field: 'name' });
}

/** A line that tells an agent from another of the same name. */
function toLine({ description }: Agent): string {
	return JSON.stringify(description.length > 80 ? `${description.slice(0, 79)}…` : description);
}

/** Chooses the model of a session: the one asked for if the agent allows it, else the agent's, else the Worker's. */
export function chooseModel(agent: Agent, asked: string | undefined, fallback: string): string {
	const own = agent.model ?? fallback;
	const allowed = [own, ...(agent.models ?? [])];
	if (asked === undefined) return own;
	if (allowed.includes(asked)) return asked;
	throw new RunletError(
		'invalid_request',
		`model: ${agent.name} does not run on "${asked}". Possible: ${allowed.join(', ')}.`,
		{ field: 'model' },
	);
}

/** Returns the agent of that name. Throws `not_found`, which lists the others. */
export function findAgent(agents: readonly Agent[], name: string): Agent {
	const agent = agents.find((one) => one.name === name);
	if (agent !== undefined) return agent;
	const known = agents.map((one) => one.name).join(', ');
	throw new RunletError('not_found', `agent: there is no agent named "${name}". Known: ${known}.`, { field: 'agent' });
}

/** Checks the skills written here. Throws `duplicate_skill` if two skills have one name, written here or published. */
function assertSkills(skills: readonly (string | AnyFn | Skill)[]): void {
	const all = skills.map((entry) => {
		if (typeof entry === 'string') return { name: entry, description: '' };
		const [skill = { name: '', description: '' }] = skillsForAgent([entry]);
		assertWritten(skill);
		return skill;
	});
	skillsForAgent(all);
}

function isSkillEntry(entry: unknown): boolean {
	return typeof entry === 'function' || (isRecord(entry) && 'description' in entry);
}

/** Throws `invalid_agent` if no answer could be read by a schema. */
function assertOutputSchema(schema: AgentDefinition['outputSchema']): void {
	try {
		assertReadable(schema);
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		throw new RunletError('invalid_agent', error.message, error.data);
	}
}

function isSchemaEntry(entry: unknown): boolean {
	return typeof entry === 'function' || isRecord(entry);
}
