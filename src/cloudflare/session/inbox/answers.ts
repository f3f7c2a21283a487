import { type CallAnswer, readCallAnswers } from '../../../core/chat/call-answers.ts';
import { RunletError } from '../../../core/ground/errors.ts';
import type { ToolCall } from '../../../core/tool/index.ts';
import { type Agent, findAgent } from '../../agent/define.ts';
import type { Config } from '../../config/config.ts';
import type { Once } from '../../objects/once.ts';
import { noteApproved } from '../run/begin.ts';
import { assertMayDecide } from '../run/may-decide.ts';
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
				pass.assert('approve');
				checkedIn = this.#options.store.messages.lastTurn();
				await this.#checkArguments(answers);
			},
			decide: (now) => this.decide(answers, { once, checkedIn }, now),
		};
	}

	/** What answers do to a session that stands so. */
	decide(answers: readonly CallAnswer[], about: Submission, now: Standing): Step {
		return { operation: 'submit', store: () => this.#store(answers, about, now) };
	}

	/** Throws `forbidden` where an agent's policy does not let who sends this decide about a call. */
	assertMayDecide(call: ToolCall, approve: boolean, { by }: Standing, children?: readonly string[]): void {
		if (by === undefined) return;
		const { store, agents, config } = this.#options;
		const decision = { call, approve, by, askers: () => listAskers(store), children };
		assertMayDecide({ session: store.session(), agents, config }, decision);
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
		if (isLast) return runner.storeRun(messages, { once, model, approved, edits });
		const at = Date.now();
		noteApproved(store, { approved, edits }, at);
		// They belong to the run that the last answer begins.
		for (const message of messages) rows.add(store.nextRun, message, at, { input: true });
		if (once !== undefined) deliveries.add(once, {}, at);
		store.untold.noteWait();
		return () => {
			void runner.alarm.set();
			runner.tellOwner();
			return undefined;
		};
	}
}
