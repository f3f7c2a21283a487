import type { Actor } from '../../core/base/actor.ts';
import { createFieldError } from '../../core/base/errors.ts';
import type { FlowReason } from '../../core/chat/flow.ts';
import type { ToolCall } from '../../core/tool/index.ts';
import { createTooLongToShow, isTooLongToShow } from '../agent/arguments.ts';
import { findAskedCall } from '../agent/child-decision.ts';
import { findAgent } from '../agent/define.ts';
import type { Config } from '../config/config.ts';
import type { DecisionLinks } from '../objects/link-api.ts';
import type { CallbackLinks } from '../session/run/prepare.ts';
import { findPending, hashCall, type Pending } from '../session/store/calls.ts';
import type { SessionStore } from '../session/store/store.ts';
import { signLink } from './link.ts';

export interface Decidable extends ToolCall {
	/** The id of the call that waits in this session: the call itself, or the call whose child session asks. */
	readonly waiting: string;
	/** The agent of the child session whose call it is, and the agents between this session and the child. */
	readonly child?: { readonly agent: string; readonly through: readonly string[] };
	/** Why it waits, if it would send something out. */
	readonly flow?: FlowReason;
	readonly preview?: string;
}

/** Lists the calls that wait for an approval, including a call of a child session. */
export function listDecidable({ calls = [], question }: Pending): readonly Decidable[] {
	const own = calls.filter(({ kind }) => kind === 'approval');
	const listed = own.map(({ kind: _, ...call }) => ({ waiting: call.id, ...call }));
	const found = findAskedCall(question);
	if (question === undefined || found === undefined) return listed;
	const { agent, through, call, flow, preview } = found;
	return [...listed, { waiting: question.callId, child: { agent, through }, ...call, flow, preview }];
}

/** Milliseconds for which the links of a callback are valid. */
const callbackMs = 86_400_000;

interface LinkTerms {
	/** Milliseconds since 1970. */
	readonly expiresAt: number;
	/** The person who decides. */
	readonly for?: string;
	/** The actor who made the links. Missing for links in the agent's own callback. */
	readonly madeBy?: Actor;
}

/** Throws `conflict` for a call that waits for no approval, and `too_large` for arguments that are too long to show. */
export function findLinkable(store: SessionStore, callId: string): Decidable {
	const call = listDecidable(findPending(store)).find(({ waiting }) => waiting === callId);
	if (call === undefined) throw createFieldError('conflict', 'callId', `"${callId}" does not wait for an approval.`);
	if (isTooLongToShow(call.input)) throw createTooLongToShow('input');
	return call;
}

/** Makes the links in the agent's own callback. Calls that no longer wait get none. */
export const createCallbackLinks: CallbackLinks['createForCallback'] = async (
	{ store, config, runtime },
	{ run, url },
	since,
) => {
	const { onWaiting, approvalMs = callbackMs } = findAgent(runtime.agents, store.session().agent);
	const expiresAt = since + Math.min(approvalMs, callbackMs);
	const isNewest = store.runs.get()?.n === run;
	if (onWaiting?.links !== true || url !== onWaiting.callback || !isNewest || expiresAt <= Date.now()) return undefined;
	const terms = { expiresAt, for: onWaiting.for };
	const calls = listDecidable(findPending(store)).filter(({ input }) => !isTooLongToShow(input));
	const made = calls.map(async (call) => [call.waiting, await signLinks(store, config(), call, terms)] as const);
	return Object.fromEntries(await Promise.all(made));
};

/** Throws `not_configured` if the Worker has no public address. */
export async function signLinks(
	store: SessionStore,
	{ findPublicUrl }: Pick<Config, 'findPublicUrl'>,
	call: Decidable,
	{ expiresAt, for: whom, madeBy }: LinkTerms,
): Promise<DecisionLinks> {
	const base = findPublicUrl();
	const key = store.tokenKey;
	const about = {
		session: store.session().id,
		turn: store.messages.lastTurn(),
		callId: call.waiting,
		expiresAt,
		for: whom,
		madeBy,
	};
	const hash = await hashDecidable(call);
	const toUrl = async (approve: boolean) => `${base}/v1/decisions/${await signLink({ ...about, hash, approve }, key)}`;
	return { approve: await toUrl(true), deny: await toUrl(false), expiresAt: new Date(expiresAt).toISOString() };
}

/** Hashes the call with its id, because one child can ask about several calls while its parent's call waits. */
export function hashDecidable({ id, name, input }: Decidable): Promise<string> {
	return hashCall(name, [id, input]);
}
