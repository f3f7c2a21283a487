import * as v from 'valibot';
import { RunletError } from '../../core/base/errors.ts';
import { truncateText } from '../../core/base/text.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import { type AnsweredCall, type AskUser, askUser, type ToolContext } from '../../core/tool/index.ts';
import { actorSchema } from '../auth/rights.ts';
import type { Limit } from '../objects/budget.ts';
import type { RpcResult } from '../objects/reach.ts';
import type { Delivery, RunOutcome, SessionApi, SessionState } from '../objects/session-api.ts';
import { findAskedCall, longestAsked } from './child-decision.ts';
import { toBeginLabel } from './child-events.ts';
import { insist } from './child-reader.ts';
import { type Child, type Children, findWholeCost } from './children.ts';

export interface Task {
	readonly agent: { readonly name: string; readonly budget?: Limit };
	readonly task: string;
}

/** Starts or finds the child of a call. Returns its answer. For a background child, returns a note at once. */
export async function beginChild(
	{ agent, task }: Task,
	limits: ChildLimits,
	{ context, children }: { readonly context: ToolContext; readonly children: Children },
): Promise<unknown> {
	const { callId, signal, emit } = context;
	// A child's answer must be complete, so the child's own children never work in the background.
	const isBackground = limits.background === true && children.depth === 0;
	const child =
		children.find(callId) ??
		(await children.add({ callId, agent: agent.name, budget: planChild(agent, limits, children), isBackground }));
	const { askers, labels, toCreate } = children;
	const input = { text: task, askers: askers(), labels: labels(), transport: 'agent', create: toCreate(child) };
	const once = { key: 'task', request: callId };
	if (child.isBackground) {
		try {
			await insist(signal, () => children.reach(child).send(children.caller, input, { delivery: 'accepted', once }));
		} catch (error) {
			// No call waits for a background child, so nothing would drop the child later.
			if (!signal.aborted) children.drop(child);
			throw error;
		}
		emit([`${agent.name} works in the background`, child.id]);
		return { session: child.id, note: 'The agent works on it. Its answer comes as a message.' };
	}
	const label = toBeginLabel(agent.name);
	return follow({ child, label }, context, children, (one, delivery) =>
		one.send(children.caller, input, { delivery, once }),
	);
}

const waiting = v.object({
	run: v.string(),
	/** The child's waiting call. Missing if the child asks a question. */
	call: v.optional(v.object({ id: v.string(), isApproval: v.boolean() })),
	/** The decision of a person, which the session has checked. */
	decision: v.optional(
		v.object({
			approve: v.boolean(),
			reason: v.optional(v.string()),
			input: v.optional(v.record(v.string(), v.unknown())),
			by: v.optional(actorSchema),
		}),
	),
});

export async function passOn(
	answer: string,
	{ resume }: AnsweredCall,
	context: ToolContext,
	children: Children,
): Promise<unknown> {
	const child = children.find(context.callId);
	if (child === undefined) throw new RunletError('conflict', 'The agent that asked is gone. Call it again.');
	const { run, call, decision } = v.parse(waiting, resume);
	const once = { key: `answer ${run} ${call?.id ?? ''}`, request: run };
	const passed = { child, label: `${child.agent} goes on` };
	if (call === undefined)
		return follow(passed, context, children, (one, delivery) =>
			one.answer(
				children.caller,
				{ text: answer, askers: children.askers(), labels: children.labels(), transport: 'agent' },
				{ delivery, once },
			),
		);
	// A text without a decision leaves the approval open, so the question is asked again.
	if (call.isApproval && decision === undefined) return askAgain(child, context, children);
	const { by, ...decided } = decision ?? {};
	const entry: CallAnswer = call.isApproval
		? { id: call.id, approve: false, ...decided }
		: { id: call.id, output: answer };
	// The child's agent checks the person with its own `approvers`.
	const caller = { ...children.caller, ...(call.isApproval && by && { by }) };
	try {
		return await follow(passed, context, children, (one, delivery) => one.submit(caller, [entry], { delivery, once }));
	} catch (error) {
		const isRefused = error instanceof RunletError && (error.code === 'invalid_request' || error.code === 'forbidden');
		if (!call.isApproval || !isRefused) throw error;
		// The tool refuses the arguments, or the child's agent refuses the person. The call still waits.
		return askAgain(child, context, children, error);
	}
}

/** Repeats the question of a child and names the mistake of the last answer. */
async function askAgain(child: Child, { signal }: ToolContext, children: Children, mistake?: RunletError) {
	const state = await insist(signal, () => children.reach(child).state(children.caller));
	const question = toQuestion(child, state, mistake && `${mistake.message}\n`);
	if (question !== undefined) return question;
	throw mistake ?? new RunletError('conflict', `${child.agent} waits for nobody any more.`);
}

/**
 * Waits until a child answers or asks a person a question. After a restart the request is repeated with the same key,
 * because the child continued in the meantime. The label lets readers follow the child's run.
 */
async function follow(
	passed: { readonly child: Child; readonly label: string },
	context: ToolContext,
	children: Children,
	send: (one: SessionApi, delivery: Delivery) => Promise<RpcResult<RunOutcome>>,
): Promise<unknown> {
	const { child, label } = passed;
	const { signal, emit } = context;
	const accepted = await insist(signal, () => send(children.reach(child), 'accepted'));
	if (accepted.kind === 'accepted') emit([label, child.id]);
	const outcome = await insist(signal, () => send(children.reach(child), 'result'));
	const state = await insist(signal, () => children.reach(child).state(children.caller));
	const question = toQuestion(child, state);
	if (question !== undefined) return isWhole(question) ? question : denyLong(state, passed, context, children);
	await settle(child, state, context, children);
	return toResult(child, outcome);
}

/** Settles the cost of a child and its children. First cancels children that outlive the child. */
async function settle(child: Child, ended: SessionState, { signal }: ToolContext, children: Children): Promise<void> {
	const known = findWholeCost(ended);
	const cost = known ?? findWholeCost(await insist(signal, () => children.reach(child).cancel(children.caller)));
	if (cost === undefined) children.drop(child);
	else children.settle(child, cost);
}

/** Whether a question fits into a row. An approval question must fit in full. Other questions can be shortened. */
function isWhole({ question, options }: AskUser): boolean {
	const found = findAskedCall({ callId: '', question, options });
	return found === undefined || JSON.stringify([question, options]).length <= longestAsked;
}

/** Denies a call that is too long for a decision, so that the child continues. */
function denyLong(
	{ run, toolCalls = [], question }: SessionState,
	passed: Parameters<typeof follow>[0],
	context: ToolContext,
	children: Children,
): Promise<unknown> {
	const id = toolCalls[0]?.id ?? findAskedCall(question)?.call.id ?? '';
	const reason = `its arguments are too long for a person to decide about: ${longestAsked} characters of JSON are the most`;
	const once = { key: `answer ${run?.id} ${id}`, request: run?.id ?? '' };
	return follow(passed, context, children, (one, delivery) =>
		one.submit(children.caller, [{ id, approve: false, reason }], { delivery, once }),
	);
}

/** The maximum length of arguments in a question's text. The question's data contains the whole call. */
const longestShown = 2_000;

/** Makes the parent's question to the person. Names the mistake of the last answer, if any. */
function toQuestion({ id, agent }: Child, { status, run, question, toolCalls = [] }: SessionState, mistake = '') {
	if (run === undefined || (status !== 'awaiting_user' && status !== 'awaiting_tools')) return undefined;
	const about = { child: { id, agent } };
	if (question !== undefined) {
		const found = findAskedCall(question);
		if (found === undefined) return askUser(question.question, { ...about, ...question.options }, { run: run.id });
		const passed = { ...about, ...question.options, through: [agent, ...found.through] };
		return askUser(`${mistake}${question.question}`, passed, {
			run: run.id,
			call: { id: found.call.id, isApproval: true },
		});
	}
	const [call] = toolCalls;
	if (call === undefined) return undefined;
	const isApproval = call.kind === 'approval';
	const shown = {
		...about,
		kind: isApproval ? 'approval' : 'result',
		call: { id: call.id, name: call.name, input: call.input },
		...(call.flow && { flow: call.flow }),
		...(call.preview !== undefined && { preview: call.preview }),
	};
	const resume = { run: run.id, call: { id: call.id, isApproval } };
	const what = `${call.name}(${truncateText(JSON.stringify(call.input) ?? '', longestShown)})`;
	return isApproval
		? askUser(`${mistake}${agent} asks: may it call ${what}?`, { ...shown, choices: ['approve', 'deny'] }, resume)
		: askUser(`${agent} asks for the result of ${what}.`, shown, resume);
}

/** Returns the answer of a child. If the child gave no answer, throws an error that tells the model why. */
function toResult({ agent }: Child, outcome: RunOutcome): unknown {
	if (outcome.kind === 'failed') throw createEnd(agent, `${outcome.error.code}: ${outcome.error.message}`);
	const result = outcome.kind === 'result' ? outcome.result : undefined;
	if (result?.status === 'completed') return 'output' in result ? result.output : result.text;
	throw createEnd(agent, result?.status === 'halted' ? `halted: ${result.reason}` : 'cancelled');
}

function createEnd(agent: string, why: string): RunletError {
	return new RunletError('conflict', `${agent} did not finish the task (${why})`);
}

export interface ChildLimits {
	readonly budget?: Limit;
	readonly maxDepth?: number;
	readonly maxAtOnce?: number;
	readonly maxChildren?: number;
	readonly background?: boolean;
}

/** Returns the budget of a new child. Throws `conflict`, which the model reads, if no child is allowed. */
function planChild(
	agent: { readonly budget?: Limit },
	{ budget, maxDepth = 3, maxAtOnce = 8, maxChildren = 100 }: ChildLimits,
	children: Pick<Children, 'depth' | 'count' | 'budget'>,
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
