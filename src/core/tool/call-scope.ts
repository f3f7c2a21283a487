import { makeOnce } from '../ground/promises.ts';

/** Whether a call of a tool goes on, and its signal. That is made for whoever asks for it: most tools do not. */
export class CallScope {
	#controller: AbortController | undefined;
	#end: { readonly reason: unknown } | undefined;

	/** Aborts at the end of the call. */
	get signal(): AbortSignal {
		if (this.#controller === undefined) {
			this.#controller = new AbortController();
			if (this.#end !== undefined) this.#controller.abort(this.#end.reason ?? getOver());
		}
		return this.#controller.signal;
	}

	/** Whether the call is over. */
	get aborted(): boolean {
		return this.#end !== undefined;
	}

	/** Ends the call, if it did not end before. Without a reason it is just over. */
	end(reason?: unknown): void {
		if (this.#end !== undefined) return;
		this.#end = { reason };
		this.#controller?.abort(reason ?? getOver());
	}
}

/**
 * The reason of every signal whose call is over. To make one takes longer than many a tool. It is not made while modules
 * load: V8 notes where an error was made, and for that it would parse all of the Worker a second time.
 */
const getOver = makeOnce(() => new DOMException('The call is over.', 'AbortError'));
