import { RunletError } from '../ground/errors.ts';
import { longestTimer } from './signal.ts';

/**
 * Aborts a call whose first event, or next event, does not come in time. One timer, whatever the number of events. The
 * time in which the call waits for its reader is not its own.
 */
export function watchdog(
	{ firstEventMs, idleMs }: { readonly firstEventMs: number; readonly idleMs: number },
	model: string,
): {
	signal: AbortSignal;
	abort: (why: RunletError) => void;
	seen: () => void;
	pause: (room: Promise<void>) => Promise<void>;
	stop: () => void;
} {
	const controller = new AbortController();
	let last = 0;
	let waiting = 0;
	let stopped = false;
	const limit = (): number => Math.min(last === 0 ? firstEventMs : idleMs, longestTimer);
	const createLostError = (): void => {
		const what = last === 0 ? 'did not begin to answer' : 'sent nothing more';
		controller.abort(new RunletError('timeout', `${model} ${what} within ${limit()} ms.`));
	};
	const check = (): void => {
		const left = waiting > 0 ? limit() : last + limit() - Date.now();
		if (left <= 0) createLostError();
		else timer = setTimeout(check, left);
	};
	const seen = (): void => {
		if (stopped) return;
		if (last === 0) {
			clearTimeout(timer);
			last = Date.now();
			timer = setTimeout(check, limit());
		}
		last = Date.now();
	};
	let timer: ReturnType<typeof setTimeout> = setTimeout(createLostError, limit());
	return {
		signal: controller.signal,
		/** Ends the call for a reason of its caller's. */
		abort: (why) => controller.abort(why),
		seen,
		pause: async (room) => {
			waiting++;
			await room;
			waiting--;
			seen();
		},
		stop: () => {
			stopped = true;
			clearTimeout(timer);
		},
	};
}
