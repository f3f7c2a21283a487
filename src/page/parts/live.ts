/** Changes from elsewhere: polls the server, and exchanges messages between the windows of a browser. */

/** A session that the page shows. `signal` is aborted when the page leaves the session. */
export interface Visit {
	readonly id: string;
	readonly signal: AbortSignal;
}

/** Returns a function that runs `read`. A call during a run of `read` makes `read` run once more. */
export function createRefresh(read: () => Promise<void>): () => Promise<void> {
	let isReading = false;
	let isStale = false;
	return async () => {
		isStale = true;
		if (isReading) return;
		isReading = true;
		try {
			while (isStale) {
				isStale = false;
				await read();
			}
		} finally {
			isReading = false;
		}
	};
}

/** The lists of sessions and of waiting calls show a change only after some time, so the first poll waits this long. */
const firstMs = 2_500;
/** The longest delay. Polls with shorter delays also read the session, because lists show its run minutes late. */
const longestMs = 320_000;

/**
 * Returns a function that starts frequent polling. Call it after each change, because more changes often follow. The
 * argument of `look` says whether to read the open session too. After some time, reading the list is enough. Ends with
 * `life`.
 */
export function createPolling(look: (asksSession: boolean) => void, life?: AbortSignal): () => void {
	let timer: ReturnType<typeof setTimeout> | undefined;
	let delayMs = firstMs;
	let hasBegun = false;

	function wait(): void {
		clearTimeout(timer);
		if (hasBegun && !document.hidden && life?.aborted !== true) timer = setTimeout(lookAgain, delayMs);
	}

	function lookAgain(): void {
		if (life?.aborted) return;
		const asksSession = delayMs < longestMs;
		delayMs = Math.min(2 * delayMs, longestMs);
		wait();
		look(asksSession);
	}

	function begin(): void {
		hasBegun = true;
		delayMs = firstMs;
		wait();
	}

	function lookNow(): void {
		clearTimeout(timer);
		if (!hasBegun || document.hidden) return;
		begin();
		look(true);
	}

	const options = { signal: life };
	document.addEventListener('visibilitychange', lookNow, options);
	addEventListener('focus', lookNow, options);
	addEventListener('online', lookNow, options);

	return begin;
}

const changing: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Returns a `fetch` that reports each accepted change to the other windows. `onChange` is called when
 * another window reports a change. Its argument is the id of the changed session, if there is one.
 */
export function createWindows(onChange: (session: string | undefined) => void): typeof fetch {
	const channel = new BroadcastChannel('runlet-changes');
	channel.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
		onChange(typeof data === 'string' ? data : undefined);
	});
	return async (input, init) => {
		const response = await fetch(input, init);
		if (response.ok && changing.has(init?.method ?? 'GET')) channel.postMessage(findSession(response.url));
		return response;
	};
}

function findSession(url: string): string | undefined {
	return /\/v1\/sessions\/([0-9a-f]{64})/.exec(url)?.[1];
}

/** Returns a `fetch` that reports each answer of the server, unless the server failed. */
export function createAnswerWatch(send: typeof fetch, onAnswer: () => void): typeof fetch {
	return async (input, init) => {
		const response = await send(input, init);
		if (response.status < 500) onAnswer();
		return response;
	};
}
