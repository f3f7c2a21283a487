/** The windows of one browser tell each other what they change at the server. */

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
