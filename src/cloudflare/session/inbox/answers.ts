import { createFieldError, RunletError } from '../../../core/base/errors.ts';
import { type CallAnswer, readCallAnswers } from '../../../core/chat/call-answers.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import { type AskedCall, type Decision, findAskedCall } from '../../agent/child-decision.ts';
import { findAgent } from '../../agent/define.ts';
import { assertMay } from '../../auth/rights.ts';
import { type BeginOptions, noteApproved, toDecided } from '../run/begin.ts';
import { assertMayDecide } from '../run/may-decide.ts';
import { listAskers } from '../store/askers.ts';
import { findPending } from '../store/calls.ts';
import type { InboxContext, InboxTransaction, Principal, StoreResult } from './transaction.ts';

/**
 * Stores answers to open calls, all or none. Or stores one decision about a child's call: the decision names the
 * child's call, or the call of this session for which the child works.
 */
export function submitAnswers(tx: InboxTransaction, answers: readonly CallAnswer[]): StoreResult {
	const [answer] = answers;
	const { askedCall, pending } = tx;
	const isDecision = answers.length === 1 && answer !== undefined && 'approve' in answer;
	if (!isDecision || askedCall === undefined) return storeAnswers(tx, answers);
	const { id } = askedCall.call;
	if (answer.id !== id && answer.id !== pending.question?.callId) assertMeant({ callId: answer.id }, tx);
	tx.allow('answer');
	return decideForChild(tx, askedCall, { ...answer, id });
}

/** Stores answers to open calls. The last answer begins a run. Refuses edits that were checked in an earlier turn. */
export function storeAnswers(
	tx: InboxTransaction,
	answers: readonly CallAnswer[],
	about: Pick<BeginOptions, 'model' | 'maxOutputTokens' | 'terms'> = {},
): StoreResult {
	tx.allow('submit');
	const { store, by, pending, opened, session } = tx;
	const { approvalMs = Number.POSITIVE_INFINITY } = findAgent(tx.context.runtime.agents, session.agent);
	const everAsked = store.calls.listAskedIds();
	const { messages, approved, edits, isLast } = readCallAnswers(pending, answers, { approvalMs, everAsked });
	if (edits.length > 0 && opened.checkedIn !== store.messages.lastTurn())
		throw createFieldError('conflict', 'input', 'the session went on meanwhile. Look at it again.');
	for (const answer of answers) {
		const call = pending.calls?.find(({ id }) => id === answer.id);
		if (!('approve' in answer) || call === undefined) continue;
		const { approve, input = call.input } = answer;
		assertPolicy(tx, { ...call, input }, approve);
	}
	const denied = answers.flatMap((answer) => ('approve' in answer && !answer.approve ? [answer.id] : []));
	if (isLast) return tx.storeRun(messages, { ...about, approved, edits, by, denied });
	const at = Date.now();
	noteApproved(store, { approved, edits, by }, at);
	// The messages belong to the run that the last answer will begin.
	for (const message of messages)
		store.messages.add(store.nextRun, message, at, { input: true, ...toDecided(message, { by, denied }) });
	tx.noteAccepted();
	store.reports.noteWait();
	return { type: 'change' };
}

/** Stores a decision about the call of a child. The tool that asked for the decision passes it to the child. */
export function decideForChild(
	tx: InboxTransaction,
	{ call, agent, through }: AskedCall,
	decision: Decision,
	about: Omit<BeginOptions, 'once'> = {},
): StoreResult {
	const { by } = tx;
	const { asking } = tx.pending;
	const { approve, input = call.input } = decision;
	assertPolicy(tx, { ...call, input }, approve, [agent, ...through]);
	if (asking === undefined)
		throw createFieldError('conflict', 'id', 'the agent that asked is gone. Cancel the run, and ask again.');
	const text = approve ? 'approve' : `deny ${decision.reason ?? ''}`.trim();
	return tx.storeRun([], { ...about, by, answered: { call: asking, text, decision, by } });
}

/**
 * Lets the tools check the arguments that answers edit. Returns the turn of the calls, or nothing if no arguments are
 * edited. Throws `invalid_request`, which names the field.
 */
export async function checkArguments(
	{ store, runner }: InboxContext,
	principal: Principal,
	answers: readonly CallAnswer[],
): Promise<number | undefined> {
	if (!answers.some((answer) => 'input' in answer)) return undefined;
	assertMay(principal, 'decide');
	const turn = store.messages.lastTurn();
	const { calls = [], question } = findPending(store);
	for (const answer of answers) {
		if (!('input' in answer)) continue;
		const { input } = answer;
		const call = calls.find(({ id, kind }) => id === answer.id && kind === 'approval');
		// `storeAnswers` refuses other mistakes, and the child checks the arguments of its calls.
		if (call !== undefined) await runner.outside.checkArguments({ ...call, input });
		else runner.outside.assertNoSecret({ id: answer.id, name: findAskedCall(question)?.call.name ?? '', input });
	}
	return turn;
}

/** Throws `conflict` for an answer that names a call other than the waiting call. */
export function assertMeant(
	{ callId }: { readonly callId?: string },
	{ pending: { question } }: Pick<InboxTransaction, 'pending'>,
): void {
	const asked = findAskedCall(question)?.call.id;
	if (callId === undefined || question === undefined || callId === question.callId || callId === asked) return;
	const message = `callId: "${callId}" waits for no answer any more. The question is now about "${asked ?? question.callId}": look at it first.`;
	throw new RunletError('conflict', message, { field: 'callId', waiting: asked ?? question.callId });
}

/** Throws `forbidden` if an agent's policy does not let the caller decide about a call. */
function assertPolicy(
	{ by, store, session, context }: InboxTransaction,
	call: ToolCall,
	approve: boolean,
	children?: readonly string[],
): void {
	if (by === undefined) return;
	const { runtime, config } = context;
	const decision = { call, approve, by, askers: () => listAskers(store), children };
	assertMayDecide({ session, agents: runtime.agents, config }, decision);
}
