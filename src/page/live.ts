/** Changes from elsewhere: when the page asks the server for them, and what the windows of a browser tell each other. */

/** A moment in which the list of sessions, and of what waits, has been told of what has just happened. */
const firstMs = 2_500;
/** The list is told of a session that goes on once in five minutes: until then the session itself is asked. */
const longestMs = 320_000;

/** `look` is told whether to ask the session that is shown, too: after a while of silence its entry in the list says enough. */
export function createPace(look: (asksSession: boolean) => void) {
	let timer: ReturnType<typeof setTimeout> | undefined;
	let delayMs = firstMs;
	let hasBegun = false;

	function wait(): void {
		clearTimeout(timer);
		if (hasBegun && !document.hidden) timer = setTimeout(lookAgain, delayMs);
	}

	function lookAgain(): void {
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

	document.addEventListener('visibilitychange', lookNow);
	addEventListener('focus', lookNow);
	addEventListener('online', lookNow);

	return {
		/** Something has happened: more may come soon. */
		begin,
	};
}

const changing: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

/**
 * Gives a `fetch` that tells the other windows of each change that the server has accepted. `onChange` is called when another
 * window has told of one, with the session that it changed, if it is one.
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
