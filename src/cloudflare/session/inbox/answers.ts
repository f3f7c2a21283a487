import { type CallAnswer, readCallAnswers } from '../../../core/chat/call-answers.ts';
import type { Actor } from '../../../core/ground/actor.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import { type AskedCall, type Decision, findAskedCall } from '../../agent/child-decision.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import type { Config } from '../../config/config.ts';
import type { Once } from '../../objects/once.ts';
import type { Input } from '../../objects/session-api.ts';
import { type BeginOptions, noteApproved, toDecided } from '../run/begin.ts';
import { assertMayDecide, findRefusal } from '../run/may-decide.ts';
import type { Runner } from '../run/runner.ts';
import { listAskers } from '../store/askers.ts';
import { findPending } from '../store/calls.ts';
import type { SessionStore } from '../store/store.ts';
import type { Decide, Entry, Standing, Step, Stored } from './gate.ts';

/** What requests to a session are handled with. */
export interface InboxOptions {
	readonly store: SessionStore;
	readonly runner: Runner;
	readonly agents: readonly Agent[];
	readonly config: () => Config;
}

interface Submission {
	readonly once?: Once;
	readonly model?: string;
	/** The turn of the session in which the arguments that the answers bring were checked. */
	readonly checkedIn?: number;
}

/** Answers to the open calls of a session: results, and decisions about those that wait for an approval. */
export class Answers {
	readonly #options: InboxOptions;

	constructor(options: InboxOptions) {
		this.#options = options;
	}

	/** Answers to open calls, all of them or none. The last one begins a run. Refuses arguments, which nobody has checked. */
	submit(answers: readonly CallAnswer[], once?: Once): Decide {
		return (now) => this.decide(answers, { once }, now);
	}

	/**
	 * The same for answers that may bring arguments. `prepare` has the tools of their calls check them, and throws
	 * `invalid_request`, which names the field.
	 */
	submitChecked(answers: readonly CallAnswer[], once?: Once): Pick<Entry, 'prepare'> & { readonly decide: Decide } {
		if (!answers.some((answer) => 'input' in answer)) return { decide: this.submit(answers, once) };
		let checkedIn: number | undefined;
		return {
			prepare: async (pass) => {
				pass.assert('decide');
				checkedIn = this.#options.store.messages.lastTurn();
				await this.#checkArguments(answers);
			},
			decide: (now) => this.decide(answers, { once, checkedIn }, now),
		};
	}

	/**
	 * Answers to open calls, and a decision about the call of a child that the session asks for. Its id is that of the
	 * child's call, or of the call of this session that it works for.
	 */
	submitAny(answers: readonly CallAnswer[], once?: Once): Pick<Entry, 'prepare'> & { readonly decide: Decide } {
		const own = this.submitChecked(answers, once);
		const [answer] = answers;
		if (answers.length !== 1 || answer === undefined || !('approve' in answer)) return own;
		const prepare: Entry['prepare'] =
			own.prepare && (async (pass) => (this.#asksForApproval ? pass.assert('decide') : own.prepare?.(pass)));
		return {
			...(prepare && { prepare }),
			decide: (now) => {
				const { question } = now.pending;
				const asked = now.asksForApproval ? findAskedCall(question) : undefined;
				if (asked === undefined || question === undefined) return own.decide(now);
				const isMeant = answer.id === asked.call.id || answer.id === question.callId;
				if (!isMeant) assertMeant({ callId: answer.id }, now);
				const decision = { ...answer, id: asked.call.id };
				return { operation: 'answer', store: () => this.decideForChild(asked, decision, { once }, now) };
			},
		};
	}

	get #asksForApproval(): boolean {
		return (
			this.#options.store.status === 'awaiting_user' &&
			findAskedCall(findPending(this.#options.store).question) !== undefined
		);
	}

	/** What a person decides about the call of a child. The child is told by the tool that asked. */
	decideForChild({ call, agent, through }: AskedCall, decision: Decision, about: BeginOptions, now: Standing): Stored {
		const { asking } = now.pending;
		const { by } = now;
		const { approve, input = call.input } = decision;
		this.assertMayDecide({ ...call, input }, approve, now, [agent, ...through]);
		if (asking === undefined)
			throw new RunletError('conflict', 'id: the agent that asked is gone. Cancel the run, and ask again.', {
				field: 'id',
			});
		const text = approve ? 'approve' : `deny ${decision.reason ?? ''}`.trim();
		return this.#options.runner.storeRun([], { ...about, by, answered: { call: asking, text, decision, by } });
	}

	/** What answers do to a session that stands so. */
	decide(answers: readonly CallAnswer[], about: Submission, now: Standing): Step {
		return { operation: 'submit', store: () => this.#store(answers, about, now) };
	}

	/** Throws `forbidden` where an agent's policy does not let who sends this decide about a call. */
	assertMayDecide(call: ToolCall, approve: boolean, { by }: Standing, children?: readonly string[]): void {
		if (by !== undefined) assertMayDecide(...this.#toDecision(call, { approve, by, children }));
	}

	/** Returns why an agent's policy would not let somebody approve a call, or a call of a child. */
	findApprovalRefusal(call: ToolCall, by: Actor, children?: readonly string[]): string | undefined {
		return findRefusal(...this.#toDecision(call, { approve: true, by, children }));
	}

	#toDecision(
		call: ToolCall,
		about: { readonly approve: boolean; readonly by: Actor; readonly children: readonly string[] | undefined },
	): Parameters<typeof assertMayDecide> {
		const { store, agents, config } = this.#options;
		return [
			{ session: store.session(), agents, config },
			{ ...about, call, askers: () => listAskers(store) },
		];
	}

	async #checkArguments(answers: readonly CallAnswer[]): Promise<void> {
		const { store, runner } = this.#options;
		const { calls = [] } = findPending(store);
		for (const answer of answers) {
			const call = calls.find(({ id, kind }) => id === answer.id && kind === 'approval');
			// What else is wrong is told when they are read.
			if (call !== undefined && 'input' in answer)
				await runner.outside.checkArguments({ ...call, input: answer.input });
		}
	}

	#store(answers: readonly CallAnswer[], { once, model, checkedIn }: Submission, now: Standing): Stored {
		const { store, runner, agents } = this.#options;
		const { calls, messages: rows, deliveries } = store;
		const { approvalMs = Number.POSITIVE_INFINITY } = findAgent(agents, store.session().agent);
		const everAsked = calls.listAskedIds();
		const { messages, approved, edits, isLast } = readCallAnswers(now.pending, answers, { approvalMs, everAsked });
		if (edits.length > 0 && checkedIn !== rows.lastTurn())
			throw new RunletError('conflict', 'input: the session went on meanwhile. Look at it again.', { field: 'input' });
		for (const answer of answers) {
			const call = now.pending.calls?.find(({ id }) => id === answer.id);
			if (!('approve' in answer) || call === undefined) continue;
			const { approve, input = call.input } = answer;
			this.assertMayDecide({ ...call, input }, approve, now);
		}
		const { by } = now;
		const denied = answers.flatMap((answer) => ('approve' in answer && !answer.approve ? [answer.id] : []));
		if (isLast) return runner.storeRun(messages, { once, model, approved, edits, by, denied });
		const at = Date.now();
		noteApproved(store, { approved, edits, by }, at);
		// They belong to the run that the last answer begins.
		for (const message of messages)
			rows.add(store.nextRun, message, at, { input: true, ...toDecided(message, { by, denied }) });
		if (once !== undefined) deliveries.add(once, {}, at);
		store.untold.noteWait();
		return () => {
			void runner.alarm.set();
			runner.tellOwner();
			return undefined;
		};
	}
}

/** Throws `conflict` for an answer that names another call than the one that waits. */
export function assertMeant({ callId }: Pick<Input, 'callId'>, { pending: { question } }: Standing): void {
	const asked = findAskedCall(question)?.call.id;
	if (callId === undefined || question === undefined || callId === question.callId || callId === asked) return;
	const message = `callId: "${callId}" waits for no answer any more. The question is now about "${asked ?? question.callId}": look at it first.`;
	throw new RunletError('conflict', message, { field: 'callId', waiting: asked ?? question.callId });
}
