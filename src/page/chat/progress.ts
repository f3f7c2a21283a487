/** Says what a run does at the moment, with the seconds that it takes: it waits for the model, retries, or runs a tool. */

import { say } from '../../client/say.ts';
import type { RunEvent } from '../../client/types.ts';

interface State {
	readonly words: string;
	/** When this began. Its seconds count up. */
	readonly since?: number;
	/** When this ends. Its seconds count down. */
	readonly until?: number;
}

/** A state that takes less time than this has no seconds. */
const fewestMs = 2_000;

/** `show` gets the words, and the seconds apart: a screen reader reads the words only. */
export function createProgress(show: (words: string, seconds?: string) => void) {
	/** The calls of the turn that have no result yet, with their names, by id. */
	const calls = new Map<string, string>();
	let state: State | undefined;
	let isLost = false;
	let timer: ReturnType<typeof setInterval> | undefined;

	function draw(): void {
		const now = Date.now();
		if (state?.until !== undefined && state.until <= now) state = wait(say('Asking the model again…'));
		if (isLost) show(say('Connection lost. Trying again…'));
		else show(state?.words ?? '', state === undefined ? '' : describeSeconds(state, now));
	}

	function become(next: State | undefined): void {
		// What goes on keeps the time of its beginning.
		if (next?.words !== state?.words || next?.until !== undefined) state = next;
		draw();
	}

	/** Returns what an event begins. Undefined if it changes nothing. */
	function findState(event: RunEvent): State | undefined {
		switch (event.type) {
			case 'run.started':
			case 'step':
			case 'turn.restarted':
			case 'warning':
				calls.clear();
				return wait(say('Waiting for the model…'));
			case 'retry':
				return toRetry(event);
			case 'reasoning':
				return wait(say('Thinking…'));
			case 'text':
				return { words: say('Answering…') };
			case 'tool_use_start':
				calls.set(event.id, event.name);
				return wait(say('Writing a call of {name}…', { name: event.name }));
			case 'tool_result':
				calls.delete(event.id);
				return toRunning([...calls.values()]);
			case 'stop':
				return toRunning([...calls.values()]);
		}
		return undefined;
	}

	return {
		apply(event: RunEvent): void {
			isLost = false;
			become(findState(event) ?? state);
		},
		/** Call this when a run is sent, or followed. */
		begin(): void {
			calls.clear();
			become(wait(say('Waiting for the model…')));
			clearInterval(timer);
			timer = setInterval(draw, 1_000);
		},
		end(): void {
			clearInterval(timer);
			isLost = false;
			become(undefined);
		},
		/** Says that the connection is lost, until `regain` or the next event. */
		lose(): void {
			isLost = true;
			draw();
		},
		regain(): void {
			if (!isLost) return;
			isLost = false;
			draw();
		},
	};
}

function wait(words: string): State {
	return { words, since: Date.now() };
}

function toRunning(names: readonly string[]): State {
	const [name = ''] = names;
	if (names.length === 0) return wait(say('Waiting for the model…'));
	if (names.length === 1) return wait(say('{name} is running…', { name }));
	return wait(say('{count} tools are running…', { count: names.length }));
}

function toRetry({ code, retry, of, afterMs }: Extract<RunEvent, { type: 'retry' }>): State {
	const why = reasons[code] ?? 'The model could not be asked';
	const words = say('{why}, trying again (try {count} of {all})', { why: say(why), count: retry + 1, all: of + 1 });
	return { words, until: Date.now() + afterMs };
}

const reasons: Readonly<Record<string, string>> = {
	overloaded: 'The provider is overloaded',
	rate_limited: 'The provider allows no more requests at the moment',
	timeout: 'The model did not answer in time',
	network: 'The provider could not be reached',
	interrupted: 'The answer broke off',
};

function describeSeconds({ since, until }: State, now: number): string {
	if (until !== undefined) return say('in {count} s', { count: Math.max(1, Math.ceil((until - now) / 1_000)) });
	if (since === undefined || now - since < fewestMs) return '';
	return say('{count} s', { count: Math.floor((now - since) / 1_000) });
}
