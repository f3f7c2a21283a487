/** Remembers in this browser which session a visitor had. Keeps no token. */

export interface Memory {
	readonly read: () => string | undefined;
	/** Without a session, forgets the one before. */
	readonly write: (session: string | undefined) => void;
}

/** `names` are the server, the agent and the visitor, each of whom has a session of their own. */
export function createMemory(...names: readonly string[]): Memory {
	const key = `runlet-chat ${JSON.stringify(names)}`;
	// A browser that keeps nothing throws. A reload then begins a new chat.
	const attempt = <T>(work: () => T): T | undefined => {
		try {
			return work();
		} catch {
			return undefined;
		}
	};
	return {
		read: () => attempt(() => localStorage.getItem(key)) ?? undefined,
		write: (session) =>
			void attempt(() => (session === undefined ? localStorage.removeItem(key) : localStorage.setItem(key, session))),
	};
}
