import * as v from 'valibot';
import { raceAbort, sleep } from '../../core/chat/signal.ts';
import { blameCaller } from '../../core/ground/caller-first.ts';
import { check } from '../../core/ground/check.ts';
import { RunletError } from '../../core/ground/errors.ts';
import { type AnsweredCall, askUser, define, type Tool, type ToolContext } from '../../core/tool/index.ts';
import type { Limit } from '../objects/budget.ts';
import { type RpcResult, takeValue } from '../objects/result.ts';
import type { RunOutcome, SessionApi, SessionState } from '../objects/session-api.ts';
import { budgetSchema } from '../wire/budget.ts';
import { type Child, type Children, noteChildWork } from './children.ts';
import type { Agent } from './define.ts';

/** What `agentTool` takes. */
export interface AgentToolOptions {
	/** The name of the tool. The agent's name if it is missing, with `_` for `-`. */
	readonly name?: string;
	/** Tells the model when to call it. The agent's description if it is missing. */
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
}

const wholeNumber = v.optional(v.pipe(v.number(), v.integer(), v.minValue(1)));
const options = v.strictObject({
	name: v.optional(v.pipe(v.string(), v.nonEmpty())),
	description: v.optional(v.pipe(v.string(), v.nonEmpty())),
	budget: v.optional(budgetSchema),
	maxDepth: wholeNumber,
	maxAtOnce: wholeNumber,
	maxChildren: wholeNumber,
	needsApproval: v.optional(v.boolean()),
});

const inputSchema = v.object({
	task: v.pipe(
		v.string(),
		v.nonEmpty(),
		v.description('What to do, with all that is needed for it. Nothing of this conversation is known there.'),
	),
});

/** A call may take as long as its run. */
const timeoutMs = 2 ** 31 - 1;

/** The first and the longest pause before a child that cannot be reached is asked again, in milliseconds. */
const [firstPauseMs, longestPauseMs] = [250, 5_000];

/**
 * Makes a tool whose calls another agent carries out, each in a session of its own: the child (docs/agents.md, "Agents
 * that work for an agent"). The result of a call is the child's answer. The agent has to be among those of the Worker.
 * Throws `invalid_tool`, which names the field.
 */
export function agentTool(agent: Pick<Agent, 'name' | 'description' | 'budget'>, given: AgentToolOptions = {}): Tool {
	return blameCaller(agentTool, () => {
		check(options, given, 'agentTool', 'invalid_tool');
		const { name = agent.name.replaceAll('-', '_'), description = agent.description, needsApproval = false } = given;
		const fn = (): never => {
			throw new RunletError('conflict', `${name} works in the runs of sessions only.`);
		};
		noteChildWork(fn, {
			agent: agent.name,
			begin: (input, context, children) => begin(agent, given, v.parse(inputSchema, input), context, children),
			takeAnswer: (answer, about, context, children) => passOn(answer, about, context, children),
		});
		return define({
			name,
			description,
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
	});
}

async function begin(
	agent: Pick<Agent, 'name' | 'budget'>,
	given: AgentToolOptions,
	{ task }: v.InferOutput<typeof inputSchema>,
	context: ToolContext,
	children: Children,
): Promise<unknown> {
	const { callId, emit } = context;
	const budget = () => plan(agent, given, children);
	const child = children.find(callId) ?? (await children.add({ callId, agent: agent.name, budget: budget() }));
	emit([`${agent.name} works on it`, child.id]);
	const input = { text: task, transport: 'agent', create: children.toCreate(child) };
	const once = { key: 'task', request: callId };
	return follow(child, context, children, (one) => one.send(children.caller, input, { delivery: 'result', once }));
}

/** Decides what a new child may spend. Throws `conflict` where there may be no further one: the model reads why. */
function plan(
	agent: Pick<Agent, 'name' | 'budget'>,
	{ budget, maxDepth = 3, maxAtOnce = 8, maxChildren = 100 }: AgentToolOptions,
	children: Children,
): Limit | undefined {
	const { open, all } = children.count();
	if (children.depth >= maxDepth)
		throw createRefusal(
			`agents may work for each other ${maxDepth} levels deep, and this is the last. Do it yourself.`,
		);
	if (open >= maxAtOnce)
		throw createRefusal(`${open} agents work already, and no more may at once. Call it again when one has ended.`);
	if (all >= maxChildren)
		throw createRefusal(`this conversation has had ${all} agents work for it, and may have no more. Do it yourself.`);
	const { left } = children.budget();
	if (left.tokens === 0 || left.usd === 0)
		throw createRefusal('budget_exceeded: nothing is left of the budget for another agent. Answer with what you have.');
	const wanted = budget ?? agent.budget;
	const tokens = takeLess(wanted?.tokens, left.tokens, maxAtOnce);
	const usd = takeLess(wanted?.usd, left.usd, maxAtOnce);
	if (tokens === undefined && usd === undefined) return undefined;
	return { ...(tokens !== undefined && { tokens: Math.ceil(tokens) }), ...(usd !== undefined && { usd }) };
}

function takeLess(wanted: number | undefined, left: number | undefined, shares: number): number | undefined {
	return left === undefined ? wanted : Math.min(wanted ?? left / shares, left);
}

function createRefusal(message: string): RunletError {
	return new RunletError('conflict', `Not begun: ${message}`);
}

/** What the tool keeps while its child waits for somebody. */
const waiting = v.object({
	/** The run of the child that waits. */
	run: v.string(),
	/** The call that waits, and for what. A question has none. */
	call: v.optional(v.object({ id: v.string(), isApproval: v.boolean() })),
});

/** Passes the answer of a person on to the child that waits for it. */
async function passOn(
	answer: string,
	{ resume }: AnsweredCall,
	context: ToolContext,
	children: Children,
): Promise<unknown> {
	const child = children.find(context.callId);
	if (child === undefined) throw new RunletError('conflict', 'The agent that asked is gone. Call it again.');
	const { run, call } = v.parse(waiting, resume);
	const how = { delivery: 'result', once: { key: `answer ${run} ${call?.id ?? ''}`, request: run } } as const;
	return follow(child, context, children, (one) =>
		call === undefined
			? one.answer(children.caller, { text: answer, transport: 'agent' }, how)
			: one.submit(children.caller, [toCallAnswer(call, answer)], how),
	);
}

function toCallAnswer({ id, isApproval }: { readonly id: string; readonly isApproval: boolean }, answer: string) {
	const said = answer.trim();
	if (!isApproval) return { id, output: answer };
	if (said.toLowerCase() === 'approve') return { id, approve: true };
	return { id, approve: false, ...(said.toLowerCase() !== 'deny' && { reason: said }) };
}

/**
 * Waits for what comes of a request to a child: its answer, or a question for the person, which the child waits for. A
 * child whose object dies goes on by itself, so the request is made again under its key.
 */
async function follow(
	child: Child,
	{ signal }: ToolContext,
	children: Children,
	send: (one: SessionApi) => Promise<RpcResult<RunOutcome>>,
): Promise<unknown> {
	const outcome = await insist(signal, () => send(children.reach(child)));
	const state = await insist(signal, () => children.reach(child).state(children.caller));
	const question = toQuestion(child, state);
	if (question !== undefined) return question;
	children.settle(child, state.budget.spent);
	return toResult(child, outcome);
}

/** Makes a call until there is an answer that a later try would not change. */
async function insist<T>(signal: AbortSignal, call: () => Promise<RpcResult<T>>): Promise<T> {
	for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
		try {
			return takeValue(await raceAbort(call(), signal));
		} catch (error) {
			signal.throwIfAborted();
			const isFinal = error instanceof RunletError && !['overloaded', 'storage_unavailable'].includes(error.code);
			if (isFinal) throw error;
			await sleep(pause, signal);
		}
	}
}

/** What a child waits for, as a question that its parent asks the person. */
function toQuestion({ id, agent }: Child, { status, run, question, toolCalls = [] }: SessionState) {
	if (run === undefined || (status !== 'awaiting_user' && status !== 'awaiting_tools')) return undefined;
	const about = { child: { id, agent } };
	if (question !== undefined) return askUser(question.question, { ...about, ...question.options }, { run: run.id });
	const [call] = toolCalls;
	if (call === undefined) return undefined;
	const isApproval = call.kind === 'approval';
	const shown = {
		...about,
		kind: isApproval ? 'approval' : 'result',
		call: { id: call.id, name: call.name, input: call.input },
	};
	const resume = { run: run.id, call: { id: call.id, isApproval } };
	const what = `${call.name}(${JSON.stringify(call.input)})`;
	return isApproval
		? askUser(`${agent} asks: may it call ${what}?`, { ...shown, choices: ['approve', 'deny'] }, resume)
		: askUser(`${agent} asks for the result of ${what}.`, shown, resume);
}

/** Returns the answer of a child. Throws why there is none, for the model. */
function toResult({ agent }: Child, outcome: RunOutcome): unknown {
	if (outcome.kind === 'failed') throw createEnd(agent, `${outcome.error.code}: ${outcome.error.message}`);
	const result = outcome.kind === 'result' ? outcome.result : undefined;
	if (result?.status === 'completed') return 'output' in result ? result.output : result.text;
	throw createEnd(agent, result?.status === 'halted' ? `halted: ${result.reason}` : 'cancelled');
}

function createEnd(agent: string, why: string): RunletError {
	return new RunletError('conflict', `${agent} did not finish the task (${why})`);
}
