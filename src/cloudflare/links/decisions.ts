import type { Actor } from '../../core/base/actor.ts';
import { RunletError } from '../../core/base/errors.ts';
import type { CallAnswer } from '../../core/chat/call-answers.ts';
import { findKeyId } from '../auth/identity.ts';
import { toActor as toStoredActor } from '../auth/rights.ts';
import type { Config } from '../config/config.ts';
import type { DecisionLinks, LinkedCall, LinkRequest } from '../objects/link-api.ts';
import type { Caller } from '../objects/session-api.ts';
import { submitAnswers } from '../session/inbox/answers.ts';
import type { LinkedSession, SessionLinks } from '../session/inbox/link-connector.ts';
import { findRefusal } from '../session/run/may-decide.ts';
import { listAskers } from '../session/store/askers.ts';
import { findPending, type Pending } from '../session/store/calls.ts';
import type { SessionStore } from '../session/store/store.ts';
import { type LinkClaims, verifyLink } from './link.ts';
import { type Decidable, findLinkable, hashDecidable, listDecidable, signLinks } from './make.ts';

/** Decisions by link (docs/people.md). The session stores each decision with its call, so a link decides only once. */
export class Decisions implements SessionLinks {
	readonly #session: LinkedSession;

	constructor(session: LinkedSession) {
		this.#session = session;
	}

	async make(caller: Caller, { callId, expiresInSeconds = 3_600, for: whom }: LinkRequest): Promise<DecisionLinks> {
		const { store, authorization, config } = this.#session;
		const { by: madeBy } = await authorization.open(caller, ['manageSession', 'decide']);
		authorization.assertMayTakePart(caller);
		const expiresAt = Date.now() + expiresInSeconds * 1_000;
		const call = findLinkable(store, callId);
		const { owner } = store.session();
		this.#assertMayApprove(call, toActor({ for: whom, madeBy, callId }, owner));
		return signLinks(store, config(), call, { expiresAt, for: whom, madeBy });
	}

	async show(link: string): Promise<LinkedCall> {
		return (await this.#open(link)).shown;
	}

	async decide(link: string): Promise<LinkedCall> {
		const { store, inbox } = this.#session;
		const { claims, call, shown } = await this.#open(link);
		const { owner } = store.session();
		await inbox.take({ caller: { owner, by: toActor(claims, owner) }, rights: [] }, (tx) => {
			// Somebody else possibly decided in the meantime.
			if (assertOpen(store, tx.pending, claims).id !== call.id) throw createDecided();
			return submitAnswers(tx, [toDecision(call, claims)]);
		});
		return shown;
	}

	/** Throws `forbidden` if `approvers` would refuse the person who holds the links. */
	#assertMayApprove(call: Decidable, by: Actor): void {
		const { store, runtime, config } = this.#session;
		const children = call.child && [call.child.agent, ...call.child.through];
		const decision = { call, approve: true, by, children, askers: () => listAskers(store) };
		const reason = findRefusal({ session: store.session(), agents: runtime.agents, config }, decision);
		if (reason === undefined) return;
		const remedy =
			'Make the links "for" somebody else, and with the key or login of somebody else who did not ask for it';
		throw new RunletError('forbidden', `for: these links could not approve "${call.waiting}": ${reason}. ${remedy}.`, {
			field: 'for',
			reason,
		});
	}

	async #open(link: string) {
		const { store, authorization, config, runner } = this.#session;
		authorization.assertExists();
		const claims = await verifyLink(link, store.tokenKey);
		authorization.assertExists();
		if (claims === undefined || claims.session !== store.session().id)
			throw new RunletError('not_found', 'This link is not valid.');
		if (claims.expiresAt <= Date.now()) throw new RunletError('conflict', 'This link has expired.');
		await assertKeyIsGood(claims, config());
		authorization.assertExists();
		const pending = findPending(store);
		const call = assertOpen(store, pending, claims);
		if ((await hashDecidable(call)) !== claims.hash) throw createDecided();
		authorization.assertExists();
		const { agent, title, user } = store.session();
		const input = JSON.stringify(call.input);
		const toTime = (at: number) => new Date(at).toISOString();
		const about = {
			...{ approve: claims.approve, for: claims.for, agent: call.child?.agent ?? agent, title, user },
			...{ since: toTime(pending.askedAt), expiresAt: toTime(claims.expiresAt) },
			...{ labels: [...runner.labels.all], spent: runner.budget().spent },
		};
		const { name: tool, flow, preview } = call;
		const shown = { ...about, tool, input, ...(flow && { flow }), ...(preview !== undefined && { preview }) };
		return { claims, call, shown };
	}
}

function toActor(
	{ for: user, madeBy: made, callId }: Pick<LinkClaims, 'for' | 'madeBy' | 'callId'>,
	owner: string,
): Actor {
	const madeBy = toStoredActor(made);
	const name = user ?? madeBy?.user;
	return { owner, ...(name !== undefined && { user: name }), via: 'link', id: callId, ...(madeBy && { madeBy }) };
}

/** Throws `conflict` if the API key that made the link is no longer valid. */
async function assertKeyIsGood({ madeBy: made }: LinkClaims, config: Config): Promise<void> {
	const madeBy = toStoredActor(made);
	if (madeBy === undefined) return;
	const keyId = findKeyId(madeBy);
	await config.storedKeys?.refreshKey(keyId);
	if (config.knowsKey(keyId)) return;
	throw new RunletError('conflict', 'This link came from a key that was revoked.');
}

function toDecision({ id }: Decidable, { approve, for: whom }: LinkClaims): CallAnswer {
	const reason = whom === undefined ? 'denied by link' : `denied by ${whom}`;
	return approve ? { id, approve } : { id, approve, reason };
}

function assertOpen({ messages }: SessionStore, pending: Pending, { turn, callId }: LinkClaims): Decidable {
	const call = listDecidable(pending).find(({ waiting }) => waiting === callId);
	if (call === undefined || messages.lastTurn() !== turn) throw createDecided();
	return call;
}

function createDecided(): RunletError {
	return new RunletError('conflict', 'This call waits for nobody any more: it was decided, or its run was stopped.');
}
