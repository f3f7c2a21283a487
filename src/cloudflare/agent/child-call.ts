import * as v from 'valibot';
import { RunletError } from '../../core/ground/errors.ts';
import { type AnsweredCall, askUser, type ToolContext } from '../../core/tool/index.ts';
import type { Limit } from '../objects/budget.ts';
import type { RpcResult } from '../objects/result.ts';
import type { Delivery, RunOutcome, SessionApi, SessionState } from '../objects/session-api.ts';
import { findAskedCall, readDecision } from './child-decision.ts';
import { toBeginLabel } from './child-events.ts';
import { type ChildLimits, planChild } from './child-plan.ts';
import type { Child, Children } from './children.ts';
import { insist } from './insist.ts';

/** A task for another agent. */
export interface Task {
	readonly agent: { readonly name: string; readonly budget?: Limit };
	readonly task: string;
}

/**
 * Has a child carry out a call: a new one, or that of an earlier life of the object. Resolves with its answer, or at once
 * where it works in the background: then it tells the session what came of it.
 */
export async function beginChild(
	{ agent, task }: Task,
	limits: ChildLimits,
	{ context, children }: { readonly context: ToolContext; readonly children: Children },
): Promise<unknown> {
	const { callId, signal, emit } = context;
	// The answer of a child is whole: nothing that belongs to it goes on behind it.
	const isBackground = limits.background === true && children.depth === 0;
	const child =
		children.find(callId) ??
		(await children.add({ callId, agent: agent.name, budget: planChild(agent, limits, children), isBackground }));
	const input = { text: task, askers: children.askers(), transport: 'agent', create: children.toCreate(child) };
	const once = { key: 'task', request: callId };
	if (child.isBackground) {
		try {
			await insist(signal, () => children.reach(child).send(children.caller, input, { delivery: 'accepted', once }));
		} catch (error) {
			// Nobody waits for it, and it tells nothing: no later moment comes at which it is given up.
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

/** What the tool keeps while its child waits for somebody. */
const waiting = v.object({
	/** The run of the child that waits. */
	run: v.string(),
	/** The call that waits, and for what. A question has none. */
	call: v.optional(v.object({ id: v.string(), isApproval: v.boolean() })),
});

/** Passes the answer of a person on to the child that waits for it. */
export async function passOn(
	answer: string,
	{ resume }: AnsweredCall,
	context: ToolContext,
	children: Children,
): Promise<unknown> {
	const child = children.find(context.callId);
	if (child === undefined) throw new RunletError('conflict', 'The agent that asked is gone. Call it again.');
	const { run, call } = v.parse(waiting, resume);
	const once = { key: `answer ${run} ${call?.id ?? ''}`, request: run };
	const passed = { child, label: `${child.agent} goes on` };
	if (call === undefined)
		return follow(passed, context, children, (one, delivery) =>
			one.answer(children.caller, { text: answer, transport: 'agent' }, { delivery, once }),
		);
	const given = call.isApproval ? readDecision(call.id, answer) : { id: call.id, output: answer };
	try {
		return await follow(passed, context, children, (one, delivery) =>
			one.submit(children.caller, [given], { delivery, once }),
		);
	} catch (error) {
		if (!('input' in given && error instanceof RunletError && error.code === 'invalid_request')) throw error;
		// The tool of the call refuses these arguments, and nothing has changed: the person is asked again.
		const state = await insist(context.signal, () => children.reach(child).state(children.caller));
		const question = toQuestion(child, state, `${error.message}\n`);
		if (question === undefined) throw error;
		return question;
	}
}

/**
 * Waits for what comes of a request to a child: its answer, or a question for the person, which the child waits for. A
 * child whose object dies goes on by itself, so the request is made again under its key. Its run is shown under the
 * label once it has begun, so that readers find it.
 */
async function follow(
	{ child, label }: { readonly child: Child; readonly label: string },
	{ signal, emit }: ToolContext,
	children: Children,
	send: (one: SessionApi, delivery: Delivery) => Promise<RpcResult<RunOutcome>>,
): Promise<unknown> {
	const accepted = await insist(signal, () => send(children.reach(child), 'accepted'));
	if (accepted.kind === 'accepted') emit([label, child.id]);
	const outcome = await insist(signal, () => send(children.reach(child), 'result'));
	const state = await insist(signal, () => children.reach(child).state(children.caller));
	const question = toQuestion(child, state);
	if (question !== undefined) return question;
	children.settle(child, state.budget.spent);
	return toResult(child, outcome);
}

/** What a child waits for, as a question that its parent asks the person, behind what was wrong with the last answer. */
function toQuestion({ id, agent }: Child, { status, run, question, toolCalls = [] }: SessionState, mistake = '') {
	if (run === undefined || (status !== 'awaiting_user' && status !== 'awaiting_tools')) return undefined;
	const about = { child: { id, agent } };
	if (question !== undefined) {
		const asked = findAskedCall(question);
		const passed = asked && { through: [agent, ...asked.through] };
		return askUser(question.question, { ...about, ...question.options, ...passed }, { run: run.id });
	}
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
		? askUser(`${mistake}${agent} asks: may it call ${what}?`, { ...shown, choices: ['approve', 'deny'] }, resume)
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
