import * as v from 'valibot';
import { check } from '../../core/base/check.ts';
import { createFieldError, RunletError, withCallerFirst } from '../../core/base/errors.ts';
import { isRecord } from '../../core/base/json.ts';
import type { ChatOptions, ReasoningEffort, SystemPrompt, Timeouts } from '../../core/chat/index.ts';
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
import { type Placement, placement } from '../config/placement.ts';
import { budgetSchema } from '../wire/budget.ts';
import { expirySchema } from '../wire/limits.ts';
import { sourceNames } from '../wire/protocols/webhooks/index.ts';
import type { Approvers } from './approvers.ts';
import { type FlowOptions, type FlowRule, flowSchema } from './flow.ts';
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
	flow: flowSchema,
	onWaiting: v.optional(v.looseObject({}, 'must be { callback }')),
	budget: v.optional(budgetSchema),
	expiresAfterMs: v.optional(expirySchema),
	searchContents: v.optional(v.boolean('must be true or false')),
	placement: v.optional(placement),
	fallbacks: v.optional(v.array(v.pipe(v.string(), v.nonEmpty()))),
	maxRetries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
	timeouts: v.optional(
		v.strictObject({ firstEventMs: milliseconds, idleMs: milliseconds, toolMs: milliseconds, runMs: milliseconds }),
	),
	schedules: v.optional(v.array(v.looseObject({}), 'must be a list of schedules')),
	webhooks: v.optional(v.strictObject(v.entriesFromList(sourceNames, mappingSchema))),
});

export interface AgentDefinition extends AgentChoices {
	/** The name in URLs and in the list of agents: a–z, 0–9 and single hyphens. */
	readonly name: string;
	/** One line for people who choose an agent. */
	readonly description: string;
	/** Suggested first messages, which the page shows in an empty chat. At most 8. */
	readonly examples?: readonly string[];
	/** The Worker's `MODEL` by default. */
	readonly model?: string;
	/** Other models that a session can choose instead. */
	readonly models?: readonly string[];
	/** The system prompt, or a function that writes it from the session's metadata and the skill context. */
	readonly system?: SystemPrompt;
	/** A toolbox, or functions and tool records as a list or by name. */
	readonly tools?: ToolEntries;
	/** Tools that the model can call only after it has read a skill that lists them in `allowed-tools`. */
	readonly skillTools?: ToolEntries;
	/** Whether the agent offers the HTTP tools of the session's owner. No by default. */
	readonly userTools?: boolean;
	/** MCP servers whose tools the agent offers (docs/mcp.md). They need the plugin `mcp`. */
	readonly mcp?: readonly AgentMcpServer[];
	/** Whether the agent offers the MCP servers of the session's owner. No by default. */
	readonly userMcp?: boolean;
	/** Names of published skills and skills defined in code, or `'all'` for every published skill. */
	readonly skills?: 'all' | readonly (string | AnyFn | Skill)[];
	/** Replaces the Worker's source of skills. If `skills` has no names, the agent gets all skills of this source. */
	readonly skillResolver?: SkillSource;
	/** Whether and how the agent keeps memories (docs/memory.md). It needs the plugin `memory`. No by default. */
	readonly memory?: boolean | MemoryOptions;
	/** The maximum number of model turns in a run. 10 by default. */
	readonly maxIterations?: number;
	/** How many tool calls a run can make. 200 by default. Further calls are not run, and the model is told so. */
	readonly maxToolCalls?: number;
	/** How many tool calls run in parallel at most. 10 by default. Calls begin in the order of the model's reply. */
	readonly maxParallelToolCalls?: number;
	/** How many tools are sent to the model at most. 40 by default. The model finds others with `search_tools`. */
	readonly maxSentTools?: number;
	/** How many tokens the sent tools have at most. By default 10 % of the context window, within 4,000 to 20,000. */
	readonly maxToolTokens?: number;
	readonly maxContextTokens?: number;
	/** What happens above the context limit: the run fails (the default), or old turns are left out or summed up. */
	readonly contextFull?: 'fail' | 'truncate' | 'compact';
	/**
	 * `refer` (the default) sends old tool results as references if these cost less, or if nothing else fits. The model
	 * opens references with `read_result`. `keep` always sends old results whole.
	 */
	readonly oldResults?: 'refer' | 'keep';
	readonly maxOutputTokens?: number;
	/** The maximum number of bytes in a reply. 8,388,608 by default. A longer reply is cut off as `reply_too_large`. */
	readonly maxReplyBytes?: number;
	/** The model's own effort by default. */
	readonly reasoningEffort?: ReasoningEffort;
	/**
	 * The schema of the agent's answers: JSON Schema, or a schema of valibot, Zod or ArkType. After a wrong answer the
	 * model is asked again, at most twice. The event `done` and the run's JSON have the value as `output`.
	 */
	readonly outputSchema?: AnySchema | JsonSchema;
	/** With `manual` the Worker runs no tools: the results of all calls are submitted from outside. */
	readonly mode?: 'auto' | 'manual';
	/** Milliseconds that a call waits for an approval. Unlimited by default. */
	readonly approvalMs?: number;
	/** Who can decide about a call (docs/people.md). By default everybody with the right to decide in the session. */
	readonly approvers?: Approvers;
	/**
	 * Decides about calls that send something out of a session with text of strangers and private data
	 * (docs/untrusted-text.md). By default a person decides.
	 */
	readonly flow?: FlowRule | FlowOptions;
	/**
	 * A URL that is called when a run begins to wait for a person (docs/people.md). With `links` the request contains
	 * links to approve calls. `for` names the person who can decide. Links need the plugin `links`.
	 */
	readonly onWaiting?: { readonly callback: string; readonly links?: boolean; readonly for?: string };
	/** The budget of a session that sets no budget itself: tokens, US dollars, or both. */
	readonly budget?: { readonly tokens?: number; readonly usd?: number };
	/** Milliseconds from the last activity of a session to its removal. Never by default. */
	readonly expiresAfterMs?: number;
	/** Whether searches for sessions also find what was said (docs/sessions.md, "Find one by what was said"). No by default. */
	readonly searchContents?: boolean;
	/** Where the objects of the agent's sessions live. It goes before the owner's place (docs/data.md, "Where"). */
	readonly placement?: Placement;
	/** Models to try in this order if the chosen model cannot be reached. */
	readonly fallbacks?: readonly string[];
	/** Retries of a model call after a temporary failure. 2 by default. */
	readonly maxRetries?: number;
	/** The time limits of model calls, tool calls and the run. */
	readonly timeouts?: Timeouts;
	/** The times at which the agent wakes up (docs/schedules.md). They need the plugin `schedules`. */
	readonly schedules?: readonly AgentSchedule[];
	/** Turns webhooks into messages, by source: `{ github: (event) => … }`. */
	readonly webhooks?: WebhookMappings;
}

export interface Agent extends Omit<AgentDefinition, 'tools' | 'skillTools'> {
	readonly tools: readonly Tool[];
	readonly skillTools: readonly Tool[];
	readonly skills: 'all' | readonly (string | AnyFn | Skill)[];
}

/** Defines an agent. Throws `invalid_agent`, which names the field, when the Worker starts. */
export function defineAgent(agent: AgentDefinition): Agent {
	try {
		return toAgent(agent);
	} catch (error) {
		if (!(error instanceof RunletError)) throw error;
		const isNamed = error.code === 'invalid_agent' && typeof agent?.name === 'string';
		const message = isNamed ? `${error.message} (agent ${agent.name})` : error.message;
		throw withCallerFirst(new RunletError(error.code, message, error.data), defineAgent);
	}
}

export function blameAgent(name: string, check: () => void): void {
	try {
		check();
	} catch (cause) {
		if (!(cause instanceof RunletError)) throw cause;
		throw new RunletError('invalid_agent', `${cause.message} (agent ${name})`, cause.data);
	}
}

function toAgent(agent: AgentDefinition): Agent {
	check(definition, agent, 'agent', 'invalid_agent');
	assertOutputSchema(agent.outputSchema);
	const tools = forAgent(agent.tools ?? []);
	const skillTools = forAgent(agent.skillTools ?? []);
	// If two tools had the same name, only the first could be called.
	forAgent([...tools, ...skillTools]);
	assertNoMemoryTool(agent, [...tools, ...skillTools]);
	const { skills = [] } = agent;
	if (skills !== 'all') assertSkills(skills);
	return { ...agent, tools, skillTools, skills };
}

function assertNoMemoryTool(agent: Pick<AgentDefinition, 'memory'>, tools: readonly Tool[]): void {
	const duplicate = listMemoryTools(agent).find((name) => tools.some((tool) => tool.name === name));
	if (duplicate === undefined) return;
	const message = `memory: brings a tool ${duplicate}, and the agent has one of that name. Rename it, or leave ${duplicate} out of memory.tools.`;
	throw new RunletError('duplicate_tool', message, { name: duplicate });
}

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

function toLine({ description }: Agent): string {
	return JSON.stringify(description.length > 80 ? `${description.slice(0, 79)}…` : description);
}

/**
 * Returns the requested model, or by default the agent's or the Worker's. Throws for a model that is not allowed.
 * @param isFree whether any model is allowed
 */
export function chooseModel(agent: Agent, requested: string | undefined, fallback: string, isFree = false): string {
	const own = agent.model ?? fallback;
	const allowed = [own, ...(agent.models ?? [])];
	if (requested === undefined) return own;
	if (isFree || allowed.includes(requested)) return requested;
	const message = `${agent.name} does not run on "${requested}". Possible: ${allowed.join(', ')}.`;
	throw createFieldError('invalid_request', 'model', message);
}

/** Finds an agent by its name. Throws `not_found`, which lists the agents. */
export function findAgent(agents: readonly Agent[], name: string): Agent {
	const agent = agents.find((one) => one.name === name);
	if (agent !== undefined) return agent;
	const known = agents.map((one) => one.name).join(', ');
	throw createFieldError('not_found', 'agent', `there is no agent named "${name}". Known: ${known}.`);
}

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

/** Throws `invalid_agent` for a schema that cannot be used for answers. */
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

/** Returns the agent's options for the loop, except the model, skills and context. */
export function toChatOptions(agent: Agent): Omit<ChatOptions, 'model'> & Pick<Agent, 'tools' | 'skillTools'> {
	return {
		system: agent.system,
		tools: agent.tools,
		skillTools: agent.skillTools,
		outputSchema: agent.outputSchema,
		mode: agent.mode,
		reasoningEffort: agent.reasoningEffort,
		providerTools: agent.providerTools,
		serviceTier: agent.serviceTier,
		speed: agent.speed,
		region: agent.region,
		providerContext: agent.providerContext,
		background: agent.background,
		cache: agent.cache,
		contextFull: agent.contextFull,
		oldResults: agent.oldResults,
		timeouts: agent.timeouts,
		maxIterations: agent.maxIterations,
		maxToolCalls: agent.maxToolCalls,
		maxParallelToolCalls: agent.maxParallelToolCalls,
		maxSentTools: agent.maxSentTools,
		maxToolTokens: agent.maxToolTokens,
		maxReplyBytes: agent.maxReplyBytes,
		maxContextTokens: agent.maxContextTokens,
		maxOutputTokens: agent.maxOutputTokens,
		fallbacks: agent.fallbacks,
		maxRetries: agent.maxRetries,
	};
}
